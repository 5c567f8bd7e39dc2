#include "launcher/run/run_voice.h"

#include <fcntl.h>

#include <boost/asio/io_context.hpp>

#include "catch.h"
#include "unit/output/plumbing.h"

using namespace safelaunch;
using namespace safelaunch::plan;
using namespace safelaunch::run;
using Catch::Matchers::ContainsSubstring;
using safelaunch::testing::make_pipe;
using safelaunch::testing::Plumbing;

namespace {

/// The words of a run.
struct Spoken {
  boost::asio::io_context io;
  Plumbing pipe = make_pipe();
  output::StandardStreams streams = output::inspect_streams(pipe.writer.get(), pipe.writer.get());
  output::TerminalWriter terminal{io, streams};
  RunPlan plan;
  report::RunSummary summary;
  RunVoice voice{plan, terminal, summary};

  Spoken() {
    report::AttemptSummary attempt;
    attempt.number = 2;
    attempt.profile = "basic";
    summary.attempts.push_back(attempt);
  }
  [[nodiscard]] std::string text() { return pipe.read(); }
};

AttemptRecord saying(const std::string& words, std::optional<Rank> rank = {}) {
  AttemptRecord record;
  record.tails = {{{rank, output::StdStream::err}, words}};
  return record;
}

const std::string kWords = "Traceback (most recent call last):\nValueError: no such file\n";

}  // namespace

TEST_CASE("with --quiet only what the run fails for is said", "[run_voice]") {
  Spoken run;
  run.plan.options.verbosity = Verbosity::quiet;
  run.voice.say("a line");
  CHECK(run.text().empty());
  run.voice.tell_error("no port");
  CHECK(run.text() == "safelaunch: no port\n");
}

TEST_CASE("with --verbose each attempt is told with its profile, port and record", "[run_voice]") {
  Spoken run;
  run.voice.tell_of_start(1, "basic", 29500, "/runs/7/attempt-1");
  CHECK(run.text().empty());
  run.plan.options.verbosity = Verbosity::verbose;
  run.voice.tell_of_start(1, "basic", 29500, "/runs/7/attempt-1");
  run.voice.tell_of_start(2, "no-shm", std::nullopt, "");
  CHECK(run.text() ==
        "safelaunch: attempt 1: profile basic, port 29500, record in /runs/7/attempt-1\n"
        "safelaunch: attempt 2: profile no-shm\n");
}

TEST_CASE("with --verbose profiles that are passed over for one reason are told together",
          "[run_voice]") {
  Spoken run;
  NextStep step;
  step.struck_out = {{"no-shm", "no GPU"}, {"gloo", "asks for gloo"}, {"no-p2p", "no GPU"}};
  run.voice.tell_of_struck_out(step);
  CHECK(run.text().empty());
  run.plan.options.verbosity = Verbosity::verbose;
  run.voice.tell_of_struck_out(step);
  CHECK(run.text() ==
        "safelaunch: skipping no-shm, no-p2p: no GPU\nsafelaunch: skipping gloo: asks for gloo\n");
}

TEST_CASE("the rank that failed first has the last word", "[run_voice]") {
  Spoken run;
  diagnose::Diagnosis diagnosis;
  diagnosis.failure.first = Rank{1};
  run.voice.tell_of_first_failure(saying(kWords, Rank{1}), diagnosis);
  const std::string text = run.text();
  CHECK_THAT(text, ContainsSubstring("rank 1 failed first. Its last output:"));
  CHECK_THAT(text, ContainsSubstring("ValueError: no such file"));
}

TEST_CASE("another rank's words are not taken for those of the first", "[run_voice]") {
  Spoken run;
  diagnose::Diagnosis diagnosis;
  diagnosis.failure.first = Rank{1};
  run.voice.tell_of_first_failure(saying(kWords, Rank{0}), diagnosis);
  CHECK(run.text().empty());
}

TEST_CASE("of a job that was stuck, stopped, or has told all itself nothing failed first",
          "[run_voice]") {
  Spoken run;
  AttemptRecord record = saying(kWords);
  diagnose::Diagnosis diagnosis;
  SECTION("stuck") {
    diagnosis.failure.kind = FailureKind::hung;
  }
  SECTION("stopped") {
    record.signal = 15;
  }
  SECTION("told by itself") {
    run.summary.attempts.back().told_by_itself = true;
  }
  run.voice.tell_of_first_failure(record, diagnosis);
  CHECK(run.text().empty());
}

