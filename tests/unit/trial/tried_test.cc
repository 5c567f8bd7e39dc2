#include "safelaunch/trial/tried.h"

#include <array>

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

TEST_CASE("a rank that is ended in its import, since another's device failed, stops nothing",
          "[trial][bug]") {
  const std::string failed =
      kImportAlone + R"({"attempt": 1, "step": "device", "trouble": "RuntimeError: no CUDA"})";
  const Tried tried = judge({.ranks = 3}, {{"", failed, kImportAlone}, outcome(1, Failure{}), ""});
  CHECK(tried.done.size() == 1);
  CHECK(tried.stopped_at == "device");
  CHECK(tried.trouble == "rank 1: RuntimeError: no CUDA");
  const std::array<int, 1> fewer{2};
  CHECK(with_fewer_ranks(tried, fewer).size() == 1);
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
  refused.stopped_because = "blocked: there is no route to 127.0.0.1";
  const Tried tried = judge({}, {{"", ""}, refused, ""});
  CHECK(tried.blocked);
  CHECK(tried.stopped_at == "start");
  CHECK(tried.trouble == "blocked: there is no route to 127.0.0.1");
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

namespace {

/// The fate of a backend, by one letter: works, fails, hangs, blocked, absent.
Tried tried_as(Backend backend, char state) {
  switch (state) {
    case 'w': return works(backend);
    case 'f': return fails(backend);
    case 'h': return hangs(backend);
    case 'a': return absent(backend, false);
    default: break;
  }
  Tried blocked = fails(backend);
  blocked.blocked = true;
  return blocked;
}

}  // namespace

TEST_CASE("each outcome of NCCL beside each of gloo has its sentence, its line and its status",
          "[trial]") {
  const std::string plain = "safelaunch torchrun --nproc_per_node=2 train.py";
  const std::string over_gloo =
      "safelaunch --profile gloo-fallback torchrun --nproc_per_node=2 train.py";
  const std::string neither = "NCCL and gloo do not work on this host";
  struct Row {
    const char* states;  ///< the fates of NCCL, then of gloo
    std::string sentence;
    std::string use;
    int status;
  };
  for (const Row& row : {
           Row{"ww", "NCCL and gloo work on this host", plain, 0},
           Row{"wf", "NCCL works; gloo does not", plain, 1},
           Row{"wh", "NCCL works; gloo does not", plain, 124},
           Row{"wb", "NCCL works; gloo does not", plain, 75},
           Row{"wa", "NCCL works on this host", plain, 0},
           Row{"fw", "gloo works; NCCL does not", over_gloo, 1},
           Row{"ff", neither, "", 1},
           Row{"fh", neither, "", 1},
           Row{"fb", neither, "", 1},
           Row{"fa", "NCCL does not work on this host", "", 1},
           Row{"hw", "gloo works; NCCL does not", over_gloo, 124},
           Row{"hf", neither, "", 1},
           Row{"hh", neither, "", 124},
           Row{"hb", neither, "", 124},
           Row{"ha", "NCCL does not work on this host", "", 124},
           Row{"bw", "gloo works; NCCL does not", over_gloo, 75},
           Row{"bf", neither, "", 1},
           Row{"bh", neither, "", 124},
           Row{"bb", neither, "", 75},
           Row{"ba", "NCCL does not work on this host", "", 75},
           Row{"aw", "gloo works on this host", plain, 0},
           Row{"af", "gloo does not work on this host", "", 1},
           Row{"ah", "gloo does not work on this host", "", 124},
           Row{"ab", "gloo does not work on this host", "", 75},
           Row{"aa", "nothing could be tried but the host itself", "", 69},
       }) {
    INFO(row.states);
    const Conclusion end = conclusion(
        {tried_as(Backend::nccl, row.states[0]), tried_as(Backend::gloo, row.states[1])});
    CHECK(end.sentence == row.sentence);
    CHECK(end.use == row.use);
    CHECK(end.status == row.status);
  }
}

TEST_CASE("the line is that of the first backend that works, torch's before the others",
          "[trial]") {
  CHECK(conclusion({works(Backend::deepspeed), works(Backend::jax)}).use ==
        "safelaunch deepspeed train.py");
  CHECK(conclusion({fails(Backend::deepspeed), works(Backend::jax)}).use ==
        "safelaunch --nproc-per-node 2 train.py");
  CHECK(conclusion({fails(Backend::nccl), fails(Backend::gloo), works(Backend::deepspeed)}).use ==
        "safelaunch deepspeed train.py");
  CHECK(conclusion({works(Backend::jax), works(Backend::gloo)}).use ==
        "safelaunch torchrun --nproc_per_node=2 train.py");
}

TEST_CASE("each line names the profile that made its backend work", "[trial]") {
  for (const auto& [backend, line] :
       {std::pair(Backend::nccl,
                  "safelaunch --profile no-shm torchrun --nproc_per_node=2 train.py"),
        std::pair(Backend::gloo,
                  "safelaunch --profile no-shm torchrun --nproc_per_node=2 train.py"),
        std::pair(Backend::deepspeed, "safelaunch --profile no-shm deepspeed train.py"),
        std::pair(Backend::jax, "safelaunch --profile no-shm --nproc-per-node 2 train.py")})
    CHECK(conclusion({works(backend, 2)}).use == line);
}

TEST_CASE("the line has as many ranks as its backend was tried with", "[trial]") {
  Tried nccl = works(Backend::nccl);
  nccl.scene.ranks = 8;
  CHECK(conclusion({nccl, works(Backend::gloo)}).use ==
        "safelaunch torchrun --nproc_per_node=8 train.py");
}

TEST_CASE("several backends on the CPU alone are told together, before what would stop a run",
          "[trial]") {
  Tried jax = works(Backend::jax);
  jax.scene.on_gpus = true;
  jax.device = "cpu";
  Tried deepspeed = jax;
  deepspeed.scene.backend = Backend::deepspeed;
  CHECK(conclusion({deepspeed, jax}, true).sentence ==
        "DeepSpeed and JAX work on this host; DeepSpeed and JAX use the CPU alone, though GPUs are "
        "here; a finding above would stop a run");
  jax.works = false;
  CHECK(conclusion({jax}).sentence == "JAX does not work on this host");
}

TEST_CASE("a check of the host that forbids a run decides only where nothing failed or hung",
          "[trial]") {
  CHECK(conclusion({fails(Backend::gloo)}, true).status == 1);
  CHECK(conclusion({hangs(Backend::gloo)}, true).status == 124);
  CHECK(conclusion({absent(Backend::gloo, true)}, true).status == 75);
}

TEST_CASE("a backend that was asked for and is not here takes the success, not a failure",
          "[trial]") {
  const Tried asked = absent(Backend::nccl, false, true);
  CHECK(conclusion({asked, works(Backend::gloo)}).status == 69);
  CHECK(conclusion({asked, works(Backend::gloo)}).use ==
        "safelaunch torchrun --nproc_per_node=2 train.py");
  CHECK(conclusion({asked, fails(Backend::gloo)}).status == 1);
  CHECK(conclusion({asked, hangs(Backend::gloo)}).status == 124);
}

TEST_CASE("another Python is the advice only where every backend lacks its package", "[trial]") {
  CHECK(conclusion({absent(Backend::gloo, true), absent(Backend::nccl, false)}).use.empty());
}

TEST_CASE("JAX's ranks meet before they know their devices", "[trial]") {
  const std::string steps = R"({"attempt": 1, "step": "import"}
{"attempt": 1, "step": "device", "device": "cpu"}
)";
  const Tried jax = judge({.backend = Backend::jax}, {{steps}, outcome(1, Failure{}), ""});
  CHECK(jax.stopped_at == "group");
  CHECK(jax.device == "cpu");
  CHECK(judge({.backend = Backend::gloo}, {{steps}, outcome(1, Failure{}), ""}).stopped_at ==
        "group");
  CHECK(judge({.backend = Backend::jax}, {{kImportAlone}, outcome(1, Failure{}), ""}).stopped_at ==
        "group");
}

