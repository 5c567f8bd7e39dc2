#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "safelaunch/base/time.h"

namespace safelaunch {

/// What is written to the disk for a run, one after the other, by a thread of its own: a home on a
/// dead server, or a frozen file system, then stops neither the job nor its output. Bounded: what
/// waits is at most 8 MiB, and what does not fit is refused. The thread is started by the first
/// task.
///
/// A thread that is stuck in the kernel can be left behind only by `_exit`: whatever tasks refer to
/// must live until drain() has said true, or until the process ends.
class DiskQueue {
 public:
  using Task = std::function<void()>;

  DiskQueue();
  DiskQueue(const DiskQueue&) = delete;
  DiskQueue& operator=(const DiskQueue&) = delete;
  ~DiskQueue();  ///< does not wait for what is still to be done

  /// False where there is no room for it: `bytes` is what it holds.
  [[nodiscard]] bool post(std::size_t bytes, Task task);

  /// Whether there is room for more. Without room one may wait, but not where it is stuck().
  [[nodiscard]] bool has_room() const;

  /// Nothing was done for two seconds, though there was something to do.
  [[nodiscard]] bool stuck() const;

  /// Waits until all is done, at most for `limit`. Whether it is.
  [[nodiscard]] bool drain(Duration limit);

  /// The result of `task`, in its turn; nullopt where there is none within `limit`. What it refers
  /// to must live on all the same.
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
