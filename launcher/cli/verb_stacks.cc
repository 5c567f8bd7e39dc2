#include <unistd.h>

#include <algorithm>
#include <array>

#include "recorded_runs.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/host/process_facts.h"
#include "safelaunch/report/status.h"
#include "safelaunch/stacks/look.h"
#include "verb_wishes.h"
#include "verbs.h"

// A number is a pid first, then a part of a run's id. A pid below a safelaunch of ours means that
// run, whose ranks tell more of themselves than /proc does.
namespace safelaunch::cli {
namespace {

stacks::JobPlaces places_of_run(const report::RunLine& line) {
  std::string title = fmt::format("run {}", line.run.id);
  if (const auto status = report::read_status(line.run.directory))
    title += fmt::format(", attempt {} {}", status->attempt, status->profile);
  const auto answer = stacks::ask_supervisor(line.run.id, stacks::kSupervisorAnswersWithin);
  return stacks::look_at_run(fmt::format("{} ({})", title, report::command_in_words(line)),
                             line.process, answer ? std::optional(*answer) : std::nullopt);
}

Result<std::vector<stacks::JobPlaces>> places_of_pid(int pid, const host::ProcessFacts& facts) {
  std::vector<int> line = host::ancestors_of(pid);
  line.push_back(pid);
  for (const report::RunLine& run : lines_of_running())
    if (std::ranges::find(line, run.process.pid) != line.end())
      return std::vector{places_of_run(run)};
  if (facts.uid != geteuid())
    return Error{Errc::usage, fmt::format("pid {} is another user's; as root it can be seen: sudo "
                                          "safelaunch stacks {}",
                                          pid, pid)};
  return std::vector{stacks::look_at_process(pid)};
}

Result<std::vector<stacks::JobPlaces>> places_of_named(const std::string& named) {
  if (const auto pid = to_number(named))
    if (const auto facts = host::facts_of(*pid)) return places_of_pid(*pid, *facts);
  const Result<std::filesystem::path> directory = report::find_run(named, places_of_runs());
  if (!directory && to_number(named))
    return Error{Errc::usage, fmt::format("no process has the pid {}, and no run that id", named)};
  if (!directory) return directory.error();
  const report::RunLine line =
      line_of({report::recorded_id(*directory), *directory, *directory, {}});
  if (line.state != report::RunRecord::State::running) return not_running(line);
  return std::vector{places_of_run(line)};
}

Result<std::vector<stacks::JobPlaces>> places_of_any() {
  const std::vector<report::RunLine> running = lines_of_running();
  if (running.empty()) return stacks::look_at_all();
  if (const Result<void> one = check_only_one(running); !one) return one.error();
  return std::vector{places_of_run(running.front())};
}

constexpr std::array kStacksOptions{
    settings::Option{.name = "all",
                     .put = settings::put_into<&StacksWords::all>,
                     .help = "every thread with every frame"},
    settings::Option{.name = "tree",
                     .put = settings::put_into<&StacksWords::tree>,
                     .help = "the job's processes from the launcher down, with state and CPU",
                     .excludes = "all"},
    settings::Option{
        .name = "json", .put = settings::put_into<&StacksWords::json>, .help = "as JSON"},
};

int tell_stacks(const StacksWords& given, const std::vector<std::string>& rest) {
  if (!host::proc_can_be_believed())
    return refuse({Errc::os, "/proc shows the processes of another pid namespace"});
  auto jobs = rest.empty() ? places_of_any() : places_of_named(rest.front());
  if (!jobs) return refuse(jobs.error());
  for (stacks::JobPlaces& job : *jobs)
    if (!given.tree) job.tree.clear();
  if (given.json) return answer(stacks::places_json(*jobs));
  if (jobs->empty())
    return answer_in_prose(
        tr("no job of yours runs under safelaunch, and no process has RANK in its "
           "environment; safelaunch stacks PID looks at any other") +
        "\n");
  std::string text;
  for (const stacks::JobPlaces& job : *jobs)
    text += given.tree ? stacks::render_tree(job) : stacks::render(job, given.all);
  return answer_in_prose(text);
}

}  // namespace

Result<void> check_only_one(std::span<const report::RunLine> running) {
  if (running.size() <= 1) return {};
  std::vector<std::string> ids;
  for (const report::RunLine& line : running) ids.push_back(line.run.id);
  return Error{Errc::usage, fmt::format("{} jobs of yours run under safelaunch; say which: {}",
                                        ids.size(), join(ids, ", "))};
}

Error not_running(const report::RunLine& line) {
  return {Errc::usage,
          fmt::format("run {} does not run any more: {}; safelaunch report {} shows it",
                      line.run.id, report::end_in_words(line), line.run.id)};
}

const Verb kStacksVerb{
    .name = "stacks",
    .function = reads<StacksWords, tell_stacks>,
    .help = "[RUN|PID]: where every rank of a running job stands, now",
    .usage = "[RUN|PID] [OPTIONS]",
    .purpose =
        "Shows where every rank of a running job stands now: in its code, in the kernel, and at "
        "the store. For a job under safelaunch it asks the ranks' hooks; for any other (PID of "
        "torchrun, mpirun or python) it uses /proc, and py-spy where that is installed. Without "
        "RUN and PID it takes the one job under safelaunch, or else every process of yours with "
        "RANK in its environment. It stops and changes nothing.",
    .example = "safelaunch stacks\nsafelaunch stacks 4711",
    .options = kStacksOptions,
    .takes = "run or pid"};

}  // namespace safelaunch::cli
