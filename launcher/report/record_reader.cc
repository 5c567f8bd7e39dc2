#include "record_reader.h"

#include <algorithm>

#include "json_fields.h"
#include "safelaunch/base/format.h"

namespace safelaunch {
namespace {

// More is no record of ours.
constexpr int kMostRanks = 100'000;
constexpr int kMostAttempts = 100;
constexpr std::size_t kMostLines = 400;

std::optional<Stage> stage_named(std::string_view word) {
  for (int i = 0; i < kStageCount; ++i)
    if (word == name(static_cast<Stage>(i))) return static_cast<Stage>(i);
  return std::nullopt;
}

std::vector<Rank> ranks_of(const Json& event, const char* key) {
  std::vector<Rank> ranks;
  for (const int number : numbers_of(event, key)) ranks.push_back(Rank{number});
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::optional<Severity> severity_named(std::string_view word) {
  for (const Severity severity : {Severity::note, Severity::risk, Severity::blocks})
    if (word == name(severity)) return severity;
  return std::nullopt;
}

// Reads the record event by event.
class RecordReader {
 public:
  explicit RecordReader(RunRecord& run) : run_(run) {}

  void read(std::string_view line) {
    const Json event = parse_json(line);
    const std::string what = text_of(event, "e");
    if (what.empty()) {
      ++run_.unreadable;
      return;
    }
    at_ = duration_of(event, "t");
    run_.took = std::max(run_.took, at_);
    const int number = number_of(event, "attempt").value_or(0);
    if (AttemptHistory* attempt = attempt_of(run_, number)) take_in_attempt(*attempt, what, event);
    take_in_run(what, event);
    if (what != "stage") run_.lines.push_back({at_, number, what, in_words(what, event)});
  }

 private:
  void take_in_run(const std::string& what, const Json& event) {
    if (what == "run") {
      if (run_.id.empty()) run_.id = text_of(event, "run");
      if (run_.summary.command.empty()) run_.summary.command = texts_of(event, "command");
    } else if (what == "end") {
      run_.state = RunRecord::State::ended;
      run_.summary.exit_code = number_of(event, "exit_status").value_or(0);
    } else if (what == "finding") {
      const auto severity = severity_named(text_of(event, "severity"));
      run_.findings.push_back({text_of(event, "id"), severity.value_or(Severity::note),
                               text_of(event, "evidence"), text_of(event, "remedy")});
    }
  }

  void take_in_attempt(AttemptHistory& attempt, const std::string& what, const Json& event) {
    attempt.until = std::max(attempt.until, at_);
    if (what == "attempt") {
      attempt.began = attempt.until = at_;
      attempt.told.profile = text_of(event, "profile");
    } else if (what == "stage") {
      take_stage(attempt, event);
    } else if (what == "exit") {
      take_exit(attempt, event);
    } else if (what == "status") {
      attempt.waiting = text_of(event, "text");
    } else if (what == "training") {
      attempt.training = at_;
    } else if (what == "verdict") {
      attempt.verdict = RecordedVerdict{at_, text_of(event, "stage"), text_of(event, "text"),
                                        ranks_of(event, "waiting"), ranks_of(event, "missing")};
      const std::string kind = text_of(event, "kind");
      const bool hung = kind == "hung" || kind == "stood_still" || kind == "driver_silent";
      attempt.told.end = hung                ? AttemptEnd::hung
                         : kind == "stalled" ? AttemptEnd::stalled
                                             : AttemptEnd::failed_user;
      attempt.stopping = true;
    } else if (what == "nccl") {
      attempt.nccl = nccl_in_words(event);
    } else if (what == "signal") {
      attempt.told.end = AttemptEnd::interrupted;
      attempt.stopping = true;
    } else if (what == "cause") {
      attempt.told.cause_id = text_of(event, "id");
      attempt.told.certainty = text_of(event, "certainty");
      attempt.told.explanation = text_of(event, "text");
      if (attempt.told.end == AttemptEnd::completed) attempt.told.end = AttemptEnd::failed_user;
      attempt.ended = true;
    }
  }

  static std::optional<Rank> rank_of(const Json& event) {
    const int number = number_of(event, "rank").value_or(-1);
    if (number < 0 || number > kMostRanks) return std::nullopt;
    return Rank{number};
  }

  void take_stage(AttemptHistory& attempt, const Json& event) const {
    const auto rank = rank_of(event);
    const auto stage = stage_named(text_of(event, "stage"));
    if (!rank || !stage) return;
    auto& reached = attempt.ranks[*rank].reached[static_cast<std::size_t>(*stage)];
    if (!reached) reached = at_;
  }

  void take_exit(AttemptHistory& attempt, const Json& event) const {
    const auto rank = rank_of(event);
    if (!rank) return;
    attempt.ranks[*rank].ended = at_;
    attempt.ranks[*rank].status = text_of(event, "status");
    attempt.ranks[*rank].told_to_end = attempt.stopping;
  }

  static std::string nccl_in_words(const Json& event) {
    std::string text = text_of(event, "version");
    for (const char* key : {"interface", "network", "transport", "unread"})
      if (const std::string list = joined(texts_of(event, key)); !list.empty())
        text += fmt::format(" · {} {}", key, list);
    const std::string standing = text_of(event, "standing");
    return standing.empty() ? text : text + " · " + standing;
  }

  static std::string in_words(const std::string& what, const Json& event) {
    if (what == "run") return joined(texts_of(event, "command"));
    if (what == "attempt") return text_of(event, "profile");
    if (what == "cause")
      return fmt::format("{} ({}): {}", text_of(event, "id"), text_of(event, "certainty"),
                         text_of(event, "text"));
    if (what == "finding")
      return fmt::format("{} ({}): {}", text_of(event, "id"), text_of(event, "severity"),
                         text_of(event, "evidence"));
    if (what == "exit") {
      const auto rank = rank_of(event);
      return fmt::format("{}: {}", rank ? fmt::format("rank {}", rank->value) : "the launcher",
                         text_of(event, "status"));
    }
    if (what == "nccl") return nccl_in_words(event);
    if (what == "signal") return text_of(event, "signal") + " from " + text_of(event, "sender");
    if (what == "hook_error") return text_of(event, "where") + ": " + text_of(event, "error");
    if (what == "end")
      return fmt::format("exit status {}", number_of(event, "exit_status").value_or(0));
    return text_of(event, "text");
  }

  RunRecord& run_;
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

}  // namespace safelaunch