TEST_CASE("each kind of hang is a hang, and a death is none", "[trial]") {
  const auto hung = [](FailureKind kind) {
    return judge({}, {{kImportAlone}, outcome(1, Failure{.kind = kind}), ""}).hung;
  };
  CHECK(hung(FailureKind::hung));
  CHECK(hung(FailureKind::stood_still));
  CHECK(hung(FailureKind::driver_silent));
  CHECK_FALSE(hung(FailureKind::rank_died));
  CHECK_FALSE(hung(FailureKind::raised));
  CHECK_FALSE(hung(FailureKind::failed));
}

TEST_CASE("the first rank's trouble is told, and its first", "[trial]") {
  const std::string two = R"({"attempt": 1, "step": "import", "trouble": "first"}
{"attempt": 1, "step": "device", "trouble": "second"}
)";
  CHECK(judge({}, {{kImportAlone, two, two}, outcome(1, Failure{}), ""}).trouble ==
        "rank 1: first");
}

TEST_CASE("trouble of an attempt before the last is forgotten", "[trial]") {
  const std::string rank = R"({"attempt": 1, "step": "import", "trouble": "no"}
{"attempt": 2, "step": "import", "seconds": 1})";
  const Tried tried = judge({}, {{rank}, outcome(0), ""});
  CHECK(tried.trouble.empty());
  CHECK(tried.done == std::vector<DoneStep>{{"import", Duration(1'000)}});
}

TEST_CASE("a rank that came no further than an earlier attempt has done nothing in the last",
          "[trial]") {
  const std::string second = R"({"attempt": 2, "step": "import"})";
  const Tried tried = judge({}, {{kAllSteps, second}, outcome(1, Failure{}), ""});
  CHECK(tried.done.empty());
  CHECK(tried.stopped_at == "import");
}

TEST_CASE("the device is that of the first rank that tells one", "[trial]") {
  const std::string silent = R"({"attempt": 1, "step": "device"})";
  CHECK(judge({}, {{silent, kAllSteps}, outcome(0), ""}).device == "cpu");
  CHECK(judge({}, {{"", ""}, outcome(0), ""}).device.empty());
}

TEST_CASE("the profile, the failure and the number of attempts are those of the last", "[trial]") {
  report::RunSummary twice = outcome(0, Failure{.kind = FailureKind::hung});
  twice.attempts.emplace_back().profile = "no-shm";
  const Tried tried = judge({}, {{kAllSteps}, twice, "", {"removed: /ext/lock"}});
  CHECK(tried.works);
  CHECK(tried.attempts == 2);
  CHECK(tried.profile == "no-shm");
  CHECK_FALSE(tried.failure);
  CHECK_FALSE(tried.hung);
  CHECK(tried.run == "20261123-000000-abcdef");
  CHECK(tried.notices == std::vector<std::string>{"removed: /ext/lock"});
}

TEST_CASE("a run that ended well without a step of any rank does not work", "[trial]") {
  const Tried tried = judge({}, {{}, outcome(0), ""});
  CHECK_FALSE(tried.works);
  CHECK(tried.stopped_at == "import");
}

TEST_CASE("a run that started nothing for another reason than a check is not blocked", "[trial]") {
  report::RunSummary refused = outcome(78);
  refused.attempts.clear();
  refused.stopped_because = "safelaunch.yaml: no such profile";
  const Tried tried = judge({}, {{kAllSteps}, refused, "exit status 78", {"a notice"}});
  CHECK_FALSE(tried.blocked);
  CHECK(tried.trouble == "safelaunch.yaml: no such profile");
  CHECK(tried.run == "20261123-000000-abcdef");
  CHECK(tried.done.empty());
}

TEST_CASE("times that cannot be are none, and fields of another type are not told", "[trial]") {
  const std::string odd = R"({"attempt": 1, "step": "import", "seconds": -3, "trouble": 7}
{"attempt": "1", "step": "device"}
{"attempt": 1, "step": ["group"]}
)";
  const Tried tried = judge({}, {{odd}, outcome(1, Failure{}), ""});
  CHECK(tried.done == std::vector<DoneStep>{{"import", Duration(0)}});
  CHECK(tried.stopped_at == "device");
  CHECK(tried.trouble.empty());
}

TEST_CASE("a backend whose ranks do not meet is tried with fewer", "[tried]") {
  Tried failed = fails(Backend::gloo);
  failed.scene.ranks = 4;
  const auto numbers = [&] {
    std::vector<int> found;
    for (const Scene& scene : with_fewer_ranks(failed, std::array{8, 4, 2, 1}))
      found.push_back(scene.ranks);
    return found;
  };
  CHECK(numbers() == std::vector{2, 1});
  failed.stopped_at = "import";  // no other number of ranks changes that
  CHECK(numbers().empty());
  failed.stopped_at = "group";
  failed.blocked = true;
  CHECK(numbers().empty());
  CHECK(with_fewer_ranks(works(Backend::gloo), std::array{1}).empty());
}

TEST_CASE("where fewer ranks work the line to use has their number", "[tried]") {
  std::vector<Tried> tried{fails(Backend::gloo)};
  tried[0].scene.ranks = 4;
  tried[0].fewer = {fails(Backend::gloo), works(Backend::gloo)};
  CHECK(conclude(tried, false).use == "safelaunch torchrun --nproc_per_node=2 train.py");
  tried[0].fewer.back().scene.ranks = 1;  // nobody trains with one rank for want of a network
  CHECK(conclude(tried, false).use.empty());
}
