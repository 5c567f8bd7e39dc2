#include <algorithm>

#include "excerpts.h"
#include "html_page.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/base/strings.h"

// The parts of an attempt stand in the order of a reader's questions: how it ended, how far the
// ranks came, where they stood, what was changed for it, and what they printed. Stacks and logs
// take their bytes from the budget of the whole page, so the first attempts cannot fill it with one
// log.
namespace safelaunch::report {
namespace {

// With more rows than a reader looks at, ranks that behaved alike share a row.
constexpr std::size_t kMostBars = 8;
constexpr std::size_t kLogsShown = 10;
constexpr std::size_t kMostChanges = 200;
constexpr std::size_t kLongestLog = 32U << 10;

void write_end(const AttemptHistory& attempt, RunRecord::State state, HtmlWriter& to) {
  if (!attempt.ended) {
    const bool is_running = state == RunRecord::State::running;
    is_running ? to.markup("<span class=\"tag\">") : to.markup("<span class=\"tag warn\">");
    to.text(tr(is_running ? "is running" : "was not ended")).markup("</span>");
    return;
  }
  attempt.told.failure ? to.markup("<span class=\"tag bad\">")
                       : to.markup("<span class=\"tag good\">");
  to.text(end_in_words(attempt.told)).markup("</span>");
}

void write_lines(const Failure& failure, HtmlWriter& to) {
  if (failure.lines.empty()) return;
  to.markup("<pre>");
  for (const std::string& line : failure.lines) to.text(line, kLongestText).markup("\n");
  to.markup("</pre>\n");
}

// The head has told the failure of an only attempt.
void write_failure(const Failure& failure, const RunRecord& run, HtmlWriter& to) {
  const bool told = run.attempts.size() == 1 && told_in_head(run) != nullptr;
  if (!told) write_cause(failure, to);
  write_lines(failure, to);
  if (!told) write_remedy(failure, to);
}

void write_progress(const AttemptHistory& attempt, HtmlWriter& to) {
  if (attempt.straggler) to.note(tr(in_words(*attempt.straggler)));
  if (attempt.ended) {
    if (!attempt.told.stages.empty()) to.note(attempt.told.stages);
    return;
  }
  to.note(tr(attempt.training ? record::phase_in_words(attempt.serves)
                              : cut(attempt.waiting, kLongestText)));
}

// A stack with the line of source below each frame whose source is known.
void write_stack(std::string_view stack, const SourceLines& sources, HtmlWriter& to) {
  while (!stack.empty()) {
    const std::string_view line = take_word(stack, '\n');
    to.path(stack_line(line)).markup("\n");
    const auto source = sources.find(place_of_frame(line));
    if (source != sources.end())
      to.markup("<span class=\"src\">    ").text(source->second).markup("</span>\n");
  }
}

void write_stacks(const AttemptHistory& attempt, const SourceLines& sources, PageBudget& budget,
                  HtmlWriter& to) {
  const std::vector<SharedStack> stacks = shared_stacks(attempt);
  if (stacks.empty()) return;
  to.markup("<h3 id=\"stood-").text(std::to_string(attempt.told.number)).markup("\">");
  to.text(tr("Where the ranks stood")).markup("</h3>\n");
  std::size_t left_out = 0;
  for (const SharedStack& stack : stacks) {
    const std::size_t most = std::min(kLongestLog, budget.stacks);
    if (most == 0) {
      ++left_out;
      continue;
    }
    stack.suspect ? to.markup("<details class=\"bad\" open><summary>")
                  : to.markup("<details><summary>");
    to.text(tr(rank_list(stack.ranks))).markup("</summary><pre>");
    write_stack(cut(stack.text, most), sources, to);
    if (stack.text.size() > most) to.markup("…");
    to.markup("</pre></details>\n");
    budget.stacks -= std::min(most, stack.text.size());
  }
  if (left_out != 0) to.note(tr("and {} stacks more", left_out));
}

void write_evidence(const AttemptHistory& attempt, PageBudget& budget, HtmlWriter& to) {
  for (const RecordedFile& file : attempt.evidence) {
    const std::size_t most = std::min(kLongestLog, budget.stacks);
    to.markup("<details><summary>").text(file.name).markup(" <span class=\"dim\">");
    to.text(tr(extent_in_words(file))).markup("</span></summary><pre>").text(file.text, most);
    to.markup("</pre></details>\n");
    budget.stacks -= std::min(most, file.text.size());
  }
}

void write_environment(const AttemptHistory& attempt, HtmlWriter& to) {
  if (attempt.environment.empty()) return;
  to.markup("<h3>")
      .text(tr("How its environment differed from yours"))
      .markup("</h3>\n<div class=\"wide\"><table class=\"env\">");
  const std::size_t shown = std::min(kMostChanges, attempt.environment.size());
  for (std::size_t i = 0; i < shown; ++i) {
    to.markup("<tr><td><code>").text(attempt.environment[i].change, kLongestText);
    to.markup("</code></td><td class=\"dim\">").text(attempt.environment[i].why, kLongestText);
    to.markup("</td></tr>\n");
  }
  to.markup("</table></div>\n");
}

void write_log(const RecordedFile& log, bool open, PageBudget& budget, HtmlWriter& to) {
  const std::size_t most = std::min(kLongestLog, budget.logs);
  std::string_view text = log.text;
  if (text.size() > most) text.remove_prefix(cut(text, text.size() - most).size());
  open ? to.markup("<details open><summary>") : to.markup("<details><summary>");
  to.text(log.name).markup(" <span class=\"dim\">").text(tr(extent_in_words(log)));
  to.markup("</span></summary><pre>");
  if (text.size() < log.text.size()) to.markup("…");
  to.text(text).markup("</pre></details>\n");
  budget.logs -= text.size();
}

// Whether the last words of the logs explain the failure; for a hang the stacks tell more.
bool says_why(FailureKind kind) {
  return !is_hang(kind) && kind != FailureKind::stalled && kind != FailureKind::interrupted &&
         kind != FailureKind::given_up;
}

void write_logs(const AttemptHistory& attempt, PageBudget& budget, HtmlWriter& to) {
  const std::vector<const RecordedFile*> logs = logs_by_interest(attempt);
  if (logs.empty()) return;
  to.markup("<h3>").text(tr("What was printed")).markup("</h3>\n");
  const auto& failure = attempt.told.failure;
  bool open = !attempt.ended || (failure && says_why(failure->kind));
  const std::size_t first = std::min(kLogsShown, logs.size());
  for (std::size_t i = 0; i < first; ++i)
    write_log(*logs[i], std::exchange(open, false), budget, to);
  std::size_t last = first;
  if (first < logs.size())
    to.markup("<details><summary>").text(tr("more logs")).markup("</summary>\n");
  for (; last < logs.size() && budget.logs != 0; ++last) write_log(*logs[last], false, budget, to);
  if (last < logs.size()) to.note(tr("and {} more, in the run directory", logs.size() - last));
  if (first < logs.size()) to.markup("</details>\n");
}

}  // namespace

void write_attempt(const AttemptHistory& attempt, const RunRecord& run, PageBudget& budget,
                   HtmlWriter& to) {
  to.markup("<section id=\"attempt-").text(std::to_string(attempt.told.number));
  to.markup("\"><h2>").text(tr("Attempt {}", attempt.told.number));
  to.markup(" <span class=\"dim\">·</span> ").text(attempt.told.profile, kLongestText);
  to.markup(" ");
  write_end(attempt, run.state, to);
  to.markup("</h2>\n");
  if (attempt.told.failure) write_failure(*attempt.told.failure, run, to);
  write_progress(attempt, to);
  if (const std::string text = standstill_in_words(attempt); !text.empty())
    to.markup("<p>").text(tr(text), kLongestText).markup("</p>\n");
  if (!attempt.nccl.empty()) to.note("NCCL " + tr(cut(attempt.nccl, kLongestText)));
  write_timeline(timeline_of(attempt, kMostBars), to);
  write_figures(attempt, to);
  write_collectives(attempt, to);
  write_stacks(attempt, run.sources, budget, to);
  write_evidence(attempt, budget, to);
  write_environment(attempt, to);
  write_logs(attempt, budget, to);
  if (!attempt.told.next.empty())
    to.markup("<p class=\"next\">")
        .text(tr("Then {}", cut(tr(attempt.told.next), kLongestText)))
        .markup("</p>\n");
  to.markup("</section>\n");
}

}  // namespace safelaunch::report
