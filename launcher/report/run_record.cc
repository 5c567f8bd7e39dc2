#include "safelaunch/report/run_record.h"

#include <algorithm>

#include "excerpts.h"
#include "json.h"
#include "safelaunch/base/first_failed.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/report/record.h"

// A run is read in the order job.json, events.jsonl, the files of the attempts, outcome.json.
// Events alone tell a run that still runs or was cut off; the outcome, if there is one, replaces
// what was gathered from them. Numbers beyond all reason are passed over.
namespace safelaunch::report {
namespace {

// safelaunch writes no larger numbers.
constexpr int kMostRanks = 100'000;
constexpr int kMostAttempts = 100;
constexpr std::size_t kMostLines = 400;

std::optional<Rank> rank_of(int number) {
  if (number < 0 || number > kMostRanks) return std::nullopt;
  return Rank{number};
}

std::optional<Severity> severity_named(std::string_view word) {
  for (const Severity severity : {Severity::note, Severity::risk, Severity::blocks})
    if (word == name(severity)) return severity;
  return std::nullopt;
}

AttemptHistory* attempt_of(RunRecord& run, int number) {
  if (number <= 0 || number > kMostAttempts) return nullptr;
  while (run.attempts.size() < static_cast<std::size_t>(number)) {
    AttemptHistory& added = run.attempts.emplace_back();
    added.told.number = static_cast<int>(run.attempts.size());
  }
  return &run.attempts[static_cast<std::size_t>(number) - 1];
}

// The page draws these; as lines they would hide the others.
bool has_a_picture(const record::Event& event) {
  return std::holds_alternative<record::Stage>(event) ||
         std::holds_alternative<record::Node>(event) ||
         std::holds_alternative<record::Usage>(event) ||
         std::holds_alternative<record::Gpus>(event);
}

// Reads the record event by event: take() changes the run or its present attempt. Most events only
// add a line to the list of all events.
class RecordReader {
 public:
  explicit RecordReader(RunRecord& run) : run_(run) {}

  void read(std::string_view text) {
    const auto line = record::read_line(text);
    if (!line) return void(++run_.unreadable);
    at_ = line->at;
    run_.took = std::max(run_.took, at_);
    attempt_ = attempt_of(run_, line->attempt);
    if (attempt_ != nullptr) attempt_->until = std::max(attempt_->until, at_);
    if (const auto* event = std::get_if<record::Event>(&line->event)) {
      std::visit([this](const auto& one) { take(one); }, *event);
      if (has_a_picture(*event)) return;
    }
    run_.lines.push_back({at_, line->attempt, name(*line), in_words(*line)});
  }

 private:
  void take(const record::Run& event) {
    if (run_.id.empty()) run_.id = event.run;
    if (run_.summary.command.empty()) run_.summary.command = event.command;
  }

  void take(const record::End& event) {
    run_.state = RunRecord::State::ended;
    run_.summary.exit_code = event.exit_status;
  }

  void take(const record::Host& event) { run_.host = event; }

  void take(const record::Finding& event) {
    run_.findings.push_back({event.id, severity_named(event.severity).value_or(Severity::note),
                             event.evidence, event.remedy});
  }

  // Each way has an entry in every list; a torn line has none.
  void take(const record::Ways& event) {
    const std::size_t count = event.end.size();
    const bool whole = event.from.size() == count && event.to.size() == count &&
                       event.interface.size() == count && event.round_trip_us.size() == count;
    if (whole) run_.ways = event;
  }

  void take(const record::Attempt& event) {
    if (attempt_ == nullptr) return;
    attempt_->began = attempt_->until = at_;
    attempt_->told.profile = event.profile;
  }

  void take(const record::Stage& event) {
    const auto rank = rank_of(event.rank);
    const auto stage = stage_named(event.stage);
    if (attempt_ == nullptr || !rank || !stage) return;
    auto& reached = attempt_->ranks[*rank].reached[static_cast<std::size_t>(*stage)];
    if (!reached) reached = at_;
  }

