#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "safelaunch/base/time.h"

namespace safelaunch {

/// Writes to the disk for a run, one task after the other, on a thread of its own: a home on a dead
/// server, or a frozen file system, then stops neither the job nor its output. At most 8 MiB wait
/// in the queue; a task that does not fit is refused. The first task starts the thread.
///
/// Only `_exit` leaves a thread behind that is stuck in the kernel. So everything that a task
/// refers to must live until drain() has said true, or until the process ends.
class DiskQueue {
 public:
  using Task = std::function<void()>;

  DiskQueue();
  DiskQueue(const DiskQueue&) = delete;
  DiskQueue& operator=(const DiskQueue&) = delete;
  ~DiskQueue();  ///< does not wait for tasks that are still to be done

  /// Adds a task that holds so many bytes. False where there is no room for it, or where the host
  /// gives us no thread to do it.
  [[nodiscard]] bool post(std::size_t bytes, Task task);

  /// Whether the host has given us no thread, so that nothing is written.
  [[nodiscard]] bool has_no_thread() const;

  /// Whether there is room for more. A caller may wait for room, but not where the queue is
  /// stuck().
  [[nodiscard]] bool has_room() const;

  /// Whether no task was done for two seconds, though there was one to do.
  [[nodiscard]] bool stuck() const;

  /// Waits until all tasks are done, at most for `limit`. Says whether they are.
  [[nodiscard]] bool drain(Duration limit);

  /// The result of `task`, in its turn; nullopt where there is none within `limit`. Even then
  /// everything that the task refers to must live on.
  template <class Task>
  [[nodiscard]] auto within(Duration limit, Task task) -> std::optional<decltype(task())> {
    auto result = std::make_shared<std::optional<decltype(task())>>();
    if (stuck() || !post(0, [result, task] { result->emplace(task()); }) || !drain(limit))
      return {};
    return std::move(*result);
  }

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace safelaunch
