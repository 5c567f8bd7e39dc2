#include "safelaunch/gpu/reader.h"

#include <boost/asio/io_context.hpp>

#include "catch.h"
#include "made_folder.h"
#include "safelaunch/gpu/memory.h"

namespace safelaunch::gpu {
namespace {

using testing::MadeFolder;

/// A host with an NVML in reach, and a safelaunch-probe that does what a test says.
class Host : public MadeFolder {
 public:
  explicit Host(const std::string& probe_does) {
    library("lib/libnvidia-ml.so.1");
    const auto script = file("probe", "#!/bin/sh\n" + probe_does + "\n");
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  }

  [[nodiscard]] Query query(Duration deadline = Duration(20'000)) const {
    return {{{"LD_LIBRARY_PATH", path("lib")}, {"SAFELAUNCH_PROBE_PROGRAM", path("probe")}},
            deadline};
  }
};

const std::string kOneGpu =
    R"(echo '{"driver": "580.95.05"}'; echo '{"gpu": {"uuid": "GPU-1", "used_mib": 5, "health": "well"}}'; echo '{"done": true}')";

/// The value that the io_context brings, once it has brought it.
template <class Value, class Start>
Value awaited(Start start) {
  boost::asio::io_context io;
  launch::Reaper reaper(io, [](int, const ExitStatus&) {});
  std::optional<Value> result;
  const auto pending = start(io, reaper, [&](const Value& value) { result = value; });
  while (!result) io.run_one();
  return *result;
}

Facts asked_on_loop(const Query& query) {
  return awaited<Facts>(
      [&](auto& io, auto& reaper, auto take) { return Reading(io, reaper, query, take); });
}

TEST_CASE("the facts come from the probe, in both forms") {
  const Host host("test \"$1\" = gpus || exit 1; " + kOneGpu);
  for (const auto& facts : {read_gpu_facts(host.query()), asked_on_loop(host.query())}) {
    CHECK(facts.trouble == Trouble::none);
    CHECK(facts.driver == "580.95.05");
    REQUIRE(facts.gpus.size() == 1);
    CHECK(facts.gpus[0].uuid == "GPU-1");
  }
}

TEST_CASE("a driver that hangs is a fact after the deadline") {
  const Host host("echo '{\"asking\": 2}'; read -r nothing");
  const auto facts = read_gpu_facts(host.query(Duration(200)));
  CHECK(facts.trouble == Trouble::no_answer);
  CHECK(facts.why.find("does not answer within 0.2s") != std::string::npos);
}

TEST_CASE("a driver that crashes who asks it is a fact") {
  CHECK(asked_on_loop(Host("kill -SEGV $$").query()).trouble == Trouble::crashed);
}

TEST_CASE("without NVML nothing is started") {
  const Host host("touch $0.was-started; " + kOneGpu);
  std::filesystem::remove_all(host.path("lib"));
  for (const auto& facts : {read_gpu_facts(host.query()), asked_on_loop(host.query())}) {
    // On a machine with a driver its own NVML is found.
    if (facts.trouble == Trouble::none) continue;
    CHECK(facts.trouble == Trouble::no_driver);
    CHECK_FALSE(std::filesystem::exists(host.path("probe.was-started")));
  }
}

TEST_CASE("a probe that is not there is an answer too") {
  const Host host(kOneGpu);
  auto query = host.query();
  query.environment["SAFELAUNCH_PROBE_PROGRAM"] = host.path("nothing");
  CHECK(read_gpu_facts(query).trouble == Trouble::failed);
  CHECK(asked_on_loop(query).trouble == Trouble::failed);
}

Drain drained(const Query& query, const Facts& before, Duration bound) {
  return awaited<Drain>([&](auto& io, auto& reaper, auto take) {
    return DrainWait(io, reaper, query, before, take, bound);
  });
}

Facts one_idle_gpu() {
  Gpu gpu;
  gpu.uuid = "GPU-1";
  Facts facts;
  facts.gpus = {gpu};
  return facts;
}

TEST_CASE("memory that comes back after a while is waited for") {
  const Host host(R"(folder=${0%/*}; used=9000; test -e $folder/asked && used=0; : > $folder/asked
echo '{"gpu": {"uuid": "GPU-1", "health": "well", "used_mib": '$used'}}'; echo '{"done": true}')");
  CHECK(drained(host.query(), one_idle_gpu(), kDrainBound).state == Drain::State::drained);
  CHECK(std::filesystem::exists(host.path("asked")));
}

TEST_CASE("memory that does not come back is given up at the bound, with a word") {
  const Host host(
      R"(echo '{"gpu": {"uuid": "GPU-1", "health": "well", "used_mib": 9000}}'; echo '{"done": true}')");
  const auto drain = drained(host.query(), one_idle_gpu(), Duration(1));
  CHECK(drain.state == Drain::State::given_up);
  CHECK(drain.why.find("9000 MiB of GPU 0") != std::string::npos);
}

TEST_CASE("where there was no GPU nobody is asked") {
  const Host host("touch $0.was-started");
  CHECK(drained(host.query(), {}, kDrainBound).state == Drain::State::drained);
  CHECK_FALSE(std::filesystem::exists(host.path("probe.was-started")));
}

}  // namespace
}  // namespace safelaunch::gpu
