// What a launcher's own words and status tell of the ranks below it.
#include <csignal>

#include "catch.h"
#include "launcher/run/attempt_record.h"
#include "safelaunch/base/format.h"
#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/diagnose/diagnosis.h"
#include "tests/unit/job/launcher_output.h"

using namespace safelaunch;

using namespace safelaunch::run;
using namespace safelaunch::testing;

namespace {

struct Words {
  output::StdStream stream;
  std::string text;
};

// What becomes of a command that has ended so, with these words on its streams.
diagnose::Evidence said(job::Launcher launcher, ExitStatus own, const std::vector<Words>& words,
                        std::map<int, Rank> pids = {}) {
  AttemptRecord record;
  record.command = own;
  record.ranks.pids = std::move(pids);
  for (const Words& one : words) record.tails.push_back({{std::nullopt, one.stream}, one.text});
  AttemptContext context;
  context.launcher = launcher;
  return make_evidence(record, context);
}

}  // namespace

TEST_CASE("a launcher's own status hides that of its ranks, unless it has told theirs",
          "[evidence]") {
  AttemptRecord record;
  record.command = Exited{1};
  AttemptContext context;
  context.launcher = job::Launcher::torchrun;
  CHECK(make_evidence(record, context).command_hides);
  for (const job::Launcher none : {job::Launcher::python, job::Launcher::opaque}) {
    context.launcher = none;
    CHECK_FALSE(make_evidence(record, context).command_hides);
  }
}

TEST_CASE("the last lines of another run's log decide no status of a command that is no launcher",
          "[evidence]") {
  for (const job::Launcher launcher : {job::Launcher::opaque, job::Launcher::python})
    for (const char* words : {kTorchrunKilled, kDeepspeedKilled, kSpawnExited, kAccelerateExited})
      for (const auto stream : {output::StdStream::out, output::StdStream::err})
        for (const ExitStatus& own : {ExitStatus(Exited{3}), ExitStatus(Signaled{SIGKILL})}) {
          const auto evidence = said(launcher, own, {{stream, words}});
          CHECK(evidence.command == own);
          CHECK_FALSE(evidence.told);
          CHECK(diagnose::exit_status_of(
                    evidence, diagnose::diagnose(evidence, diagnose::Catalogue::builtin())) ==
                shell_code(own));
        }
}

TEST_CASE("torchrun's words decide the status where it has hidden one and they are its own",
          "[evidence]") {
  using enum output::StdStream;
  const std::string block = kTorchrunKilled;  // of rank 1, pid 8725
  const std::string more = block + "a rank that lives on says this\n";
  const ExitStatus killed = Signaled{SIGKILL};
  const auto torchrun = job::Launcher::torchrun;

  CHECK(said(torchrun, Exited{1}, {{err, block}}).command == killed);
  CHECK(said(torchrun, Exited{1}, {{err, more}}, {{8725, Rank{1}}}).command == killed);
  CHECK(said(torchrun, Exited{1}, {{out, block}}).command == killed);  // 2>&1: one stream for both
  // Not its own: no such process was seen, and others have spoken since; or it is the wrong stream.
  CHECK(said(torchrun, Exited{1}, {{err, more}}, {{8724, Rank{1}}}).command ==
        ExitStatus(Exited{1}));
  CHECK(said(torchrun, Exited{1}, {{out, block}, {err, "usage: torchrun\n"}}, {{8725, Rank{1}}})
            .command == ExitStatus(Exited{1}));
  // It has hidden nothing.
  CHECK(said(torchrun, Exited{2}, {{err, block}}, {{8725, Rank{1}}}).command ==
        ExitStatus(Exited{2}));
  CHECK(said(torchrun, Signaled{SIGTERM}, {{err, block}}, {{8725, Rank{1}}}).command ==
        ExitStatus(Signaled{SIGTERM}));
}

