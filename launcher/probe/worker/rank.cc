#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "modes.h"
#include "opened_libraries.h"
#include "orders.h"
#include "probe_device.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/time.h"
#include "safelaunch/probe/verdict.h"

// The phases are a table that is gone through until one fails. Nothing waits inside a call: NCCL is
// asked again and again whether it is through, and between two questions an order may come.
namespace safelaunch::probe {
namespace {

using Json = nlohmann::ordered_json;

/// Between two looks at what we wait for. The GPU measures its own time, so this costs no accuracy.
constexpr std::chrono::microseconds kPause{100};

/// The measurement goes on for about so long, and for so many all_reduces at most.
constexpr double kMeasuredMs = 250;
constexpr int kMostRepeats = 20;  // as many as nccl-tests makes

/// Beside a job: context, NCCL's buffers and ours take one or two gigabytes, for some seconds.
constexpr std::size_t kRoomBesideJob = std::size_t{4} << 30;

double ms_since(TimePoint begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// The phase was not gone through, and nothing is wrong.
Error declined(std::string why) {
  return {Errc::blocked, std::move(why)};
}

/// One rank, phase by phase. It waits for nothing without hearing orders meanwhile; safelaunch ends
/// a rank that hangs inside a call of the driver.
class ProbeRank {
 public:
  explicit ProbeRank(RankOrder order) : order_(std::move(order)) {}

  [[noreturn]] void run();

 private:
  struct Step {
    Phase phase;
    Result<void> (ProbeRank::*perform)();
  };
  static const Step kSteps[kProbePhaseCount];

  Result<void> open_driver();
  Result<void> make_context();
  Result<void> open_library();
  Result<void> agree_on_id();
  Result<void> make_communicator();
  Result<void> reduce_first();
  Result<void> check_sum();
  Result<void> measure();

  bool perform(const Step& step);
  Result<void> refuse_to_disturb() const;
  Result<void> all_reduce(CUdeviceptr from, CUdeviceptr to, std::size_t count);
  Result<void> finished();
  Result<float> sum_over_ranks(float value);
  Result<double> timed(int repeats);
  Result<int> agree_on_repeats();
  Result<bool> settled() const;
  Result<bool> idle() const;
  template <class Ask>
  Result<void> wait_until(Ask ask);
  [[noreturn]] void leave();

  RankOrder order_;
  Orders orders_{STDIN_FILENO};
  Json facts_;  ///< the facts of the phase that is gone through now
  Device gpu_{CudaDriver{}};
  NcclLibrary nccl_{};
  ncclUniqueId id_{};
  ncclComm_t comm_ = nullptr;
};

const ProbeRank::Step ProbeRank::kSteps[] = {
    {Phase::driver, &ProbeRank::open_driver},
    {Phase::context, &ProbeRank::make_context},
    {Phase::library, &ProbeRank::open_library},
    {Phase::unique_id, &ProbeRank::agree_on_id},
    {Phase::init, &ProbeRank::make_communicator},
    {Phase::first_all_reduce, &ProbeRank::reduce_first},
    {Phase::checked, &ProbeRank::check_sum},
    {Phase::bandwidth, &ProbeRank::measure},
};

void ProbeRank::run() {
  for (const Step& step : kSteps)
    if (!perform(step)) break;
  leave();
}

/// Goes through a phase and reports it. False where the next one makes no sense.
bool ProbeRank::perform(const Step& step) {
  const TimePoint begin = Clock::now();
  facts_ = Json::object();
  const Result<void> done = (this->*step.perform)();
  if (orders_.must_abort()) return false;
  Json line{{"phase", name(step.phase)}, {"ms", ms_since(begin)}};
  line.update(facts_);
  if (!done) {
    const bool declined = done.error().code == Errc::blocked;
    line[declined ? "declined" : "failed"] = done.error().message;
  }
  print_json(line);
  return done.has_value();
}

/// Not before all have measured, since others may still be receiving from us; or on an order.
void ProbeRank::leave() {
  while (!orders_.may_end() && !orders_.must_abort()) orders_.listen(std::chrono::seconds(1));
  if (comm_ != nullptr) nccl_.abort(comm_);
  ::_exit(0);  // a driver's own way of ending is one more place to hang in
}

template <class Ask>
Result<void> ProbeRank::wait_until(Ask ask) {
  for (;;) {
    const Result<bool> there = ask();
    if (!there) return there.error();
    if (*there) return {};
    orders_.listen(kPause);
    if (orders_.must_abort()) return Error{Errc::peer_lost, "told to abort"};
  }
}

Result<void> ProbeRank::open_driver() {
  const auto cuda = CudaDriver::open();
  if (!cuda) return cuda.error();
  gpu_ = Device(*cuda);
  if (const auto chosen = gpu_.choose(order_.device); !chosen) return chosen;
  const auto name = gpu_.name();
  if (!name) return name.error();
  facts_["device"] = *name;
  return {};
}

Result<void> ProbeRank::make_context() {
  if (order_.beside_job) {
    const auto exclusive = gpu_.exclusive();
    if (!exclusive) return exclusive.error();
    if (*exclusive) return declined("the GPU serves one process at a time, and the job needs it");
  }
  if (const auto made = gpu_.make_context(); !made) return made;
  if (const auto allowed = refuse_to_disturb(); !allowed) return allowed;
  return gpu_.make_buffers();
}

Result<void> ProbeRank::refuse_to_disturb() const {
  if (!order_.beside_job) return {};
  const auto free = gpu_.free_memory();
  if (!free) return free.error();
  if (*free >= kRoomBesideJob) return {};
  return declined(fmt::format("{} MiB are free on the GPU, too few beside the job", *free >> 20));
}

Result<void> ProbeRank::open_library() {
  const auto nccl = NcclLibrary::open(order_.nccl);
  if (!nccl) return nccl.error();
  nccl_ = *nccl;
  const auto version = nccl_.version_text();
  if (!version) return version.error();
  facts_["nccl"] = *version;
  return {};
}

Result<void> ProbeRank::agree_on_id() {
  if (order_.rank == 0) {
    const auto made = nccl_.check(nccl_.unique_id(&id_), "ncclGetUniqueId");
    if (made) facts_["id"] = to_hex({id_.internal, sizeof id_.internal});
    return made;
  }
  const auto given = wait_until([this] { return Result<bool>(!orders_.id().empty()); });
  if (!given) return given;
  if (!from_hex(orders_.id(), id_.internal))
    return Error{Errc::usage, "what came as rank 0's unique id is none"};
  return {};
}

Result<void> ProbeRank::make_communicator() {
  ncclConfig_t config;
  config.blocking = 0;  // so that an order to abort is heard while a rank is missing
  const auto begun = nccl_.check(nccl_.init_rank(&comm_, order_.ranks, id_, order_.rank, &config),
                                 "ncclCommInitRankConfig");
  if (!begun) return begun;
  return wait_until([this] { return settled(); });
}

/// Whether the last call on the communicator is through.
Result<bool> ProbeRank::settled() const {
  ncclResult_t state = ncclSuccess;
  const auto asked = nccl_.check(nccl_.async_error(comm_, &state), "ncclCommGetAsyncError");
  if (!asked) return asked.error();
  if (const auto healthy = nccl_.check(state, "NCCL"); !healthy) return healthy.error();
  return state == ncclSuccess;
}

/// Whether what was put on the stream is done. Where a peer is lost the kernel never ends; then the
/// communicator tells.
Result<bool> ProbeRank::idle() const {
  const auto idle = gpu_.idle();
  if (!idle || *idle) return idle;
  const auto healthy = settled();
  if (!healthy) return healthy.error();
  return false;
}

/// Puts it on the stream. The first one connects the ranks, in a thread of NCCL's.
Result<void> ProbeRank::all_reduce(CUdeviceptr from, CUdeviceptr to, std::size_t count) {
  const auto queued =
      nccl_.check(nccl_.all_reduce(reinterpret_cast<const void*>(from), reinterpret_cast<void*>(to),
                                   count, ncclFloat32, ncclSum, comm_, gpu_.stream()),
                  "ncclAllReduce");
  if (!queued) return queued;
  return wait_until([this] { return settled(); });
}

Result<void> ProbeRank::finished() {
  return wait_until([this] { return idle(); });
}

Result<void> ProbeRank::reduce_first() {
  const auto put = gpu_.put_value(static_cast<float>(share_of(order_.rank)));
  if (!put) return put;
  if (const auto queued = all_reduce(gpu_.value(), gpu_.value(), 1); !queued) return queued;
  return finished();
}

Result<void> ProbeRank::check_sum() {
  const auto sum = gpu_.float_at(gpu_.value());
  if (!sum) return sum.error();
  const std::int64_t right = sum_of_shares(order_.ranks);
  if (*sum == static_cast<float>(right)) return {};
  return Error{Errc::peer_lost,
               fmt::format("all_reduce gave {}, and the sum is {}", double{*sum}, right)};
}

Result<float> ProbeRank::sum_over_ranks(float value) {
  if (const auto put = gpu_.put_value(value); !put) return put.error();
  if (const auto queued = all_reduce(gpu_.value(), gpu_.value(), 1); !queued) return queued.error();
  if (const auto done = finished(); !done) return done.error();
  return gpu_.float_at(gpu_.value());
}

/// Milliseconds on the GPU for so many all_reduces of 64 MiB.
Result<double> ProbeRank::timed(int repeats) {
  if (const auto begun = gpu_.mark_begin(); !begun) return begun.error();
  for (int i = 0; i < repeats; ++i) {
    const auto queued = all_reduce(gpu_.send(), gpu_.receive(), kProbeFloats);
    if (!queued) return queued.error();
  }
  if (const auto ended = gpu_.mark_end(); !ended) return ended.error();
  if (const auto done = finished(); !done) return done.error();
  return gpu_.ms_between_marks();
}

/// One all_reduce to warm up, one to see how long it takes. Each rank sees another time, so the
/// number that they want is averaged.
Result<int> ProbeRank::agree_on_repeats() {
  if (const auto warm = timed(1); !warm) return warm.error();
  const auto one = timed(1);
  if (!one) return one.error();
  const double wanted = std::clamp(kMeasuredMs / std::max(*one, 0.001), 1.0, double{kMostRepeats});
  const auto sum = sum_over_ranks(static_cast<float>(static_cast<int>(wanted)));
  if (!sum) return sum.error();
  return std::clamp(static_cast<int>(*sum) / order_.ranks, 1, kMostRepeats);
}

Result<void> ProbeRank::measure() {
  if (const auto filled = gpu_.fill_send(); !filled) return filled;
  const auto repeats = agree_on_repeats();
  if (!repeats) return repeats.error();
  const auto ms = timed(*repeats);
  if (!ms) return ms.error();
  const auto last = gpu_.float_at(gpu_.receive() + kProbeBytes - sizeof(float));
  if (!last) return last.error();
  if (*last != static_cast<float>(order_.ranks))
    return Error{Errc::peer_lost, fmt::format("an all_reduce of 64 MiB gave {}, and the sum is {}",
                                              double{*last}, order_.ranks)};
  facts_["repeats"] = *repeats;
  facts_["gb_per_s"] = double{kProbeBytes} * *repeats / std::max(*ms, 0.001) / 1e6;
  return {};
}

}  // namespace

void probe_as_rank(const RankOrder& order) {
  ProbeRank(order).run();
}

}  // namespace safelaunch::probe
