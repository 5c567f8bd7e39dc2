#pragma once

#include <cstdint>
#include <memory>

#include "safelaunch/base/process.h"
#include "safelaunch/base/result.h"
#include "safelaunch/base/time.h"
#include "safelaunch/watch/hook_message.h"

namespace boost::asio {
class io_context;
}

namespace safelaunch::watch {

/// How many packets of one connection are read as they come. A rank at its start says some dozens
/// at once, and a script that fails in a loop some thousands a second, for ever: each costs the
/// time of everybody else's news.
class PacketBudget {
 public:
  static constexpr int kAtOnce = 4000;
  static constexpr int kASecond = 1000;

  explicit PacketBudget(TimePoint now) : at_(now) {}

  /// Whether one more may be read now; it counts then.
  [[nodiscard]] bool take(TimePoint now);

 private:
  double left_ = kAtOnce;
  TimePoint at_;
};

/// The socket to which the hooks of one attempt speak, and the NCCL plugins. It reads no more than
/// one packet at a time and drops whoever does not know the token or belongs to another user. Of a
/// peer that says more than its budget (PacketBudget) it hears the last packets alone, so
/// neither its memory nor its time is the peers' to take. Destroying it closes every connection;
/// the workers go on without a word. Use it on the thread of the io_context.
class HookChannel {
 public:
  /// Hears the peers. It may destroy the channel from within a call.
  class Listener {
   public:
    /// The message is valid during the call alone.
    virtual void on_hook_message(ProcessId process, const HookMessage& message) = 0;
    /// The last connection of a process's hook is closed: the process has ended, has forked away or
    /// has closed it.
    virtual void on_hook_closed(ProcessId process) = 0;
    /// A process sends more packets than safelaunch reads; told once for each connection.
    virtual void on_hook_flood(ProcessId process) = 0;

   protected:
    ~Listener() = default;
  };

  /// `address` is a path, or `@name` for the abstract namespace, as in SAFELAUNCH_HOOK. Errc::os if
  /// the socket cannot be made there. The listener must outlive the channel.
  static Result<std::unique_ptr<HookChannel>> open(boost::asio::io_context& io,
                                                   const std::string& address, std::string token,
                                                   Listener& listener);
  HookChannel(const HookChannel&) = delete;
  HookChannel& operator=(const HookChannel&) = delete;
  ~HookChannel();

  /// Asks the hook of a process; the answer comes as a message with the same id, within a second if
  /// it comes at all. False if there is no connection to it.
  bool ask(ProcessId process, HookQuestion question, int id);

  /// Hands over at once what has arrived from a process. To be called before its end is told to
  /// anybody: the exception that ended it may still lie in the socket.
  void drain(ProcessId process);

  /// The number of packets that were not read, because too many came.
  [[nodiscard]] std::uint64_t unheard() const;

 private:
  struct State;
  explicit HookChannel(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace safelaunch::watch