TEST_CASE("a rank that an elastic agent ended for a rescale did not fail when the agent then does",
          "[evidence][bug]") {
  const auto rescaled = [](int told, ExitStatus end) {
    AttemptRecord record;
    record.command = Exited{1};
    record.verdict = Failure{.kind = FailureKind::rank_died};
    record.ranks.exits = {{Rank{0}, {.pid = 24}, end}};
    record.ranks.late_exits = {{Rank{1}, {.pid = 25}, Signaled{SIGTERM}}};
    record.tails = {{{std::nullopt, output::StdStream::err},
                     fmt::format("W1127 api.py:1028] Sending process {} closing signal SIGTERM\n"
                                 "torch.distributed.DistStoreError: wait timeout after 6000ms\n",
                                 told)}};
    AttemptContext context;
    context.launcher = job::Launcher::torchrun;
    const diagnose::Evidence evidence = make_evidence(record, context);
    CHECK(evidence.failure.ended.size() + evidence.ended_in_stop.size() == 2);  // none is lost
    const diagnose::Diagnosis found = diagnose::diagnose(evidence, diagnose::catalogue());
    return std::pair(found.failure.first, diagnose::exit_status_of(evidence, found));
  };
  CHECK(rescaled(24, Signaled{SIGTERM}) == std::pair(std::optional<Rank>(), 1));
  CHECK(rescaled(24, Signaled{SIGSEGV}) == std::pair(std::optional(Rank{0}), 139));
  CHECK(rescaled(25, Signaled{SIGTERM}) == std::pair(std::optional(Rank{0}), 143));
}

// torch's agent ends the others when one has failed, and kills 30 s later who does not heed it.
TEST_CASE("a rank that the launcher killed as it did not heed its signal did not fail first",
          "[evidence][bug]") {
  AttemptRecord record;
  record.command = Exited{1};
  record.verdict = Failure{.kind = FailureKind::raised};
  record.ranks.raised = {{Rank{0},
                          {},
                          "RuntimeError",
                          "[gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 15000ms for "
                          "recv operation to complete",
                          "",
                          true}};
  record.ranks.exits = {{Rank{0}, {.pid = 24}, Exited{1}},
                        {Rank{1}, {.pid = 25}, Signaled{SIGKILL}}};
  record.tails = {
      {{std::nullopt, output::StdStream::err},
       "W1127 api.py:1028] Sending process 25 closing signal SIGTERM\n"
       "W1127 api.py:1047] Unable to shutdown process 25 via 15, forcefully exiting via "
       "9\n"}};
  record.standstill = "no collective finished for 12s; rank 1 is behind";
  AttemptContext context;
  context.launcher = job::Launcher::torchrun;
  const diagnose::Evidence evidence = make_evidence(record, context);
  const diagnose::Diagnosis found = diagnose::diagnose(evidence, diagnose::catalogue());
  CHECK(found.failure.first == Rank{0});
  CHECK(found.failure.cause == "gloo-timeout");
  CHECK(diagnose::exit_status_of(evidence, found) == 1);
  CHECK(found.failure.explanation.find("Training had stood still: no collective finished for 12s; "
                                       "rank 1 is behind.") != std::string::npos);
}

TEST_CASE("deepspeed's words tell only which of two things its own status means", "[evidence]") {
  using enum output::StdStream;
  const auto deepspeed = job::Launcher::deepspeed;
  CHECK(said(deepspeed, Exited{247}, {{out, kDeepspeedKilled}}).told);
  CHECK(said(deepspeed, Exited{247}, {{out, kDeepspeedKilled}}).command ==
        ExitStatus(Signaled{SIGKILL}));
  CHECK(said(deepspeed, Exited{1}, {{out, kDeepspeedKilled}}).command == ExitStatus(Exited{1}));
  CHECK(said(deepspeed, Exited{1}, {{err, kAccelerateExited}}).command == ExitStatus(Exited{1}));
}

TEST_CASE("what a tool of deepspeed's ends with is not deepspeed's status", "[evidence]") {
  const auto evidence =
      said(job::Launcher::deepspeed, Exited{1},
           {{output::StdStream::err,
             "subprocess.CalledProcessError: Command '['ssh', 'a', 'true']' returned "
             "non-zero exit status 255.\n"}});
  CHECK(diagnose::exit_status_of(
            evidence, diagnose::diagnose(evidence, diagnose::Catalogue::builtin())) == 1);
}

TEST_CASE("accelerate's word on its one process counts while nothing stands behind it",
          "[evidence]") {
  using enum output::StdStream;
  const auto accelerate = job::Launcher::accelerate;
  CHECK(said(accelerate, Exited{1}, {{err, kAccelerateExited}}).command == ExitStatus(Exited{3}));
  CHECK(
      said(accelerate, Exited{1}, {{err, std::string(kAccelerateExited) + "error: no such file\n"}})
          .command == ExitStatus(Exited{1}));
}

TEST_CASE("another run's words before its own do not hide accelerate's status", "[evidence][bug]") {
  const std::string old_log = std::string(kTorchrunKilled) + "the end of the old log\n";
  const auto told = said(job::Launcher::accelerate, Exited{1},
                         {{output::StdStream::err, old_log + kAccelerateExited}});
  CHECK(told.command == ExitStatus(Exited{3}));
}
