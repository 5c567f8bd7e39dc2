#include "safelaunch/report/report.h"

#include <algorithm>

#include "excerpts.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/paper.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/base/strings.h"
#include "timeline.h"

// The text shows the first of each kind, suspects before others, and counts the rest, so that it
// fits on a few screens whatever the number of ranks. An ended run is told by its closing screen;
// one that was cut off by the attempts that are known to have ended.
namespace safelaunch::report {
namespace {

// The text stays within a screen or three, however many ranks there are; the page has more.
constexpr std::size_t kMostRows = 16;
constexpr std::size_t kMostStacks = 4;
constexpr std::size_t kMostLogs = 4;
constexpr std::size_t kLogLines = 15;

class TextWriter {
 public:
  void line(std::string_view text = {}) { text_.append(text).append("\n"); }
  void heading(std::string_view text) { line(inked(Ink::bold, text)); }
  void indented(std::string_view text, std::string_view lead) {
    while (!text.empty()) line(std::string(lead) + std::string(take_word(text, '\n')));
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void write_head(const RunRecord& run, TextWriter& to) {
  to.heading(tr("run {}", run.id));
  const std::string command = plain_line(shell_line(run.summary.command));
  if (!command.empty()) to.line(tr("command   {}", command));
  if (!run.working_directory.empty())
    to.line(tr("in        {}", plain_line(run.working_directory)));
  const std::string state = run.state == RunRecord::State::ended ? ""
                            : run.state == RunRecord::State::running
                                ? ", still running"
                                : ", cut off: safelaunch ended without an outcome";
  to.line(tr("started   {}, {}{}", run.started.empty() ? tr("unknown") : run.started,
             describe_duration(run.took), tr(state)));
  if (run.unreadable != 0)
    to.line(tr("          {} lines of events.jsonl cannot be read", run.unreadable));
}

void write_findings(const RunRecord& run, TextWriter& to) {
  if (run.findings.empty()) return;
  to.line();
  to.heading(tr("what was found before the run"));
  for (const Finding& finding : run.findings) {
    to.line(fmt::format("  {} ({}): {}", finding.cause, tr(name(finding.severity)),
                        tr(finding.evidence)));
    if (!finding.remedy.empty()) to.line("      " + tr("help:") + " " + tr(finding.remedy));
  }
}

std::string why(const AttemptSummary& attempt) {
  const bool told = attempt.failure && !attempt.failure->explanation.empty();
  return told ? ": " + tr(attempt.failure->explanation) : "";
}

void write_story(const RunRecord& run, TextWriter& to) {
  to.line();
  RunSummary summary = run.summary;
  if (run.state != RunRecord::State::ended && !summary.attempts.empty()) {
    // A run that has not ended has no closing screen.
    to.heading(tr("what happened so far"));
    for (const AttemptSummary& attempt : summary.attempts)
      to.line(tr("  attempt {}  {:<14} {}{}", attempt.number, attempt.profile,
                 end_in_words(attempt), why(attempt)));
  } else if (!summary.attempts.empty()) {
    to.line(closing_screen(summary));
  }
  if (run.attempts.empty()) return;
  const AttemptHistory& last = run.attempts.back();
  if (last.straggler) to.line("  " + tr(in_words(*last.straggler)));
  if (last.ended) return;
  to.line(tr("  attempt {}  {:<14} {}{}", last.told.number, last.told.profile,
             tr(run.state == RunRecord::State::running ? "is running" : "was not ended"),
             last.training          ? tr(", {}", tr(record::phase_in_words(last.serves)))
             : last.waiting.empty() ? ""
                                    : "  (" + tr(last.waiting) + ")"));
}

// A table of ranks and the times after which they reached each stage. Stages that no rank reached
// have no column.
class StageTable {
 public:
  explicit StageTable(const Timeline& timeline) {
    add({tr("reached after")}, [](Stage stage) { return std::string(name(stage)); });
    used_.assign(kStageCount + 1, false);
    for (const TimelineRow& row : timeline.rows)
      add({tr(rank_list(row.ranks))}, [&](Stage stage) {
        const auto& when = row.reached[static_cast<std::size_t>(stage)];
        if (when) used_[static_cast<std::size_t>(stage) + 1] = true;
        return when ? describe_duration(*when) : "-";
      });
  }

  [[nodiscard]] std::string head() const { return line(0); }
  [[nodiscard]] std::string row(std::size_t index) const { return line(index + 1); }

 private:
  template <class Cell>
  void add(std::vector<std::string> cells, Cell cell) {
    for (int i = 0; i < kStageCount; ++i) cells.push_back(cell(static_cast<Stage>(i)));
    widths_.resize(cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i)
      widths_[i] = std::max(widths_[i], columns(cells[i]));
    lines_.push_back(std::move(cells));
  }

  [[nodiscard]] std::string line(std::size_t index) const {
    const std::vector<std::string>& cells = lines_[index];
    std::string text = fmt::format("  {:<{}}", cells[0], widths_[0]);
    for (std::size_t i = 1; i < cells.size(); ++i)
      if (used_[i]) text += fmt::format("  {:>{}}", cells[i], widths_[i]);
    return text;
  }

  std::vector<std::vector<std::string>> lines_;
  std::vector<std::size_t> widths_;
  std::vector<bool> used_;
};

void write_stages(const AttemptHistory& attempt, TextWriter& to) {
  const Timeline timeline = timeline_of(attempt, kMostRows);
  if (timeline.rows.empty()) return;
  const StageTable table(timeline);
  to.line(inked(Ink::dim, table.head()));
  for (std::size_t i = 0; i < timeline.rows.size(); ++i) {
    const TimelineRow& row = timeline.rows[i];
    const std::string note = row.note.empty() ? "" : "  " + tr(row.note);
    to.line(table.row(i) + (row.suspect ? inked(Ink::fault, note) : note));
  }
  if (timeline.ranks_left_out != 0) to.line(tr("  and {} ranks more", timeline.ranks_left_out));
}

void write_environment(const AttemptHistory& attempt, TextWriter& to) {
  if (attempt.environment.empty()) return;
  to.line(tr("  its environment differs from yours:"));
  for (const EnvironmentChange& change : attempt.environment)
    to.indented(change.change + "  # " + change.why, "    ");
}

void write_stacks(const AttemptHistory& attempt, TextWriter& to) {
  const std::vector<SharedStack> stacks = shared_stacks(attempt);
  for (std::size_t i = 0; i < std::min(kMostStacks, stacks.size()); ++i) {
    const std::string title = tr("  stack of {}", tr(rank_list(stacks[i].ranks)));
    to.line(stacks[i].suspect ? inked(Ink::fault, title) : title);
    for (std::string_view rest = stacks[i].text; !rest.empty();)
      to.line("    " + stack_line(take_word(rest, '\n')));
  }
  if (stacks.size() > kMostStacks) to.line(tr("  and {} stacks more", stacks.size() - kMostStacks));
}

// Ranks with the same answer are told in one line: "ranks 0-62: no collective yet".
std::string alike_together(std::string_view text) {
  std::vector<AlikeRanks> answers;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = take_word(rest, '\n');
    const bool is_of_rank = take_word(line) == "rank";
    const auto rank = take_number<int>(line);
    if (!is_of_rank || !rank) return std::string(text);
    add_alike(answers, Rank{*rank}, std::string(line));
  }
  std::string told;
  for (const AlikeRanks& one : answers) told += tr(rank_list(one.ranks) + one.words) + "\n";
  return told;
}

// What torchrun says of our stopping it tells nothing of a hang.
std::string_view before_the_stop(std::string_view log, const AttemptHistory& attempt) {
  if (!attempt.told.failure || !is_stuck(attempt.told.failure->kind)) return log;
  const std::size_t stopped = log.find("death signal, shutting down workers");
  return stopped == std::string_view::npos ? log : log.substr(0, log.rfind('\n', stopped) + 1);
}

void write_evidence(const AttemptHistory& attempt, TextWriter& to) {
  for (const RecordedFile& file : attempt.evidence) {
    to.line(fmt::format("  {} ({})", file.name, tr(extent_in_words(file))));
    to.indented(last_lines(alike_together(file.text), kLogLines), "    | ");
  }
}

void write_logs(const AttemptHistory& attempt, TextWriter& to) {
  if (attempt.ended && !attempt.told.failure) return;
  const std::vector<const RecordedFile*> logs = logs_by_interest(attempt);
  for (std::size_t i = 0; i < std::min(kMostLogs, logs.size()); ++i) {
    const std::string_view lines = last_lines(before_the_stop(logs[i]->text, attempt), kLogLines);
    if (lines.empty()) continue;
    to.line(tr("  the last lines of {} ({})", logs[i]->name, tr(extent_in_words(*logs[i]))));
    to.indented(lines, "    | ");
  }
  if (logs.size() > kMostLogs) to.line(tr("  and {} logs more", logs.size() - kMostLogs));
}

void write_attempt(const AttemptHistory& attempt, TextWriter& to) {
  to.line();
  to.heading(tr("attempt {}  {}", attempt.told.number, attempt.told.profile));
  if (attempt.verdict) to.line(tr("  verdict: {}", tr(attempt.verdict->text)));
  if (const std::string text = standstill_in_words(attempt); !text.empty())
    to.line("  " + tr(text));
  if (!attempt.nccl.empty()) to.line("  NCCL " + attempt.nccl);
  write_stages(attempt, to);
  write_environment(attempt, to);
  write_stacks(attempt, to);
  write_evidence(attempt, to);
  write_logs(attempt, to);
}

}  // namespace

std::string text_report(const RunRecord& run) {
  TextWriter to;
  write_head(run, to);
  write_findings(run, to);
  write_story(run, to);
  for (const AttemptHistory& attempt : run.attempts) write_attempt(attempt, to);
  return to.take();
}

}  // namespace safelaunch::report
