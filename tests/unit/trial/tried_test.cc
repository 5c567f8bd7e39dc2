#include "safelaunch/trial/tried.h"

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::trial;

namespace {

const std::string kAllSteps =
    R"({"attempt": 1, "step": "import", "seconds": 1.5}
{"attempt": 1, "step": "device", "seconds": 0.1, "device": "cpu"}
{"attempt": 1, "step": "group", "seconds": 0.2, "backend": "gloo"}
{"attempt": 1, "step": "all_reduce", "seconds": 0.01}
)";
const std::string kImportAlone = R"({"attempt": 1, "step": "import", "seconds": 2}
)";

report::RunSummary outcome(int status, std::optional<Failure> failure = std::nullopt) {
  report::RunSummary summary;
  summary.run_id = "20261123-000000-abcdef";
  summary.exit_code = status;
  report::AttemptSummary attempt;
  attempt.profile = "basic";
  attempt.failure = std::move(failure);
  summary.attempts.push_back(std::move(attempt));
  return summary;
}

Tried works(Backend backend, int attempts = 1) {
  Tried tried;
  tried.scene = {.backend = backend, .ranks = 2};
  tried.works = true;
  tried.attempts = attempts;
  tried.profile = attempts > 1 ? "no-shm" : "basic";
  return tried;
}

Tried fails(Backend backend) {
  Tried tried = works(backend);
  tried.works = false;
  tried.stopped_at = "group";
  return tried;
}

Tried hangs(Backend backend) {
  Tried tried = fails(backend);
  tried.hung = true;
  return tried;
}

Tried absent(Backend backend, bool lacks_package, bool is_asked_for = false) {
  Tried tried;
  tried.scene = {.backend = backend,
                 .is_asked_for = is_asked_for,
                 .lacks_package = lacks_package,
                 .absent = "it is not here"};
  return tried;
}

Conclusion conclusion(std::vector<Tried> tried, bool blocked = false) {
  return conclude(tried, blocked);
}

}  // namespace

TEST_CASE("a scene works where each rank has done each step and the run ended well", "[trial]") {
  const Tried tried = judge({}, {{kAllSteps, kAllSteps}, outcome(0), ""});
  CHECK(tried.works);
  CHECK(tried.done.size() == 4);
  CHECK(tried.stopped_at.empty());
  CHECK(tried.device == "cpu");
}

