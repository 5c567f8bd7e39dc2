#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <thread>

#include "job_network.h"
#include "recorded_runs.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/harmless.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/trusted_path.h"
#include "safelaunch/gpu/reader.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/host/process_facts.h"
#include "safelaunch/host/process_tree.h"
#include "safelaunch/stacks/look.h"
#include "safelaunch/stacks/question.h"
#include "safelaunch/watch/activity_sampler.h"
#include "verb_texts.h"
#include "verb_wishes.h"
#include "verbs.h"
#include "watched_screen.h"

// The record tells how far each rank of a run has come; /proc and the GPU driver tell what the
// ranks do now. The ranks that are looked at are those that the environments below safelaunch name.
// A number that the script chooses for itself (torch.multiprocessing) is in the record alone, so no
// figures are told for it. The hooks tell where the ranks stand in their code, and count the
// collectives of a training; the safelaunch that runs it asks them.
namespace safelaunch::cli {
namespace {

/// Looks at the ranks of a running job on this host, for `status`: reads /proc, asks the GPU driver
/// by a process of its own, and has the ranks' hooks asked.
class LiveRanks {
 public:
  /// Fills in what the record does not tell. The first look takes half a second, since CPU is told
  /// between two looks.
  void look(report::RunStatus& status);

 private:
  void look_once(const report::RunStatus& status);
  void tell(report::RunStatus& status) const;
  void look_at_gpus();
  void ask(const report::RunStatus& status);

