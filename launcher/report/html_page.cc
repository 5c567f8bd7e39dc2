#include "html_page.h"

#include <algorithm>

#include "excerpts.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/source_place.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/report/report.h"
#include "safelaunch/report/run_directory.h"

// The page is one file without script, network or fonts. Its parts are written one after the other
// into an HtmlWriter, and each text is cut before it is escaped, so that no cut falls into an
// entity. Counts bound every list: a page of a thousand ranks stays a few megabytes.
namespace safelaunch::report {
namespace {

constexpr std::size_t kLongestLine = 1'000;
constexpr std::size_t kMostFindings = 200;

void write_findings(const RunRecord& run, HtmlWriter& to) {
  if (run.findings.empty()) return;
  to.markup("<section><h2>")
      .text(tr("Found before the run"))
      .markup("</h2>\n<ul class=\"findings\">");
  for (std::size_t i = 0; i < std::min(kMostFindings, run.findings.size()); ++i) {
    const Finding& finding = run.findings[i];
    finding.severity == Severity::blocks ? to.markup("<li><span class=\"tag bad\">")
                                         : to.markup("<li><span class=\"tag\">");
    to.text(tr(name(finding.severity))).markup("</span> <code>").text(finding.cause);
    to.markup("</code> ").text(tr(finding.evidence), kLongestText);
    if (!finding.remedy.empty())
      to.markup("<br><span class=\"dim\">")
          .text(tr("Remedy"))
          .markup("</span> ")
          .text(tr(finding.remedy), kLongestText);
    to.markup("</li>\n");
  }
  to.markup("</ul></section>\n");
}

void write_line(const RecordedLine& line, HtmlWriter& to) {
  to.markup("<tr><td>").text(describe_duration(line.at)).markup("</td><td>");
  if (line.attempt != 0) to.text(std::to_string(line.attempt));
  to.markup("</td><td>").text(line.what, kLongestLine).markup("</td><td>");
  to.text(line.text, kLongestLine).markup("</td></tr>\n");
}

void write_lines(const RunRecord& run, HtmlWriter& to) {
  if (run.lines.empty()) return;
  to.markup("<details><summary>").text(tr("All that was recorded"));
  to.markup("</summary><div class=\"wide\"><table class=\"events\"><tr>");
  for (const char* column : {"after", "attempt", "event", ""})
    to.markup("<th>").text(tr(column)).markup("</th>");
  to.markup("</tr>\n");
  for (std::size_t i = 0; i < run.lines.size(); ++i) {
    if (run.lines_left_out != 0 && i == run.lines.size() / 2)
      to.markup("<tr><td colspan=\"4\" class=\"dim\">")
          .text(tr("{} lines are left out here; events.jsonl has them", run.lines_left_out))
          .markup("</td></tr>\n");
    write_line(run.lines[i], to);
  }
  to.markup("</table></div></details>\n");
}

void write_foot(const RunRecord& run, HtmlWriter& to) {
  to.markup("<footer>");
  to.text(tr("Written by safelaunch. Secrets that it could recognise are replaced by [redacted]."));
  if (run.unreadable != 0)
    to.markup(" ").text(tr("{} lines of the record were unreadable.", run.unreadable));
  to.markup("</footer>\n");
}

// Fills in the template in one pass, so that a "{{body}}" in the title is not filled in itself.
std::string filled(std::string_view page, std::string_view title, std::string_view body) {
  std::string result;
  constexpr std::string_view kTitle = "{{title}}";
  constexpr std::string_view kBody = "{{body}}";
  constexpr std::string_view kLanguage = "lang=\"en\"";
  const std::size_t language_at = page.find(kLanguage);
  result.append(page.substr(0, language_at)).append(tr("lang=\"en\""));
  page.remove_prefix(language_at + kLanguage.size());
  const std::size_t title_at = page.find(kTitle);
  const std::size_t body_at = page.find(kBody);
  result.append(page.substr(0, title_at)).append(title);
  result.append(page.substr(title_at + kTitle.size(), body_at - title_at - kTitle.size()));
  return result.append(body).append(page.substr(body_at + kBody.size()));
}

constexpr std::size_t kLongestHeadline = 1'000;

// The end of the run in a word or two, with its colour.
struct Headline {
  enum class Mood { good, bad, open };
  std::string text;
  Mood mood = Mood::open;
};

Headline headline_of(const RunRecord& run) {
  if (run.state == RunRecord::State::running) return {"Still running", Headline::Mood::open};
  if (run.state == RunRecord::State::cut_off) return {"Cut off", Headline::Mood::bad};
  if (run.summary.attempts.empty()) return {"No attempt was made", Headline::Mood::bad};
  const AttemptSummary& last = run.summary.attempts.back();
  if (!last.failure) {
    const bool healed = run.summary.attempts.size() > 1;
    return {healed ? "Worked with " + last.profile : "Completed", Headline::Mood::good};
  }
  std::string text = end_name(last.failure);
  text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return {text, Headline::Mood::bad};
}

// What a tab and the preview in a chat show: "Hung: rank 1 never joined … · train.py:48 · RUN".
std::string title_of(const RunRecord& run) {
  std::string title = tr(headline_text(run));
  const AttemptSummary* told = told_in_head(run);
  if (told != nullptr && !told->failure->headline.empty() && run.summary.attempts.back().failure) {
    const Failure& failure = *told->failure;
    title += ": " + tr(failure.headline);
    if (!failure.places.empty())
      title += fmt::format(" · {}", source_place(failure.places.front()));
  }
  return title + " · " + run.id;
}

// A large fact, a phrase or a path, has a line of its own.
enum class FactSize { small, large };

void write_fact(const char* label, std::string_view value, FactSize size, HtmlWriter& to) {
  if (value.empty()) return;
  size == FactSize::large ? to.markup("<div class=\"long\">") : to.markup("<div>");
  to.markup("<dt>").text(tr(label)).markup("</dt><dd>").path(cut(value, kLongestText));
  to.markup("</dd></div>\n");
}

void write_verdict(const RunRecord& run, HtmlWriter& to) {
  const AttemptSummary* told = told_in_head(run);
  if (told == nullptr) return;
  const Failure& failure = *told->failure;
  const bool healed = !run.summary.attempts.back().failure;
  if (healed) to.note(tr("{} failed:", told->profile));
  write_cause(failure, to);
  if (healed) return;
  write_remedy(failure, to);
  const auto attempt = std::ranges::find(run.attempts, told->number,
                                         [](const AttemptHistory& one) { return one.told.number; });
  if (attempt == run.attempts.end() || attempt->stacks.empty()) return;
  to.markup("<p><a href=\"#stood-").text(std::to_string(told->number)).markup("\">");
  to.text(tr("Where the ranks stood")).markup("</a></p>\n");
}

bool is_of_profiles(std::string_view word) {
  return word.starts_with("--profile=") || word == "--forget";
}

// A run that needed another profile begins with that one.
std::vector<std::string> words_again(const RunRecord& run) {
  const auto& attempts = run.summary.attempts;
  const bool healed = attempts.size() > 1 && !attempts.back().failure;
  std::vector<std::string> words{"safelaunch"};
  if (healed) words.push_back(shell_word("--profile=" + attempts.back().profile));
  for (const std::string& option : run.options)
    if (!healed || !is_of_profiles(option)) words.push_back(shell_word(option));
  words.emplace_back("--");
  for (const std::string& word : run.summary.command) words.push_back(shell_word(word));
  return words;
}

void write_command(const RunRecord& run, HtmlWriter& to) {
  if (run.summary.command.empty()) return;
  to.markup("<h3>").text(tr("To run it again")).markup("</h3>\n<pre class=\"command\">");
  if (!run.working_directory.empty())
    to.text("cd " + shell_word(run.working_directory) + "\n", kLongestText);
  std::size_t left = kLongestText;
  for (const std::string& word : words_again(run)) {  // none is broken where it fits into a line
    if (left < kLongestText) to.markup(" ");
    to.markup("<span>").text(word, left).markup("</span>");
    if ((left -= std::min(left, word.size() + 1)) == 0) break;
  }
  to.markup("</pre>\n");
}

// What whoever is asked for help wants to know first, to be copied as a whole. It stays English.
std::string issue_of(const RunRecord& run) {
  std::string text = headline_text(run);
  if (const AttemptSummary* told = told_in_head(run); told != nullptr) {
    const Failure& failure = *told->failure;
    if (!failure.headline.empty()) text += ": " + failure.headline;
    for (const std::string& place : failure.places) text += "\n  --> " + place;
    if (!failure.details.empty()) text += "\n" + failure.details;
    if (!failure.cause.empty())
      text += fmt::format("\ncause: {} ({})", failure.cause, name(failure.certainty));
  }
  text += fmt::format(
      "\n\n{}\n{} after {}, {}\n", join(words_again(run), " "),
      run.state == RunRecord::State::ended ? fmt::format("exit status {}", run.summary.exit_code)
                                           : name(run.state),
      describe_duration(run.took),
      run.attempts.size() == 1 ? "1 attempt" : fmt::format("{} attempts", run.attempts.size()));
  if (run.host) text += in_words(*run.host) + "\n";
  return text;
}

void write_issue(const RunRecord& run, HtmlWriter& to) {
  to.markup("<details><summary>")
      .text(tr("Text for an issue"))
      .markup("</summary><pre class=\"command\">");
  to.text(issue_of(run), kLongestText).markup("</pre></details>\n");
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '&': html += "&amp;"; break;
      case '<': html += "&lt;"; break;
      case '>': html += "&gt;"; break;
      case '"': html += "&quot;"; break;
      case '\'': html += "&#39;"; break;
      default: html += c;
    }
  }
  return html;
}

