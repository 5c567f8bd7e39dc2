#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "connection.h"
#include "device_event.h"

namespace safelaunch::plugin {

/// A communicator of this process, as NCCL tells of it. A field that NCCL does not tell is negative
/// or 0. NCCL keeps a pointer to it as our context, so it lives as long as the process.
struct Communicator {
  int* mask = nullptr;   ///< NCCL's mask, one for all of a library; none once it is of no use
  std::uint64_t id = 0;  ///< the commId of NCCL's log
  int rank = -1;         ///< the rank in the communicator
  int size = 0;
  bool met = false;        ///< all its ranks have come to it
  void* stream = nullptr;  ///< the stream of the kernel that is being launched
};

/// A collective as the program calls it.
struct CollectiveCall {
  const char* op = "";  ///< NCCL's own text, which lives as long as the process
  std::uint64_t count = 0;
  int rank = -1;  ///< the rank in the communicator, and
  /// The communicator's id; it and the rank only where no earlier event told them.
  std::uint64_t communicator = 0;
  const void* group = nullptr;  ///< equal for everything that NCCL launches together
  void* stream = nullptr;
  bool can_be_followed = false;  ///< NCCL will tell when its kernel is launched
};

/// The news of this process for safelaunch: the communicators that it makes, and its first
/// collective.
///
///   phase      begins with                 and ends when
///   ---------  --------------------------  ------------------------------------------------------
///   watching   the process                 a collective is called
///   called     that                        its kernel is launched. An event follows it into the
///                                          stream, and NCCL is asked for nothing more
///   launched   that                        a thread of ours sees that the event has passed
///   over       that; or nobody listens,    the process ends
///              or no more can be seen
///
/// Any thread may call; none waits for safelaunch or for a device.
class Witness {
 public:
  constexpr Witness() = default;

  /// NCCL makes a communicator, by version `api` of its interface. Returns the context for NCCL, or
  /// nullptr where there is nothing to tell of it. Asks NCCL for `events`.
  Communicator* join(int api, int events, const Communicator& made);

  /// NCCL destroys the communicator, so nothing of NCCL's may be touched for it any more.
  void leave(Communicator& communicator);

  /// False once no event is of use any more. This question is all that NCCL's later calls cost.
  [[nodiscard]] bool listens() const {
    return phase_.load(std::memory_order_relaxed) <= Phase::called;
  }

  void call(Communicator& communicator, const CollectiveCall& call);
  /// True if launched() has to be called.
  [[nodiscard]] bool launching(Communicator& communicator, void* stream);
  void launched(Communicator& communicator);

 private:
  enum class Phase { watching, called, launched, over };
  class Lock;

  [[nodiscard]] Phase phase() const { return phase_.load(std::memory_order_relaxed); }
  void begin(int api);
  void begin_call(Communicator& communicator, const CollectiveCall& call);
  void follow(void* stream);
  void end();
  static void ask(const Communicator& communicator, int events);
  void ask_nothing_more();

  [[nodiscard]] Packet packet(const char* event) const;
  void tell(const Communicator& communicator);
  void tell_call(const Communicator& communicator, const CollectiveCall& call, bool followed);
  void tell_end(bool observed);

  bool start_thread();
  void attend();
  [[nodiscard]] bool attend_once();
  void look_at_event();
  void leave_driver();

  static constexpr std::size_t kMostCommunicators = 64;

  std::atomic<Phase> phase_ = Phase::watching;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;  // guards everything below
  bool begun_ = false;
  Connection connection_{};
  std::array<Communicator, kMostCommunicators> communicators_{};
  std::size_t count_ = 0;
  bool several_ranks_ = false;  // this process is several ranks of one communicator

  const Communicator* caller_ = nullptr;
  CollectiveCall call_{};
  std::uint64_t called_at_ = 0;  // monotonic, ns
  DeviceEvent event_{};
  bool event_is_pending_ = false;
};

/// The witness of this process.
extern constinit Witness witness;

}  // namespace safelaunch::plugin