  struct Seen {
    host::TreeUsage usage;
    report::RankFigures figures;
  };
  host::Procfs table_;
  watch::ActivitySampler sampler_{table_};
  std::map<ProcessId, Seen> seen_;
  std::map<int, ProcessId> ranks_;
  std::optional<TimePoint> asked_gpus_;
  std::vector<report::GpuFigures> gpus_;
  std::map<int, int> held_;  ///< pid -> MiB
  std::optional<TimePoint> asked_hooks_;
  std::map<int, std::string> places_;  ///< by rank
  struct Counted {
    TimePoint at{};
    std::int64_t most = 0;  ///< the count of the rank that has finished most
  };
  std::optional<Counted> counted_;
  std::optional<double> collectives_a_second_;
  JobNetwork network_;
};

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr auto kBetweenLooks = 500ms;
constexpr auto kHooksEvery = 10s;  // a question wakes a thread of every rank
constexpr auto kGpusEvery = 10s;   // each question is a process, and a slow driver takes a second
constexpr const char* kDriver = "/libcuda.so";

void LiveRanks::look(report::RunStatus& status) {
  const bool first = seen_.empty();
  // A rank's first answer costs it time, which would look like work.
  if (first && !stacks::ranks_below(status.process).empty()) ask(status);
  look_once(status);
  if (seen_.empty()) return;
  if (first) {
    std::this_thread::sleep_for(kBetweenLooks);
    look_once(status);
  }
  ask(status);
  look_at_gpus();
  tell(status);
}

void LiveRanks::look_once(const report::RunStatus& status) {
  std::map<ProcessId, Seen> before = std::exchange(seen_, {});
  ranks_.clear();
  std::vector<int> pids;
  for (const auto& [rank, process] : stacks::ranks_below(status.process)) {
    const TimePoint now = Clock::now();
    auto usage = host::usage_of(process, now, table_);
    if (!usage) continue;
    Seen seen{std::move(*usage), {}};
    seen.figures.pid = process.pid;
    seen.figures.memory = seen.usage.memory;
    seen.figures.children = seen.usage.children;
    if (const auto known = before.find(process); known != before.end())
      seen.figures.cpu = host::cpu_percent(known->second.usage, seen.usage);
    if (const auto activity = sampler_.look(rank, process, now))
      seen.figures.doing = fmt::format("{}: {}", name(activity->activity), activity->doing);
    pids.insert(pids.end(), seen.usage.pids.begin(), seen.usage.pids.end());
    ranks_.emplace(rank.value, process);
    seen_.emplace(process, std::move(seen));
  }
  network_.look(pids, Clock::now());
}

// A rate needs two counts; where somebody watches, later questions are rare.
void LiveRanks::ask(const report::RunStatus& status) {
  const bool rate_is_due = status.training && counted_ && !collectives_a_second_;
  if (asked_hooks_ && !rate_is_due && Clock::now() - *asked_hooks_ < kHooksEvery) return;
  const auto answer = stacks::ask_supervisor(status.run, stacks::kSupervisorAnswersWithin);
  asked_hooks_ = Clock::now();
  places_.clear();
  if (!answer) return;
  Counted now{*asked_hooks_, 0};
  for (const stacks::KnownRank& rank : answer->ranks) {
    places_[rank.rank.value] = rank.where;
    now.most = std::max(now.most, rank.collectives.value_or(0));
  }
  if (!status.training) return;
  const auto before = std::exchange(counted_, now);
  if (before && now.most > 0)
    collectives_a_second_ = static_cast<double>(now.most - before->most) /
                            std::chrono::duration<double>(now.at - before->at).count();
}

void LiveRanks::look_at_gpus() {
  const TimePoint now = Clock::now();
  if (asked_gpus_ && now - *asked_gpus_ < kGpusEvery) return;
  asked_gpus_ = now;
  gpus_.clear();
  held_.clear();
  const auto environment = host::environment_of(seen_.begin()->first.pid);
  const bool uses_gpus = std::ranges::any_of(
      seen_, [](const auto& one) { return host::maps_contain(one.first.pid, kDriver); });
  if (!environment || !uses_gpus) return;
  for (const gpu::Gpu& gpu : gpu::read_gpu_facts({*environment}).gpus) {
    gpus_.push_back({gpu.index, gpu.used_mib, gpu.memory_mib, gpu.busy_percent});
    for (const gpu::Process& process : gpu.processes)
      if (process.mib) held_[process.pid] += *process.mib;
  }
}

void LiveRanks::tell(report::RunStatus& status) const {
  status.gpus = gpus_;
  status.network = network_.figures();
  if (collectives_a_second_) status.collectives_a_second = collectives_a_second_;
  for (const auto& [rank, process] : ranks_) {
    const Seen& seen = seen_.at(process);
    report::RankFigures& figures = status.figures[rank] = seen.figures;
    if (const auto place = places_.find(rank); place != places_.end())
      figures.where = place->second;
    for (const int pid : seen.usage.pids)
      if (const auto held = held_.find(pid); held != held_.end())
        figures.gpu_mib = figures.gpu_mib.value_or(0) + held->second;
  }
}

// People look at a screen; a second is soon enough.
constexpr std::chrono::seconds kRefresh{1};

// Of a run on this host, what its ranks do at this moment.
void look_at(const report::RunLine& line, LiveRanks& ranks, report::RunStatus& status) {
  if (line.state != report::RunRecord::State::running || !host::proc_can_be_believed()) return;
  status.age = line.took;
  ranks.look(status);
}

using Looks = std::map<std::string, LiveRanks>;  // the looks at each run, kept between two screens

std::vector<RunningRun> running_runs(Looks& looks) {
  std::vector<RunningRun> result;
  for (const report::KnownRun& run : report::known_runs(places_of_runs())) {
    report::RunLine line = line_of(run);
    if (line.state != report::RunRecord::State::running) continue;
    if (auto status = report::read_status(run.directory)) {
      look_at(line, looks[line.run.id], *status);
      result.push_back({std::move(line), std::move(*status)});
    }
  }
  return result;
}

/// The run directory of a safelaunch: its record is open.
std::filesystem::path directory_of(int safelaunch) {
  std::filesystem::path directory;
  host::for_each_number(host::ProcPath(safelaunch, "fd").c_str(), [&](int fd) {
    std::error_code none;
    const auto open = std::filesystem::read_symlink(
        host::ProcPath(safelaunch, fmt::format("fd/{}", fd)).c_str(), none);
    if (open.filename() == "events.jsonl") directory = open.parent_path();
  });
  return directory;
}

/// A run of any user. Its folder is opened behind no link but root's and must be that user's, and
/// is not left again; nobody is asked, since an answer would be the work of that user's processes.
std::optional<RunningRun> run_of(const host::ProcessFacts& safelaunch) {
  const std::filesystem::path directory = directory_of(safelaunch.id.pid);
  const UniqueFd folder = open_folder(directory);
  struct stat facts {};
  if (directory.empty() || !folder || ::fstat(folder.get(), &facts) != 0 ||
      facts.st_uid != safelaunch.uid)
    return std::nullopt;
  auto status = report::read_status(fmt::format("/proc/self/fd/{}", folder.get()));
  const auto told = status ? host::facts_of(status->process) : std::nullopt;
  const bool is_guardian = told && told->id.pid == safelaunch.parent;
  if (!told || status->ended || (!is_guardian && told->id != safelaunch.id)) return std::nullopt;
  status->user = host::user_name(safelaunch.uid);
  report::RunLine line;
  line.run.directory = directory;
  line.took = safelaunch.age;
  return RunningRun{std::move(line), *std::move(status)};
}

std::vector<RunningRun> runs_of_all_users() {
  std::vector<RunningRun> runs;
  host::for_each_number("/proc", [&](int pid) {
    const auto facts = host::facts_of(pid);
    if (!facts || facts->comm != "safelaunch") return;
    if (auto run = run_of(*facts)) runs.push_back(*std::move(run));
  });
  return runs;
}

std::vector<RunningRun> runs_now(Looks& looks, bool all_users) {
  return all_users ? runs_of_all_users() : running_runs(looks);
}

std::optional<report::RunLine> last_run() {
  const std::vector<report::KnownRun> runs = report::known_runs(places_of_runs());
  return runs.empty() ? std::nullopt : std::optional(line_of(runs.back()));
}

std::string screen_of(const std::vector<RunningRun>& runs, bool all_users) {
  if (all_users && runs.empty()) return tr("no job runs under safelaunch") + "\n";
  return render_running(runs, runs.empty() ? last_run() : std::nullopt);
}

// The run, with the time at which it began where that is known.
report::KnownRun run_in(const std::filesystem::path& directory, const std::string& id) {
  for (report::KnownRun& run : report::known_runs(places_of_runs()))
    if (run.id == id) return std::move(run);
  return {id, directory, directory, {}};
}

// Shows how far the named run has come, or how it ended.
int show_one(const std::string& named, bool json) {
  const Result<std::filesystem::path> directory = report::find_run(named, places_of_runs());
  if (!directory) return refuse(directory.error());
  auto status = report::read_status(*directory);
  if (!status) return refuse({Errc::usage, directory->native() + " holds no run that can be read"});
  const report::RunLine line = line_of(run_in(*directory, status->run));
  LiveRanks ranks;
  look_at(line, ranks, *status);
  if (json) return answer(report::status_json({*status}));
  return answer_in_prose(report::render(*status) + "    " + tr(report::end_in_words(line)) + "\n");
}

// Until somebody ends it, or nobody sees it any more.
int watch(bool all_users) {
  WatchedScreen screen(STDOUT_FILENO);
  for (Looks looks; answers_are_taken();) {
    const std::string text = screen_of(runs_now(looks, all_users), all_users);
    screen.is_terminal() ? screen.draw(harmless(text)) : void(answer(text));
    if (const auto status = screen.wait(kRefresh)) return *status;
  }
  return 0;
}

constexpr std::array kStatusOptions{
    settings::Option{.name = "all-users",
                     .put = settings::put_into<&StatusWords::all_users>,
                     .help = "for root: the runs of all users, as their records tell"},
    settings::Option{.name = "watch",
                     .put = settings::put_into<&StatusWords::watching>,
                     .help = "refresh the screen every second"},
    settings::Option{
        .name = "json", .put = settings::put_into<&StatusWords::json>, .help = "as JSON"},
};

int tell_status(const StatusWords& given, const std::vector<std::string>& rest) {
  if (!rest.empty() && given.watching)
    return refuse({Errc::usage, "--watch shows all running jobs, not one run"});
  if (given.watching && given.json)
    return refuse({Errc::usage, "--watch shows a screen; ask for --json as often as you need it"});
  if (given.all_users && ::geteuid() != 0)
    return refuse({Errc::usage, "--all-users is for root, who may read every user's record"});
  if (!rest.empty() && given.all_users)
    return refuse({Errc::usage, "--all-users shows all running jobs, not one run"});
  if (!rest.empty()) return show_one(rest.front(), given.json);
  if (given.watching) return watch(given.all_users);
  Looks looks;
  const std::vector<RunningRun> runs = runs_now(looks, given.all_users);
  if (!given.json) return answer_in_prose(screen_of(runs, given.all_users));
  std::vector<report::RunStatus> statuses;
  for (const RunningRun& run : runs) statuses.push_back(run.status);
  return answer(report::status_json(statuses));
}

}  // namespace

std::string render_running(std::span<const RunningRun> runs,
                           const std::optional<report::RunLine>& last) {
  std::string text;
  for (const auto& [line, status] : runs)
    text += report::render(status) +
            (status.user.empty() ? "" : tr("    user {}", status.user) + "\n") +
            tr("    since {}; logs in {}", rough_age(line.took),
               report::plain_line(
                   (line.log_dir.empty() ? line.run.directory : line.log_dir).native())) +
            "\n";
  if (!runs.empty()) return text;
  text = tr("no job of yours runs under safelaunch") + "\n";
  if (last)
    text += tr("the last one, {} ({}): {}; safelaunch report tells more", last->run.id,
               report::command_in_words(*last), tr(report::end_in_words(*last))) +
            "\n";
  return text;
}

const Verb kStatusVerb{
    .name = "status",
    .function = reads<StatusWords, tell_status>,
    .help = "[RUN]: your running jobs, and what each rank does",
    .usage = "[RUN] [OPTIONS]",
    .purpose =
        "Shows your running jobs: how far each rank has come and since when, its CPU, memory and "
        "GPU memory now, what it does and where in its code. With RUN it shows that run alone, "
        "even if it is over.",
    .example = "safelaunch status --watch",
    .options = kStatusOptions,
    .takes = "run"};
}  // namespace safelaunch::cli
