// The words of real programs: eight versions of NCCL, torch 2.13 under its launchers.
#include "catch.h"
#include "safelaunch/diagnose/explain.h"
#include "test_data.h"

using namespace safelaunch;

using namespace safelaunch::diagnose;
using safelaunch::testing::data;
using safelaunch::testing::scenes;

namespace {

std::string cause_of_log(const std::string& log) {
  const auto found = read_log(log, Catalogue::builtin());
  return found.empty() ? "none" : found.front().cause->id;
}

}  // namespace

TEST_CASE("the cause is named first in the transcripts of eight NCCL versions", "[transcripts]") {
  const std::string version =
      GENERATE("2.18.5", "2.21.5", "2.24.3", "2.26.5", "2.27.7", "2.28.9", "2.29.7", "2.30.7");
  const auto all = scenes("nccl/" + version + ".log");
  const bool writes_no_line = version == "2.18.5";  // SIGBUS is all that it leaves
  const std::map<std::string, std::string> expected = {
      {"ok", "none"},
      {"ok-cumem", "none"},
      {"duplicate-gpu", "duplicate-gpu"},
      {"no-such-interface", "ifname-missing"},
      {"no-such-net", "net-missing"},
      {"missing-rank-1", "rank-missing"},
      {"nranks-differ", "world-size-mismatch"},
      {"duplicate-rank", "duplicate-rank"},
      {"rank0-died", "connect-failed"},
      {"shm-small", writes_no_line ? "none" : "shm-small"},
      {"shm-small-and-shm-off", writes_no_line ? "none" : "shm-small"},
  };
  for (const auto& [scene, cause] : expected) {
    INFO(version << " " << scene);
    REQUIRE(all.contains(scene));
    CHECK(cause_of_log(all.at(scene)) == cause);
  }
}

TEST_CASE("the rank that never came to NCCL is named where NCCL tells the others",
          "[transcripts]") {
  for (const char* version : {"2.24.3", "2.27.7", "2.30.7"}) {
    const auto all = scenes("nccl/" + std::string(version) + ".log");
    const auto found = read_log(all.at("missing-rank-1"), Catalogue::builtin());
    CHECK(found.at(0).line == "1 of 3 ranks never came to NCCL: rank 1");
  }
}

TEST_CASE("the cause is named first in what torch 2.13 and its launchers print", "[transcripts]") {
  const std::map<std::string, std::string> expected = {
      {"torchrun-nccl", "nccl-not-built"},
      {"deepspeed-nccl", "nccl-not-built"},
      {"accelerate-nccl", "nccl-not-built"},
      {"spawn-nccl", "nccl-not-built"},
      {"chained", "nccl-not-built"},
      {"torchrun-device-id", "nccl-not-built"},
      {"torchrun-zero-division", "user-exception"},
      {"torchrun-zero-division-early", "user-exception"},
      {"deepspeed-zero-division", "user-exception"},
      {"accelerate-zero-division", "user-exception"},
      {"spawn-zero-division", "user-exception"},
      {"dataloader", "user-exception"},
      {"torchrun-oom", "gpu-held"},
      {"torchrun-store-timeout", "store-timeout"},
      {"torchrun-collective-timeout", "gloo-timeout"},
      {"connect-refused", "connect-failed"},
      {"torchrun-port-taken", "port-taken"},
      {"deepspeed-port-taken", "port-taken"},
      {"accelerate-port-taken", "port-taken"},
      {"python-port-taken", "port-taken"},
      {"deepspeed-no-gpu", "no-gpu"},
      {"jax-missing", "jax-barrier"},
      {"torchrun-peer-sigkill", "host-oom"},
  };
  for (const auto& [file, cause] : expected) {
    INFO(file);
    CHECK(cause_of_log(data("launchers/" + file + ".txt")) == cause);
  }
}
