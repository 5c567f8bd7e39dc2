#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "recorded_runs.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/host/process_facts.h"
#include "safelaunch/launch/pidfd.h"
#include "verb_wishes.h"
#include "verbs.h"

// `stop` does what Ctrl-C in the job's terminal does, for a job that runs under nohup or elsewhere.
// It signals only the safelaunch of a recorded run: a descriptor holds the process before its start
// time is compared, so no other process can get the signal.
namespace safelaunch::cli {
namespace {

Result<UniqueFd> hold(const report::RunLine& line) {
  UniqueFd process(launch::pidfd::open(line.process.pid));
  const auto facts = host::facts_of(line.process);
  if (!process || !facts) return not_running(line);
  if (facts->uid != geteuid())
    return Error{Errc::usage,
                 fmt::format("run {} is another user's (pid {})", line.run.id, line.process.pid)};
  return process;
}

Result<void> send(const UniqueFd& process, int signal, const report::RunLine& line) {
  if (launch::pidfd::send_signal(process.get(), signal) || errno == ESRCH) return {};
  return Error{Errc::os, fmt::format("run {} (pid {}) cannot be signalled: {}", line.run.id,
                                     line.process.pid, strerror(errno))};
}

// A run takes a second signal that comes at once for the echo of the first, so the next one waits
// for longer than that.
constexpr int kInsistsEvery = 500;  // milliseconds
constexpr int kForEver = -1;

bool has_ended_within(const UniqueFd& process, int milliseconds) {
  pollfd end{process.get(), POLLIN, 0};
  return ::poll(&end, 1, milliseconds) == 1;
}

Result<std::string> stop(const std::string& named, bool now) {
  const Result<std::filesystem::path> directory = report::find_run(named, places_of_runs());
  if (!directory) return directory.error();
  const report::KnownRun run{report::recorded_id(*directory), *directory, *directory, {}};
  const report::RunLine line = line_of(run);
  if (line.state != report::RunRecord::State::running) return not_running(line);
  const Result<UniqueFd> process = hold(line);
  if (!process) return process.error();
  do {
    if (const Result<void> sent = send(*process, SIGTERM, line); !sent) return sent.error();
  } while (!has_ended_within(*process, now ? kInsistsEvery : kForEver));
  return tr("run {} has ended: {}", line.run.id, tr(report::end_in_words(line_of(run)))) + "\n";
}

constexpr std::array kStopOptions{
    settings::Option{.name = "now",
                     .put = settings::put_into<&StopWords::now>,
                     .help = "ask again, as a second TERM does, which ends everything at once"},
};

int stop_run(const StopWords& given, const std::vector<std::string>& rest) {
  if (rest.empty()) return refuse(no_run_named("stop", lines_of_running()));
  const Result<std::string> stopped = stop(rest.front(), given.now);
  return stopped ? answer(*stopped) : refuse(stopped.error());
}

}  // namespace

Error no_run_named(std::string_view verb, std::span<const report::RunLine> running) {
  if (running.empty())
    return {Errc::usage, fmt::format("{} needs a run, and no job of yours runs", verb)};
  std::vector<std::string> ids;
  for (const report::RunLine& line : running) ids.push_back(line.run.id);
  return {Errc::usage, fmt::format("{} needs a run; these run: {}", verb, join(ids, ", "))};
}

const Verb kStopVerb{
    .name = "stop",
    .function = reads<StopWords, stop_run>,
    .help = "RUN: end a running job of yours in order, as TERM does",
    .usage = "RUN [OPTIONS]",
    .purpose =
        "Ends a running job of yours as TERM to safelaunch does, and waits until it has ended: "
        "the ranks may save first, for as long as they need. RUN is an id from `safelaunch runs`, "
        "or a part of one that no other id has.",
    .example = "safelaunch stop a1b2c3",
    .options = kStopOptions,
    .takes = "run"};

}  // namespace safelaunch::cli