HtmlWriter& HtmlWriter::text(std::string_view text) {
  html_ += html_text(text);
  return *this;
}

HtmlWriter& HtmlWriter::text(std::string_view all, std::size_t most) {
  const std::string_view shown = cut(all, most);
  text(shown);
  return shown.size() < all.size() ? markup("…") : *this;
}

HtmlWriter& HtmlWriter::path(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('/'), text.size() - 1) + 1;
    html_ += html_text(text.substr(0, end));
    if (text[end - 1] == '/') html_ += "<wbr>";
    text.remove_prefix(end);
  }
  return *this;
}

HtmlWriter& HtmlWriter::percent(double share) {
  html_ += fmt::format("{:.2f}%", 100 * std::clamp(share, 0.0, 1.0));
  return *this;
}

std::string html_report(const RunRecord& run) {
  HtmlWriter body;
  PageBudget budget;
  write_head(run, body);
  write_overview(run, body);
  write_findings(run, body);
  write_ways(run, body);
  for (const AttemptHistory& attempt : run.attempts) write_attempt(attempt, run, budget, body);
  body.markup("<section>");
  write_issue(run, body);
  write_lines(run, body);
  body.markup("</section>\n");
  write_foot(run, body);
  HtmlWriter title;
  title.text(title_of(run), kLongestLine);
  return filled(report_template().front().text, title.take(), body.take());
}