TEST_CASE("the step that one rank has not done is the one at which the scene stopped", "[trial]") {
  Failure failure{.kind = FailureKind::hung};
  const Tried tried = judge({}, {{kAllSteps, kImportAlone}, outcome(124, failure), ""});
  CHECK_FALSE(tried.works);
  CHECK(tried.hung);
  REQUIRE(tried.done.size() == 1);
  CHECK(tried.done.front().took == Duration(2'000));  // of the slower rank
  CHECK(tried.stopped_at == "device");
}

TEST_CASE("a step with an error is not done, and its words are kept", "[trial]") {
  const std::string broken = R"({"attempt": 1, "step": "import", "trouble": "ImportError: no"})";
  const Tried tried = judge({}, {{kImportAlone, broken}, outcome(1, Failure{}), ""});
  CHECK(tried.stopped_at == "import");
  CHECK(tried.trouble == "rank 1: ImportError: no");
  CHECK_FALSE(tried.hung);
}

TEST_CASE("steps of an attempt before the last do not count", "[trial]") {
  const std::string second = kAllSteps + R"({"attempt": 2, "step": "import", "seconds": 1})";
  const Tried tried = judge({}, {{second, second}, outcome(1, Failure{}), ""});
  CHECK(tried.done.size() == 1);
  CHECK(tried.stopped_at == "device");
}

TEST_CASE("a run that was all done and then failed does not work", "[trial]") {
  const Tried tried = judge({}, {{kAllSteps, kAllSteps}, outcome(1, Failure{}), ""});
  CHECK_FALSE(tried.works);
  CHECK(tried.stopped_at.empty());
}

TEST_CASE("a run that a check of the host forbids has started nothing and says why", "[trial]") {
  report::RunSummary refused = outcome(75);
  refused.attempts.clear();
  refused.stopped_because = "blocked: there is no way to 127.0.0.1";
  const Tried tried = judge({}, {{"", ""}, refused, ""});
  CHECK(tried.blocked);
  CHECK(tried.stopped_at == "start");
  CHECK(tried.trouble == "blocked: there is no way to 127.0.0.1");
}

TEST_CASE("a run that wrote no outcome says its last words", "[trial]") {
  const Tried tried = judge({}, {{"", ""}, std::nullopt, "exit status 78: safelaunch.yaml:1:1"});
  CHECK_FALSE(tried.works);
  CHECK(tried.trouble == "exit status 78: safelaunch.yaml:1:1");
}

TEST_CASE("torn lines of a rank are no steps", "[trial]") {
  const Tried tried = judge({}, {{R"({"attempt": 1, "st)", "\xff[1]\n3\n"}, outcome(1), ""});
  CHECK(tried.done.empty());
}

TEST_CASE("the conclusion names what works, and the line of the best of it", "[trial]") {
  const auto both =
      conclusion({absent(Backend::nccl, false), works(Backend::gloo), works(Backend::jax)});
  CHECK(both.sentence == "gloo and JAX work on this host");
  CHECK(both.use == "safelaunch torchrun --nproc_per_node=2 train.py");
  CHECK(both.status == 0);

  const auto jax = conclusion({works(Backend::jax)});
  CHECK(jax.sentence == "JAX works on this host");
  CHECK(jax.use == "safelaunch --nproc-per-node 2 train.py");
}

TEST_CASE("where NCCL fails and gloo works the line takes gloo", "[trial]") {
  const auto mixed = conclusion({fails(Backend::nccl), works(Backend::gloo)});
  CHECK(mixed.sentence == "gloo works; NCCL does not");
  CHECK(mixed.use == "safelaunch --profile gloo-fallback torchrun --nproc_per_node=2 train.py");
  CHECK(mixed.status == 1);
}

TEST_CASE("a profile that was needed stands in the line", "[trial]") {
  CHECK(conclusion({works(Backend::nccl, 2), works(Backend::gloo)}).use ==
        "safelaunch --profile no-shm torchrun --nproc_per_node=2 train.py");
}

TEST_CASE("a backend that leaves the GPUs alone is told, though it works", "[trial]") {
  Tried jax = works(Backend::jax);
  jax.scene.on_gpus = true;
  jax.device = "cpu";
  CHECK(conclusion({jax}).sentence ==
        "JAX works on this host; JAX uses the CPU alone, though GPUs are here");
  jax.device = "NVIDIA H100 80GB HBM3";
  CHECK(conclusion({jax}).sentence == "JAX works on this host");
}

TEST_CASE("ranks that work and a check that forbids a run are both told", "[trial]") {
  CHECK(conclusion({works(Backend::gloo)}, true).sentence ==
        "gloo works on this host; a finding above would stop a run");
}

TEST_CASE("the status tells a failure from hangs, blocks and nothing tried", "[trial]") {
  CHECK(conclusion({hangs(Backend::gloo), works(Backend::jax)}).status == 124);
  CHECK(conclusion({hangs(Backend::gloo), fails(Backend::jax)}).status == 1);
  CHECK(conclusion({works(Backend::gloo)}, true).status == 75);
  Tried blocked = fails(Backend::gloo);
  blocked.blocked = true;
  CHECK(conclusion({blocked}).status == 75);
  CHECK(conclusion({works(Backend::gloo), absent(Backend::jax, true)}).status == 0);
  CHECK(conclusion({works(Backend::gloo), absent(Backend::jax, true, true)}).status == 69);
}

TEST_CASE("a Python without any of the packages is told, and how another is tested", "[trial]") {
  const auto none = conclusion({absent(Backend::gloo, true), absent(Backend::jax, true)});
  CHECK(none.sentence == "nothing could be tried but the host itself");
  CHECK(none.use == "safelaunch test -- PYTHON, with the Python of your training");
  CHECK(none.status == 69);
  CHECK(conclusion({absent(Backend::nccl, false)}).use.empty());
}
