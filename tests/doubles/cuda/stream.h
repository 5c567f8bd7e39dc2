#pragma once

#include "cuda/api.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace safelaunch::testing {

/// The work that a stream still has to do, in order, by a thread of its own. The thread starts with
/// the first work and is never joined: work that never ends is one of the things that are played.
class WorkQueue : public std::enable_shared_from_this<WorkQueue> {
 public:
  explicit WorkQueue(unsigned flags) : flags_(flags) {}

  void add(std::function<void()> work);
  [[nodiscard]] bool idle();
  void wait_until_idle();
  [[nodiscard]] unsigned flags() const { return flags_; }

 private:
  void run();

  const unsigned flags_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;  // the first one is being done
  bool started_ = false;
};

}  // namespace safelaunch::testing

/// The stream behind a CUstream.
struct CUstream_st {
  CUstream_st(CUctx_st& owner, unsigned flags);

  CUctx_st& context;
  std::shared_ptr<safelaunch::testing::WorkQueue> queue;
};
