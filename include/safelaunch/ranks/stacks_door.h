#pragma once

#include <functional>
#include <memory>
#include <string>

namespace boost::asio {
class io_context;
}

namespace safelaunch::ranks {

/// The door at which `safelaunch stacks` asks the safelaunch that runs a job: a listening socket
/// that costs nothing while nobody comes. To connect is the question; nothing is read. Only our own
/// user is heard, a few at a time, and a visitor that does not take the answer loses it. Use it on
/// the io_context's thread.
class StacksDoor {
 public:
  using OnQuestion = std::function<void()>;

  /// Null where it cannot be opened: then the verb looks at /proc alone. `on_question` is called
  /// when somebody asks and no answer is under way; answer() is to follow.
  static std::unique_ptr<StacksDoor> open(boost::asio::io_context& io, const std::string& name,
                                          OnQuestion on_question);
  StacksDoor(const StacksDoor&) = delete;
  StacksDoor& operator=(const StacksDoor&) = delete;
  ~StacksDoor();

  /// Answers all who have asked until now.
  void answer(const std::string& text);

 private:
  struct State;
  explicit StacksDoor(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace safelaunch::ranks
