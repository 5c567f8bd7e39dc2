#include "safelaunch/base/disk_queue.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

/// The thread runs the first task of the queue and takes it away when it is done, so a queue whose
/// first task stays the same for two seconds is stuck. The thread holds the state too: it may be in
/// the kernel when the queue itself has gone.
namespace safelaunch {
namespace {

constexpr std::size_t kMostBytes = 8 << 20;
constexpr std::size_t kMostTasks = 65'536;
constexpr Duration kStuckAfter{2'000};

}  // namespace

struct DiskQueue::State {
  struct Waiting {
    std::size_t bytes;
    Task task;
  };

  mutable std::mutex mutex;
  std::condition_variable more;
  std::condition_variable idle;
  std::deque<Waiting> waiting;  // the thread is at the first one
  std::size_t bytes = 0;
  TimePoint moved = Clock::now();  // the time when a task was last done, or when the first came
  bool started = false;
  bool refused_thread = false;
  bool over = false;

  [[nodiscard]] bool fits(std::size_t size) const {
    return waiting.empty() || (bytes + size <= kMostBytes && waiting.size() < kMostTasks);
  }

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      more.wait(lock, [this] { return over || !waiting.empty(); });
      if (waiting.empty()) return;
      const Task& task =
          waiting.front().task;  // the front stays in place, since others only add behind it
      lock.unlock();
      task();
      lock.lock();
      bytes -= waiting.front().bytes;
      waiting.pop_front();
      moved = Clock::now();
      if (waiting.empty()) idle.notify_all();
    }
  }
};

namespace {

/// False where the host gives us no thread (a limit of processes).
template <class State>
bool start_thread(const std::shared_ptr<State>& state) {
  try {
    std::thread([state] { state->work(); }).detach();
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

}  // namespace

DiskQueue::DiskQueue() : state_(std::make_shared<State>()) {}

DiskQueue::~DiskQueue() {
  const std::lock_guard lock(state_->mutex);
  state_->over = true;
  state_->more.notify_one();
}

bool DiskQueue::post(std::size_t bytes, Task task) {
  const std::lock_guard lock(state_->mutex);
  if (!state_->fits(bytes)) return false;
  if (state_->waiting.empty()) state_->moved = Clock::now();
  state_->waiting.push_back({bytes, std::move(task)});
  state_->bytes += bytes;
  if (!state_->started && !start_thread(state_)) {
    state_->waiting.clear();
    state_->bytes = 0;
    state_->refused_thread = true;
    return false;
  }
  state_->started = true;
  state_->more.notify_one();
  return true;
}

bool DiskQueue::has_no_thread() const {
  const std::lock_guard lock(state_->mutex);
  return state_->refused_thread && !state_->started;
}

bool DiskQueue::has_room() const {
  const std::lock_guard lock(state_->mutex);
  return state_->fits(0) && state_->bytes < kMostBytes / 2;
}

bool DiskQueue::stuck() const {
  const std::lock_guard lock(state_->mutex);
  return !state_->waiting.empty() && Clock::now() - state_->moved > kStuckAfter;
}

bool DiskQueue::drain(Duration limit) {
  std::unique_lock lock(state_->mutex);
  return state_->idle.wait_for(lock, limit, [this] { return state_->waiting.empty(); });
}

}  // namespace safelaunch
