#include "cuda/stream.h"

#include <thread>
#include <utility>

#include "cuda/context.h"

namespace safelaunch::testing {

void WorkQueue::add(std::function<void()> work) {
  std::unique_lock lock(mutex_);
  if (worker_ != Worker::none) {
    work_.push_back(std::move(work));
    return;
  }
  worker_ = Worker::caller;
  lock.unlock();
  work();
  lock.lock();
  // Another thread may have added something meanwhile.
  if (!work_.empty()) return hand_over();
  worker_ = Worker::none;
  is_idle_.notify_all();
}

void WorkQueue::add_waiting(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
  if (worker_ == Worker::none) hand_over();
}

/// The rest is the thread's. The caller holds the mutex.
void WorkQueue::hand_over() {
  worker_ = Worker::thread;
  has_work_.notify_one();
  if (std::exchange(started_, true)) return;
  std::thread([self = shared_from_this()] { self->run(); }).detach();
}

void WorkQueue::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    has_work_.wait(lock, [this] { return worker_ == Worker::thread; });
    while (!work_.empty()) {
      const std::function<void()> work = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      work();
      lock.lock();
    }
    worker_ = Worker::none;
    is_idle_.notify_all();
  }
}

bool WorkQueue::idle() {
  const std::lock_guard lock(mutex_);
  return worker_ == Worker::none;
}

void WorkQueue::wait_until_idle() {
  std::unique_lock lock(mutex_);
  is_idle_.wait(lock, [this] { return worker_ == Worker::none; });
}

}  // namespace safelaunch::testing

CUstream_st::CUstream_st(CUctx_st& owner, unsigned flags)
    : context(owner), queue(std::make_shared<safelaunch::testing::WorkQueue>(flags)) {
  const std::lock_guard lock(owner.mutex);
  owner.queues.push_back(queue);
}