TEST_CASE("of many processes that were left running five are named", "[run_voice]") {
  Spoken run;
  std::vector<launch::Swept> swept;
  for (int pid = 71; pid < 78; ++pid) {
    swept.emplace_back();
    swept.back().pid = pid;
    swept.back().name = "daemon";
  }
  run.voice.tell_of_swept(swept);
  const std::string text = run.text();
  CHECK_THAT(text, ContainsSubstring("daemon (pid 75) and 2 more"));
  CHECK_THAT(text, !ContainsSubstring("pid 76"));
}

TEST_CASE("a process that does not end is a warning", "[run_voice]") {
  Spoken run;
  launch::Survivor survivor{};
  survivor.pid = 71;
  survivor.state = 'D';
  run.voice.tell_of_survivors({survivor});
  CHECK(run.text() == "safelaunch: warning: pid 71 was killed and does not end (state D)\n");
}

namespace {

/// The words of a run about output that went to `file` and to a stderr that is read.
std::string told_of_output_to(const char* file, Logs logs, Verbosity verbosity, int& status) {
  Spoken run;
  const UniqueFd out(::open(file, O_WRONLY | O_CLOEXEC));
  output::StandardStreams streams = output::inspect_streams(out.get(), run.pipe.writer.get());
  output::TerminalWriter terminal(run.io, streams);
  run.plan.options.verbosity = verbosity;
  run.summary.directory = "/runs/7";
  RunVoice voice(run.plan, terminal, run.summary);
  terminal.write_job(output::StdStream::out, "trained\n");
  voice.tell_of_lost_output(logs);
  status = status_with(0, terminal.lost());
  CHECK(status_with(3, terminal.lost()) == 3);
  return run.text();
}

}  // namespace

TEST_CASE("output that a full disk did not take is told with the true reason, and is no success",
          "[run_voice]") {
  int status = 0;
  CHECK(told_of_output_to("/dev/full", Logs::whole, Verbosity::quiet, status) ==
        "safelaunch: 8 bytes of the output were not written: No space left on device; they are in "
        "the logs: /runs/7\n");
  CHECK(status == 74);
  CHECK(told_of_output_to("/dev/full", Logs::cut, Verbosity::normal, status) ==
        "safelaunch: 8 bytes of the output were not written: No space left on device\n");
  CHECK(told_of_output_to("/dev/null", Logs::whole, Verbosity::normal, status).empty());
  CHECK(status == 0);
}

TEST_CASE("our own words that a full disk did not take are no failure of the job", "[run_voice]") {
  boost::asio::io_context io;
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  const Plumbing pipe = make_pipe();
  output::TerminalWriter terminal(io, output::inspect_streams(pipe.writer.get(), full.get()));
  terminal.write_message("a warning");
  CHECK(terminal.lost().refusal == "No space left on device");
  CHECK(status_with(0, terminal.lost()) == 0);
}

TEST_CASE("output whose reader has gone is told, and the run is a success", "[run_voice]") {
  output::ignore_output_signals();
  Spoken run;
  Plumbing gone = make_pipe();
  output::StandardStreams streams =
      output::inspect_streams(gone.writer.get(), run.pipe.writer.get());
  output::TerminalWriter terminal(run.io, streams);
  RunVoice voice(run.plan, terminal, run.summary);
  gone.reader.reset();
  terminal.write_job(output::StdStream::out, "trained\n");
  voice.tell_of_lost_output(Logs::whole);
  CHECK(run.text() ==
        "safelaunch: warning: 8 bytes of the output were not shown, because nothing read them\n");
  CHECK(status_with(0, terminal.lost()) == 0);
}

TEST_CASE("logs that are found cut at the end are named with the reason", "[run_voice]") {
  Spoken run;
  run.voice.tell_of_lost_logs({{"/logs/rank-0.out", "No space left on device", 5}});
  CHECK(run.text() ==
        "safelaunch: warning: /logs/rank-0.out is not complete: No space left on device\n");
}

TEST_CASE("the end of a run is told where there is anything to tell", "[run_voice]") {
  Spoken run;
  run.voice.tell_end();
  CHECK(run.text().empty());
  run.summary.attempts.back().failure = Failure{.kind = FailureKind::hung};
  run.summary.exit_code = 124;
  run.voice.tell_end();
  CHECK_THAT(run.text(), ContainsSubstring("safelaunch: "));
}

TEST_CASE("with --json the object is the last word, also of a healthy run", "[run_voice]") {
  Spoken run;
  run.plan.options.json = true;
  run.voice.tell_end();
  CHECK(report::read_outcome(run.text()).has_value());
}
