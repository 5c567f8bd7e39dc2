#pragma once

#include "cuda/api.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace safelaunch::testing {

/// The work that a stream still has to do, in order. Where nothing is left to do, whoever adds a
/// little does it himself at once: a training step puts hundreds of things on a stream, and to wake
/// a thread for each would cost more than they do. What may wait (a collective, a function of the
/// application's, an event of another stream) is done by the stream's own thread, and so is all
/// that comes behind it. The thread starts with the first such work and is never joined: work that
/// never ends is one of the things that are played.
class WorkQueue : public std::enable_shared_from_this<WorkQueue> {
 public:
  explicit WorkQueue(unsigned flags) : flags_(flags) {}

  void add(std::function<void()> work);          ///< soon done
  void add_waiting(std::function<void()> work);  ///< may wait, perhaps for ever
  [[nodiscard]] bool idle();
  void wait_until_idle();
  [[nodiscard]] unsigned flags() const { return flags_; }

 private:
  /// Who works on the queue at the moment.
  enum class Worker { none, caller, thread };

  void hand_over();
  void run();

  const unsigned flags_;
  std::mutex mutex_;
  std::condition_variable has_work_;
  std::condition_variable is_idle_;
  std::deque<std::function<void()>> work_;
  Worker worker_ = Worker::none;
  bool started_ = false;
};

}  // namespace safelaunch::testing

/// The stream behind a CUstream.
struct CUstream_st {
  CUstream_st(CUctx_st& owner, unsigned flags);

  CUctx_st& context;
  std::shared_ptr<safelaunch::testing::WorkQueue> queue;
};
