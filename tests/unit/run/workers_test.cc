#include "launcher/run/workers.h"

#include <fcntl.h>

#include <boost/asio/io_context.hpp>
#include <csignal>

#include "catch.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/output/terminal_writer.h"

using namespace safelaunch;

using namespace safelaunch::run;

namespace {

/// Workers whose output nobody sees, and the news of them.
class Job : Workers::Listener, output::JobOutput::Listener {
 public:
  Result<void> start(std::optional<Rank> rank, std::vector<std::string> argv) {
    return workers.start({rank, std::move(argv), {{"PATH", "/usr/bin:/bin"}}, {}});
  }
  Result<void> start_shell(std::optional<Rank> rank, const std::string& script) {
    return start(rank, {"sh", "-c", script});
  }
  void run_to_the_end() {
    while (all_ended == 0) REQUIRE(io.run_one_for(std::chrono::seconds(60)) > 0);
  }

  boost::asio::io_context io;
  UniqueFd nowhere{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  output::TerminalWriter terminal{io, output::inspect_streams(nowhere.get(), nowhere.get())};
  output::JobOutput output{io, terminal, {}, *this};
  launch::Reaper reaper{io, [](int, const ExitStatus&) {}};
  std::map<Rank, ProcessId> started;
  std::map<std::optional<Rank>, ExitStatus> ends;
  int all_ended = 0;
  bool ran_at_the_end = true;
  Workers workers{reaper, output, *this};

 private:
  void on_started(Rank rank, ProcessId process) override { started[rank] = process; }
  void on_exit(std::optional<Rank> rank, ProcessId, const ExitStatus& status) override {
    ends[rank] = status;
  }
  void on_key(int, launch::TerminalLoan::KeyIsFor) override {}
  void on_all_ended() override {
    ++all_ended;
    ran_at_the_end = workers.running();
  }
  void on_output(output::StreamId, std::string_view) override {}
  void on_recording_stopped(const output::RecordingLoss&) override {}
  void on_drained() override {}
};

}  // namespace

TEST_CASE("each worker's end is told, and once that all have ended", "[workers]") {
  Job job;
  REQUIRE(job.start_shell(Rank{0}, "exit 0").has_value());
  REQUIRE(job.start_shell(Rank{1}, "exit 3").has_value());
  CHECK(job.workers.running());
  job.run_to_the_end();

  CHECK(job.started.size() == 2);
  CHECK(job.ends ==
        std::map<std::optional<Rank>, ExitStatus>{{Rank{0}, Exited{0}}, {Rank{1}, Exited{3}}});
  CHECK(job.all_ended == 1);
  CHECK_FALSE(job.ran_at_the_end);
}

TEST_CASE("a launcher has no rank, and its start is no rank's", "[workers]") {
  Job job;
  REQUIRE(job.start_shell(std::nullopt, "exit 7").has_value());
  job.run_to_the_end();
  CHECK(job.started.empty());
  CHECK(job.ends.at(std::nullopt) == ExitStatus(Exited{7}));
}

TEST_CASE("a signal reaches every worker", "[workers]") {
  const auto origin = GENERATE(launch::SignalOrigin::user, launch::SignalOrigin::terminal);
  Job job;
  REQUIRE(job.start(Rank{0}, {"sleep", "600"}).has_value());
  REQUIRE(job.start(Rank{1}, {"sleep", "600"}).has_value());
  job.workers.send(SIGTERM, origin);
  job.run_to_the_end();
  for (const auto& [rank, status] : job.ends) CHECK(status == ExitStatus(Signaled{SIGTERM}));
  CHECK(job.ends.size() == 2);
}

TEST_CASE("a program that cannot be started is an error, and nothing runs", "[workers]") {
  Job job;
  const Result<void> started = job.start(Rank{0}, {"/no/such/program"});
  REQUIRE(started.has_error());
  CHECK_FALSE(job.workers.running());
  CHECK(job.started.empty());
}
