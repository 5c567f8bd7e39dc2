#include "safelaunch/gpu/memory.h"
#include "catch.h"
#include "made_gpus.h"

namespace safelaunch::gpu {
namespace {

using testing::facts_of;
using testing::made_gpu;
using testing::with_process;
using State = Drain::State;

TEST_CASE("of many holders three are named") {
  Gpu gpu = made_gpu(0);
  for (int pid = 1; pid <= 5; ++pid) gpu = with_process(gpu, pid, 100);
  CHECK(held_by_others(gpu, {}).holders ==
        "pid 1 (100 MiB), pid 2 (100 MiB), pid 3 (100 MiB) and 2 more");
  const std::vector<int> own{1, 2, 3};
  CHECK(held_by_others(gpu, own).mib == 200);
  CHECK(held_by_others(gpu, own).holders == "pid 4 (100 MiB) and pid 5 (100 MiB)");
}

TEST_CASE("every holding is listed with its GPU") {
  auto gpu = with_process(made_gpu(1), 71, 4096);
  gpu.processes.push_back({72, std::nullopt});
  const auto holdings = memory_holdings(facts_of({made_gpu(0), gpu}));
  CHECK(holdings == std::vector<MemoryHolding>{{71, "4096 MiB of GPU 1"}, {72, "memory of GPU 1"}});
}

TEST_CASE("memory without a listed holder is told, unless one's share is unknown") {
  Gpu gpu = with_process(made_gpu(0), 71, 1000);
  gpu.used_mib = 5000;
  CHECK(memory_without_holder(facts_of({gpu})) == std::vector<std::string>{"4000 MiB of GPU 0"});
  gpu.processes[0].mib = std::nullopt;
  CHECK(memory_without_holder(facts_of({gpu})).empty());
  CHECK(memory_without_holder(facts_of({with_process(made_gpu(0), 71, 1000)})).empty());
}

TEST_CASE("memory is drained when no more is in use than before the attempt") {
  const auto before = facts_of({made_gpu(0)});
  CHECK(judge_drain(before, before, {}).state == State::drained);
  Gpu slightly = made_gpu(0);
  slightly.used_mib = 60;
  CHECK(judge_drain(before, facts_of({slightly}), {}).state == State::drained);
}

TEST_CASE(
    "memory that an ended attempt still holds is waited for, with its holder, up to the bound") {
  const auto before = facts_of({made_gpu(0), made_gpu(1)});
  const auto now = facts_of({made_gpu(0), with_process(made_gpu(1), 71, 40'960)});
  CHECK(judge_drain(before, now, Duration(29'999)) ==
        Drain{State::waiting, "40960 MiB of GPU 1 are still in use by pid 71 (40960 MiB)"});
  CHECK(judge_drain(before, now, Duration(30'000)).state == State::given_up);
}

TEST_CASE("who was on the GPU before the attempt may grow") {
  const auto before = facts_of({with_process(made_gpu(0), 71, 1000)});
  const auto now = facts_of({with_process(made_gpu(0), 71, 30'000)});
  CHECK(judge_drain(before, now, {}).state == State::drained);
}

TEST_CASE("a driver that no longer answers ends the waiting") {
  Facts now;
  now.trouble = Trouble::no_answer;
  now.why = "the driver does not answer within 3s";
  CHECK(judge_drain(facts_of({made_gpu(0)}), now, {}) == Drain{State::given_up, now.why});
}

TEST_CASE("where there were no GPUs nothing is waited for") {
  CHECK(judge_drain({}, {}, {}).state == State::drained);
}

}  // namespace
}  // namespace safelaunch::gpu