bool is_report_page(const std::string& file) {
  constexpr std::size_t kHead = 1024;
  constexpr std::string_view kSign = "<meta name=\"generator\" content=\"safelaunch\">";
  return user_file_text(file, kHead).value_or("").find(kSign) != std::string::npos;
}

RunFiles files_for_page(const std::filesystem::path& directory, const Environment& environment) {
  RunFiles files = read_run_files(directory);
  add_sources(files);
  return cleaned(std::move(files), environment);
}

bool write_report_page(const std::filesystem::path& directory, const Environment& environment) {
  const RunRecord run = parse_run(files_for_page(directory, environment));
  return replace_file(directory / "report.html", html_report(run)).has_value();
}

const AttemptSummary* told_in_head(const RunRecord& run) {
  const auto& attempts = run.summary.attempts;
  const auto found = std::find_if(attempts.rbegin(), attempts.rend(), [](const auto& attempt) {
    return attempt.failure && attempt.failure->kind != FailureKind::given_up;
  });
  return found == attempts.rend() ? nullptr : &*found;
}

void write_cause(const Failure& failure, HtmlWriter& to) {
  const std::string& lead = failure.headline.empty() ? failure.explanation : failure.headline;
  if (!lead.empty()) to.markup("<p class=\"lead\">").text(tr(lead), kLongestText).markup("</p>\n");
  for (const std::string& place : failure.places)
    to.markup("<pre class=\"place\">").text(place, kLongestText).markup("</pre>\n");
  if (!failure.details.empty() && failure.details != lead)
    to.markup("<p>").text(tr(failure.details), kLongestText).markup("</p>\n");
  if (failure.cause.empty()) return;
  to.markup("<p><span class=\"dim\">").text(tr("Cause")).markup("</span> ");
  if (failure.title != lead) to.text(tr(failure.title), kLongestText).markup(" ");
  to.markup("<code>").text(failure.cause).markup("</code> <span class=\"tag\">");
  to.text(tr(name(failure.certainty))).markup("</span></p>\n");
}

void write_remedy(const Failure& failure, HtmlWriter& to) {
  if (failure.remedy.empty()) return;
  to.markup("<p><span class=\"dim\">").text(tr("Remedy")).markup("</span> ");
  to.text(tr(failure.remedy), kLongestText).markup("</p>\n");
}

std::string headline_text(const RunRecord& run) {
  return headline_of(run).text;
}

// The head answers a reader's first questions: how it ended, who and what was the cause, what to
// do, and how to run it again.
void write_head(const RunRecord& run, HtmlWriter& to) {
  const Headline headline = headline_of(run);
  switch (headline.mood) {
    case Headline::Mood::good: to.markup("<header class=\"good\">"); break;
    case Headline::Mood::bad: to.markup("<header class=\"bad\">"); break;
    case Headline::Mood::open: to.markup("<header>"); break;
  }
  to.markup("<h1>").text(tr(headline.text), kLongestHeadline).markup("</h1>\n");
  if (run.state == RunRecord::State::running)
    to.note(tr("This is how far it had come when the page was written."));
  if (run.state == RunRecord::State::cut_off)
    to.note(
        tr("Its safelaunch ended without writing an outcome: it was killed, or the machine "
           "went down."));
  write_verdict(run, to);
  write_command(run, to);
  to.markup("<dl>");
  const bool ended = run.state == RunRecord::State::ended;
  const std::string exit_status = ended ? std::to_string(run.summary.exit_code) : "";
  write_fact("Run", run.id, FactSize::small, to);
  write_fact("Started", local_time(run.started), FactSize::small, to);
  write_fact("Took", describe_duration(run.took), FactSize::small, to);
  write_fact("Exit status", exit_status, FactSize::small, to);
  write_fact("Cost", tr(run.summary.cost), FactSize::large, to);
  write_fact("Stopped because", tr(run.summary.stopped_because), FactSize::large, to);
  write_fact("Logs and evidence", run.directory, FactSize::large, to);
  to.markup("</dl></header>\n");
}

}  // namespace safelaunch::report
