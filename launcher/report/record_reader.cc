#include "record_reader.h"

#include <algorithm>

#include "safelaunch/report/record.h"

namespace safelaunch::report {
namespace {

// More is no record of ours.
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

// Reads the record event by event. What an attempt's events change, and what the run's do; most
// change nothing but the list of all that happened.
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
      if (std::holds_alternative<record::Stage>(*event)) return;
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

  void take(const record::Finding& event) {
    run_.findings.push_back({event.id, severity_named(event.severity).value_or(Severity::note),
                             event.evidence, event.remedy});
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

  void take(const record::Training&) {
    if (attempt_ != nullptr) attempt_->training = at_;
  }

  void take(const record::Verdict& event) {
    if (attempt_ == nullptr) return;
    attempt_->verdict = RecordedVerdict{at_, event.text, failure_of(event)};
    failure().kind = attempt_->verdict->failure.kind;
    attempt_->stopping = true;
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
  AttemptHistory* attempt_ = nullptr;  // of the present line
  Duration at_{};
};

}  // namespace

AttemptHistory* attempt_of(RunRecord& run, int number) {
  if (number <= 0 || number > kMostAttempts) return nullptr;
  while (run.attempts.size() < static_cast<std::size_t>(number)) {
    AttemptHistory& added = run.attempts.emplace_back();
    added.told.number = static_cast<int>(run.attempts.size());
  }
  return &run.attempts[static_cast<std::size_t>(number) - 1];
}

void read_events(std::string_view text, RunRecord& run) {
  RecordReader reader(run);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end != 0) reader.read(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (run.lines.size() <= kMostLines) return;
  run.lines_left_out = run.lines.size() - kMostLines;
  const auto from = run.lines.begin() + kMostLines / 2;
  run.lines.erase(from, from + static_cast<std::ptrdiff_t>(run.lines_left_out));
}

}  // namespace safelaunch::report
