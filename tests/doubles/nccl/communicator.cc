// Life of a communicator after init: launches, state, abort, end.
#include "nccl/communicator.h"

#include <utility>

#include "common/knobs.h"
#include "nccl/log.h"
#include "nccl/places.h"
#include "nccl/settings.h"
#include "nccl/version.h"

namespace safelaunch::testing {
namespace {

/// An operation that waits on a stream for its turn. One that was captured may have any number of
/// turns, and stays as long as the process.
struct Launched {
  std::shared_ptr<Communicator> communicator;
  std::function<void()> work;
  bool is_captured;
};

void do_launched(void* data) {
  auto* launched = static_cast<Launched*>(data);
  launched->work();
  if (!launched->is_captured) delete launched;
}

/// How many kernels this process has launched, over all communicators.
std::atomic<long> launches = 0;

bool is_capturing(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  driver().is_capturing(stream, &status);
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

bool all_are_pairs(const std::vector<Operation>& operations) {
  for (const Operation& one : operations)
    if (one.kind != Operation::Kind::send && one.kind != Operation::Kind::receive) return false;
  return true;
}

}  // namespace

ncclResult_t Communicator::connect() {
  if (std::exchange(connected_, true)) return ncclSuccess;
  log_moment(Moment::connecting, facts_, self_.device);
  if (const ncclResult_t result = set_up(path_, self_.device, segment_); result != ncclSuccess)
    return result;
  log_moment(Moment::connected, facts_, self_.device);
  return barrier(mesh_, self_, stop_);
}

void Communicator::begin_turn() {
  const std::lock_guard lock(mutex_);
  ++on_streams_;
}

ncclResult_t Communicator::not_launched(CUresult result) const {
  const char* text = nullptr;
  driver().error_text(result, &text);
  log_warn(self_.device, "enqueue.cc:1666",
           "Cuda failure " + std::to_string(result) + " '" + (text ? text : "") + "'");
  return ncclUnhandledCudaError;
}

ncclResult_t Communicator::launch(std::vector<Operation> operations, CUstream stream) {
  if (!std::exchange(called_, true)) log_moment(Moment::first_call, facts_, self_.device);
  if (profiler_) profiler_->called(operations.front(), stream);
  if (const ncclResult_t result = connect(); result != ncclSuccess) return result;
  if (ras_)
    for (const Operation& one : operations) ras_->launched(one);
  const bool captured = is_capturing(stream);
  const auto put = [&] {
    if (!captured) begin_turn();
    auto* launched = new Launched{shared_from_this(),
                                  [this, operations, captured, number = ++launches] {
                                    if (captured) begin_turn();
                                    run(operations, captured ? ++launches : number);
                                  },
                                  captured};
    const CUresult result = driver().launch(stream, &do_launched, launched);
    return result == CUDA_SUCCESS ? ncclSuccess : not_launched(result);
  };
  return profiler_ ? profiler_->around(operations.front(), stream, put) : put();
}

/// The faults that keep a kernel from ending.
bool Communicator::hangs(long number) const {
  if (fault("p2p-hang") && path_ != Path::p2p) return false;
  const bool later = knob_value("SAFELAUNCH_DOUBLE_FAULT", "hang-in").has_value();
  return later ? fault_from("hang-in", number) : fault("no-kernel") || fault("p2p-hang");
}

/// The faults that end a kernel: the device fails under it, or NCCL finds that something is wrong.
bool Communicator::fails(long number) {
  if (fault_from("device-lost", number)) driver().fail(CUDA_ERROR_UNKNOWN);
  if (fault_from("ecc", number)) driver().fail(CUDA_ERROR_ECC_UNCORRECTABLE);
  if (!fault_from("async-error", number))
    return fault_from("device-lost", number) || fault_from("ecc", number);
  log_warn(self_.device, places().closed, "socketProgress: Connection closed by remote peer",
           Voice::progress);
  state_ = ncclRemoteError;
  stop_.wait();
  return true;
}

/// The kernel.
void Communicator::run(const std::vector<Operation>& operations, long number) {
  if (context_) driver().set_current(context_);
  Ended ended = Ended::done;
  if (hangs(number))
    stop_.wait();
  else if (fails(number))
    ended = Ended::stopped;
  else if (all_are_pairs(operations))
    ended = perform_together(operations, mesh_, self_, stop_);
  else
    for (const Operation& one : operations)
      if (ended == Ended::done) ended = perform(one, mesh_, self_, stop_);
  if (ended == Ended::closed && path_ == Path::net) {
    log_warn(self_.device, places().closed, "socketProgress: Connection closed by remote peer",
             Voice::progress);
    state_ = ncclRemoteError;
  }
  if (ended == Ended::closed)
    stop_.wait();  // a kernel that waits for a peer that has gone waits for ever
  const std::lock_guard lock(mutex_);
  --on_streams_;
  changed_.notify_all();
}

void Communicator::run_apart(std::function<ncclResult_t()> work) {
  if (apart_.joinable()) apart_.join();
  state_ = ncclInProgress;
  apart_ = std::thread(
      [self = shared_from_this(), work = std::move(work), context = context_of_caller()] {
        if (context) driver().set_current(context);
        self->state_ = work();
      });
}

void Communicator::abort() {
  stop_.ask();
  if (apart_.joinable()) apart_.join();
  drain();
  profiler_.reset();
  log_moment(Moment::aborted, facts_, self_.device);
}

void Communicator::drain() {
  if (apart_.joinable()) apart_.join();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return on_streams_ == 0; });
  if (stop_.asked()) return;
  profiler_.reset();
  log_moment(Moment::destroyed, facts_, self_.device);
}

ncclResult_t Communicator::exchange(const std::vector<char>& mine,
                                    std::vector<std::vector<char>>& all) {
  return gather(mesh_, self_, mine, all, stop_);
}

ncclRedOp_t Communicator::add_reduction(const Factor& factor) {
  const std::lock_guard lock(mutex_);
  reductions_[next_reduction_] = factor;
  return ncclRedOp_t{next_reduction_++};
}

std::optional<Factor> Communicator::factor(ncclRedOp_t reduction) {
  const std::lock_guard lock(mutex_);
  const auto found = reductions_.find(reduction);
  return found == reductions_.end() ? std::nullopt : std::optional(found->second);
}

bool Communicator::remove_reduction(ncclRedOp_t reduction) {
  const std::lock_guard lock(mutex_);
  return reductions_.erase(reduction) > 0;
}

ncclResult_t Communicator::share_id(const std::vector<int>& ranks, ncclUniqueId& id) {
  const auto connection = [this](int rank) {
    return mesh_.connections[static_cast<std::size_t>(rank)].get();
  };
  Ended ended = Ended::done;
  if (self_.rank != ranks.front())
    ended = receive_bytes(connection(ranks.front()), &id, sizeof id, stop_);
  else
    for (std::size_t i = 1; i < ranks.size() && ended == Ended::done; ++i)
      ended = send_bytes(connection(ranks[i]), &id, sizeof id, stop_);
  return ended == Ended::done ? ncclSuccess : ncclRemoteError;
}

}  // namespace safelaunch::testing