  void take(const record::Node& event) {
    for (const int number : event.ranks)
      if (const auto rank = rank_of(number); rank && attempt_ != nullptr)
        attempt_->ranks[*rank].host = event.host;
  }

  void take(const record::Exit& event) {
    const auto rank = rank_of(event.rank);
    if (attempt_ == nullptr || !rank) return;
    RankHistory& history = attempt_->ranks[*rank];
    history.ended = at_;
    history.status = event.status;
    history.told_to_end = attempt_->stopping;
  }

  void take(const record::Status& event) {
    if (attempt_ != nullptr) attempt_->waiting = event.text;
  }

  void take(const record::Training& event) {
    if (attempt_ == nullptr) return;
    attempt_->training = at_;
    attempt_->serves = event.serves;
  }

  void take(const record::Verdict& event) {
    if (attempt_ == nullptr) return;
    attempt_->verdict = RecordedVerdict{at_, event.text, failure_of(event)};
    failure().kind = attempt_->verdict->failure.kind;
    attempt_->stopping = true;
  }

  void take(const record::Stall& event) {
    if (attempt_ == nullptr || event.phase == record::Stall::kWorks) return;
    auto& known = attempt_->standstill;
    if (known && event.phase == record::Stall::kOver)
      known->over_after = event.text;
    else if (known && event.phase == record::Stall::kAgain)
      known->text = event.text;
    else
      known = Standstill{at_, event.text, known ? known->earlier + 1 : 0};
  }

  void take(const record::Straggler& event) {
    if (attempt_ == nullptr) return;
    attempt_->straggler.reset();
    if (rank_of(event.rank)) attempt_->straggler = event;
  }

  // Every figure of a look belongs to a rank, or to a GPU.
  void take(const record::Usage& event) {
    const std::size_t count = event.ranks.size();
    if (attempt_ != nullptr && event.cpu.size() == count && event.memory.size() == count &&
        event.children.size() == count &&
        (event.collectives.empty() || event.collectives.size() == count))
      attempt_->usage.push_back({at_, event});
  }

  void take(const record::Probe& event) {
    if (attempt_ != nullptr) attempt_->probes.push_back(event);
  }

  void take(const record::Collectives& event) {
    if (attempt_ != nullptr) attempt_->collectives = event;
  }

  void take(const record::Counted& event) {
    const auto rank = rank_of(event.rank);
    if (attempt_ != nullptr && rank && event.collectives >= 0)
      attempt_->ranks[*rank].finished = FinishedCollectives{at_, event.collectives};
  }

  void take(const record::Gpus& event) {
    const std::size_t count = event.gpu.size();
    if (attempt_ != nullptr && event.used.size() == count && event.size.size() == count &&
        event.busy.size() == count && event.held.size() == event.ranks.size())
      attempt_->gpus.push_back({at_, event});
  }

  void take(const record::Nccl& event) {
    if (attempt_ != nullptr) attempt_->nccl = in_words(event);
  }

  void take(const record::Signal&) {
    if (attempt_ == nullptr) return;
    failure().kind = FailureKind::interrupted;
    attempt_->stopping = true;
  }

  void take(const record::Cause& event) {
    if (attempt_ == nullptr) return;
    failure().cause = event.id;
    failure().certainty = certainty_named(event.certainty);
    failure().explanation = event.text;
    attempt_->ended = true;
  }

  void take(const auto&) {}

  Failure& failure() {
    auto& known = attempt_->told.failure;
    return known ? *known : known.emplace();
  }

