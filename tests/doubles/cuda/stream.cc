#include "cuda/stream.h"

#include <thread>
#include <utility>

#include "cuda/context.h"

namespace safelaunch::testing {

void WorkQueue::add(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
  changed_.notify_all();
  if (std::exchange(started_, true)) return;
  std::thread([self = shared_from_this()] { self->run(); }).detach();
}

void WorkQueue::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !work_.empty(); });
    const std::function<void()>& work = work_.front();
    lock.unlock();
    work();
    lock.lock();
    work_.pop_front();
    changed_.notify_all();
  }
}

bool WorkQueue::idle() {
  const std::lock_guard lock(mutex_);
  return work_.empty();
}

void WorkQueue::wait_until_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return work_.empty(); });
}

}  // namespace safelaunch::testing

CUstream_st::CUstream_st(CUctx_st& owner, unsigned flags)
    : context(owner), queue(std::make_shared<safelaunch::testing::WorkQueue>(flags)) {
  const std::lock_guard lock(owner.mutex);
  owner.queues.push_back(queue);
}
