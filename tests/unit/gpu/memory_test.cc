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

TEST_CASE("one holder, two and three are told as a sentence lists them") {
  Gpu gpu = made_gpu(0);
  const auto holders = [&] { return held_by_others(gpu, {}).holders; };
  CHECK(holders() == "processes that are not listed here");
  gpu.processes.push_back({1, std::nullopt});
  CHECK(holders() == "pid 1");
  gpu.processes.push_back({2, 5});
  CHECK(holders() == "pid 1 and pid 2 (5 MiB)");
  gpu.processes.push_back({3, std::nullopt});
  CHECK(holders() == "pid 1, pid 2 (5 MiB) and pid 3");
}

TEST_CASE(
    "memory of others is never less than nothing, and an own share that is not told is theirs") {
  Gpu gpu = with_process(made_gpu(0), 71, 1'000);
  gpu.used_mib = 900;  // the driver counts in two ways
  const std::vector<int> own{71};
  CHECK(held_by_others(gpu, own).mib == 0);
  gpu.processes = {{71, std::nullopt}};
  CHECK(held_by_others(gpu, own).mib == 900);
  CHECK(held_by_others(gpu, own).holders == "processes that are not listed here");
  CHECK(others_on(gpu, own).empty());
  CHECK(others_on(gpu, {}).size() == 1);
}

TEST_CASE("the most that a driver can tell is still a number") {
  Gpu gpu = made_gpu(0);
  gpu.used_mib = 4'000'000;
  for (int pid = 1; pid <= 512; ++pid) gpu.processes.push_back({pid, 4'000'000});
  CHECK(memory_without_holder(facts_of({gpu})).empty());
  std::vector<int> own(512);
  for (int pid = 1; pid <= 512; ++pid) own[static_cast<std::size_t>(pid - 1)] = pid;
  CHECK(held_by_others(gpu, own).mib == 0);
}

TEST_CASE("memory without a holder is told of each GPU from 512 MiB on") {
  Gpu one = made_gpu(0);
  one.used_mib = 511;
  Gpu other = made_gpu(1);
  other.used_mib = 512;
  CHECK(memory_without_holder(facts_of({one, other})) ==
        std::vector<std::string>{"512 MiB of GPU 1"});
  CHECK(memory_without_holder({}).empty());
}

TEST_CASE("a GPU that computes for nobody is waited for, and then nothing starts on it") {
  Gpu spins = made_gpu(1);
  spins.busy_percent = 100;
  const auto before = facts_of({made_gpu(0), made_gpu(1)});
  const auto now = facts_of({made_gpu(0), spins});
  CHECK(judge_drain(before, now, Duration(9'999)).state == State::waiting);
  const Drain drain = judge_drain(before, now, Duration(10'000));
  CHECK(drain.state == State::stuck);
  CHECK(drain.why.starts_with("GPU 1 computes (100 %) although no process is on it any more"));
  SECTION("but not where it did so before the attempt") {
    CHECK(judge_drain(now, now, Duration(10'000)).state == State::drained);
  }
}

TEST_CASE("a GPU that is hardly busy, or has a process or memory in use, computes for somebody") {
  Gpu gpu = made_gpu(0);
  CHECK_FALSE(computes_for_nobody(gpu));
  gpu.busy_percent = 90;
  CHECK(computes_for_nobody(gpu));
  SECTION("busy for a part of the time") {
    gpu.busy_percent = 89;
  }
  SECTION("a process") {
    gpu.processes.push_back({71, std::nullopt});
  }
  SECTION("memory of a process that is not listed: another container's") {
    gpu.used_mib = 512;
  }
  CHECK_FALSE(computes_for_nobody(gpu));
}

TEST_CASE("a context of 64 MiB more is drained, one MiB beyond it is not") {
  const auto state = [](int mib) {
    Gpu now = made_gpu(0);
    now.used_mib = mib;
    return judge_drain(facts_of({made_gpu(0)}), facts_of({now}), {}).state;
  };
  CHECK(state(64) == State::drained);
  CHECK(state(65) == State::waiting);
}

TEST_CASE("a process that is new counts beside one that was there before") {
  const auto before = facts_of({with_process(made_gpu(0), 71, 1'000)});
  const auto now = facts_of({with_process(with_process(made_gpu(0), 71, 30'000), 72, 500)});
  CHECK(judge_drain(before, now, {}) ==
        Drain{State::waiting, "500 MiB of GPU 0 are still in use by pid 72 (500 MiB)"});
}

TEST_CASE("a GPU is found again by its name, whatever its number is by now") {
  Gpu moved = with_process(made_gpu(0), 71, 1'000);
  moved.index = 1;
  const auto before = facts_of({made_gpu(1), with_process(made_gpu(0), 71, 1'000)});
  CHECK(judge_drain(before, facts_of({moved}), {}).state == State::drained);
}

TEST_CASE("a GPU that was not there before, or is gone, is not waited for") {
  const auto before = facts_of({made_gpu(0)});
  CHECK(judge_drain(before, facts_of({made_gpu(0), with_process(made_gpu(1), 71, 9'000)}), {})
            .state == State::drained);
  CHECK(judge_drain(facts_of({made_gpu(0), made_gpu(1)}), before, {}).state == State::drained);
}

TEST_CASE("the bound is the caller's, and without time it is reached at once") {
  Gpu held = made_gpu(0);
  held.used_mib = 9'000;
  const auto before = facts_of({made_gpu(0)});
  const auto now = facts_of({held});
  CHECK(judge_drain(before, now, Duration(4), Duration(5)).state == State::waiting);
  CHECK(judge_drain(before, now, Duration(5), Duration(5)).state == State::given_up);
  CHECK(judge_drain(before, now, {}, {}).state == State::given_up);
}

}  // namespace
}  // namespace safelaunch::gpu