  RunRecord& run_;
  AttemptHistory* attempt_ = nullptr;  // the attempt of the present line; nullptr before the first
  Duration at_{};
};

void read_events(std::string_view text, RunRecord& run) {
  RecordReader reader(run);
  while (!text.empty())
    if (const std::string_view line = take_word(text, '\n'); !line.empty()) reader.read(line);
  if (run.lines.size() <= kMostLines) return;
  run.lines_left_out = run.lines.size() - kMostLines;
  const auto from = run.lines.begin() + kMostLines / 2;
  run.lines.erase(from, from + static_cast<std::ptrdiff_t>(run.lines_left_out));
}

void read_job(std::string_view text, RunRecord& run) {
  const Json job = parse_json<Json>(text);
  run.id = text_of(job, "run");
  run.started = text_of(job, "started");
  run.working_directory = text_of(job, "directory");
  run.options = texts_of(job, "options");
  run.boot_id = text_of(job, "boot_id");
  run.process.pid = number_of(job, "pid").value_or(0);
  run.process.start_ticks = number_of<std::uint64_t>(job, "start_ticks").value_or(0);
  run.summary.command = texts_of(job, "command");
}

// Takes the outcome that the run wrote at its end, which counts more than its events.
void take_outcome(RunSummary outcome, RunRecord& run) {
  run.state = RunRecord::State::ended;
  if (outcome.command.empty()) outcome.command = std::move(run.summary.command);
  run.summary = std::move(outcome);
  for (const AttemptSummary& told : run.summary.attempts) {
    AttemptHistory* attempt = attempt_of(run, told.number);
    if (attempt == nullptr) continue;
    attempt->told = told;
    attempt->ended = true;
    attempt->until = std::max(attempt->until, attempt->began + told.took);
  }
}

// Gathers a summary from the events. An attempt has ended if another followed it, if its cause was
// found, or if the run has ended.
void gather_outcome(RunRecord& run) {
  for (std::size_t i = 0; i < run.attempts.size(); ++i) {
    AttemptHistory& attempt = run.attempts[i];
    attempt.ended |= i + 1 < run.attempts.size() || run.state == RunRecord::State::ended;
    attempt.told.took = attempt.until - attempt.began;
    if (attempt.ended) run.summary.attempts.push_back(attempt.told);
  }
}

// Reads env.diff, "+ NAME=value  # why" a line; a value may have several lines.
std::vector<EnvironmentChange> read_changes(std::string_view text) {
  std::vector<EnvironmentChange> changes;
  std::string change;
  while (!text.empty()) {
    const std::string_view line = take_word(text, '\n');
    const std::size_t why = line.rfind("  # ");
    change += (change.empty() ? "" : "\n") + std::string(line.substr(0, why));
    if (why == std::string_view::npos && !text.empty()) continue;
    changes.push_back(
        {std::move(change), std::string(why == line.npos ? "" : line.substr(why + 4))});
    change.clear();
  }
  return changes;
}

// "attempt-2-no-shm/rank-0.out", split into the attempt, its profile and the rest.
struct AttemptFile {
  int attempt = 0;
  std::string_view profile;
  std::string_view name;
};

std::optional<AttemptFile> split_name(std::string_view path) {
  constexpr std::string_view kFolder = "attempt-";
  const std::size_t slash = path.find('/');
  if (!path.starts_with(kFolder) || slash == std::string_view::npos) return std::nullopt;
  std::string_view folder = path.substr(kFolder.size(), slash - kFolder.size());
  const auto attempt = take_number(folder);
  if (!attempt) return std::nullopt;
  return AttemptFile{.attempt = *attempt,
                     .profile = folder.substr(std::min<std::size_t>(1, folder.size())),
                     .name = path.substr(slash + 1)};
}

void take_file(const RecordedFile& file, const AttemptFile& place, AttemptHistory& attempt) {
  constexpr std::string_view kEvidence = "evidence/";
  RecordedFile named = file;
  named.name = place.name;
  if (place.name == "env.diff") {
    attempt.environment = read_changes(file.text);
  } else if (place.name.starts_with(kEvidence)) {
    named.name = place.name.substr(kEvidence.size());
    const bool stack = named.name.ends_with(".stack");
    if (stack) named.name.resize(named.name.size() - 6);
    (stack ? attempt.stacks : attempt.evidence).push_back(std::move(named));
  } else if (file.size != 0) {
    attempt.logs.push_back(std::move(named));
  }
}

// Sorts rank-2 before rank-10, and names without a number first.
std::pair<int, std::string_view> order_of(const RecordedFile& file) {
  constexpr std::string_view kRank = "rank-";
  std::string_view rank = file.name;
  if (!rank.starts_with(kRank)) return {-1, file.name};
  rank.remove_prefix(kRank.size());
  return {take_number(rank).value_or(-1), file.name};
}

void sort_by_rank(std::vector<RecordedFile>& files) {
  std::sort(files.begin(), files.end(),
            [](const RecordedFile& a, const RecordedFile& b) { return order_of(a) < order_of(b); });
}

void read_attempt_files(const RunFiles& files, RunRecord& run) {
  for (const RecordedFile& file : files.files) {
    const auto place = split_name(file.name);
    AttemptHistory* attempt = place ? attempt_of(run, place->attempt) : nullptr;
    if (attempt == nullptr) continue;
    if (attempt->told.profile.empty()) attempt->told.profile = place->profile;
    take_file(file, *place, *attempt);
  }
  for (AttemptHistory& attempt : run.attempts) {
    sort_by_rank(attempt.stacks);
    sort_by_rank(attempt.logs);
  }
}

// The ranks that ended badly by themselves, in order of time. The ends of a launcher's ranks are
// not recorded.
std::vector<RankEnd> bad_ends(const AttemptHistory& attempt) {
  std::vector<std::pair<Duration, Rank>> ended;
  for (const auto& [rank, history] : attempt.ranks)
    if (history.ended && !history.told_to_end && history.status != "exit status 0")
      ended.emplace_back(*history.ended, rank);
  std::ranges::sort(ended);
  std::vector<RankEnd> ends;
  for (const auto& [at, rank] : ended) ends.push_back({.rank = rank, .failed = true});
  return ends;
}

}  // namespace

RunRecord parse_run(const RunFiles& files) {
  RunRecord run;
  read_job(files.text("job.json"), run);
  read_events(files.text("events.jsonl"), run);
  read_attempt_files(files, run);
  run.sources = read_sources(files.text(kSources));
  if (std::optional<RunSummary> outcome = read_outcome(files.text("outcome.json")))
    take_outcome(std::move(*outcome), run);
  else
    gather_outcome(run);
  run.directory = files.directory.native();
  run.summary.directory = run.directory;
  if (run.id.empty()) run.id = files.directory.filename().native();
  run.summary.run_id = run.id;
  return run;
}

std::vector<Rank> suspects(const AttemptHistory& attempt) {
  if (attempt.verdict && !attempt.verdict->failure.missing.empty())
    return ranks_of(attempt.verdict->failure.missing);
  const std::optional<Rank> first = first_failed({.ended = bad_ends(attempt)});
  return first ? std::vector{*first} : std::vector<Rank>{};
}

std::optional<double> collectives_a_second(const AttemptHistory& attempt) {
  std::optional<double> fastest;
  if (!attempt.training) return fastest;
  for (const auto& [rank, history] : attempt.ranks) {
    if (!history.finished) continue;
    const std::chrono::duration<double> seconds = history.finished->at - *attempt.training;
    if (seconds.count() > 0)
      fastest = std::max(fastest.value_or(0),
                         static_cast<double>(history.finished->count) / seconds.count());
  }
  return fastest;
}

const char* name(RunRecord::State state) {
  switch (state) {
    case RunRecord::State::ended: return "ended";
    case RunRecord::State::running: return "running";
    case RunRecord::State::cut_off: return "cut off";
  }
  return "?";
}

}  // namespace safelaunch::report
