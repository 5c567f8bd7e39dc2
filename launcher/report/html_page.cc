#include "html_page.h"

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/report/report.h"
#include "safelaunch/report/run_directory.h"
#include "source_lines.h"

namespace safelaunch::report {
namespace {

constexpr std::size_t kLongestLine = 1'000;
constexpr std::size_t kMostFindings = 200;

void write_findings(const RunRecord& run, HtmlWriter& to) {
  if (run.findings.empty()) return;
  to.markup("<section><h2>Found before the run</h2>\n<ul class=\"findings\">");
  for (std::size_t i = 0; i < std::min(kMostFindings, run.findings.size()); ++i) {
    const Finding& finding = run.findings[i];
    finding.severity == Severity::blocks ? to.markup("<li><span class=\"tag bad\">")
                                         : to.markup("<li><span class=\"tag\">");
    to.text(name(finding.severity)).markup("</span> <code>").text(finding.cause);
    to.markup("</code> ").text(finding.evidence, kLongestText);
    if (!finding.remedy.empty())
      to.markup("<br><span class=\"dim\">Remedy</span> ").text(finding.remedy, kLongestText);
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
  to.markup(
      "<section><details><summary>All that was recorded</summary><div class=\"wide\">"
      "<table class=\"events\"><tr><th>after</th><th>attempt</th><th>event</th><th></th></tr>\n");
  for (std::size_t i = 0; i < run.lines.size(); ++i) {
    if (run.lines_left_out != 0 && i == run.lines.size() / 2)
      to.markup("<tr><td colspan=\"4\" class=\"dim\">")
          .text(std::to_string(run.lines_left_out))
          .markup(" lines are left out here; events.jsonl has them</td></tr>\n");
    write_line(run.lines[i], to);
  }
  to.markup("</table></div></details></section>\n");
}

void write_foot(const RunRecord& run, HtmlWriter& to) {
  to.markup(
      "<footer>Written by safelaunch. Secrets that it could recognise are replaced by "
      "[redacted].");
  if (run.unreadable != 0)
    to.markup(" ")
        .text(std::to_string(run.unreadable))
        .markup(" lines of the record were unreadable.");
  to.markup("</footer>\n");
}

// Fills in the template in one pass, so that a "{{body}}" in the title is not filled in itself.
std::string filled(std::string_view page, std::string_view title, std::string_view body) {
  std::string result;
  constexpr std::string_view kTitle = "{{title}}";
  constexpr std::string_view kBody = "{{body}}";
  const std::size_t title_at = page.find(kTitle);
  const std::size_t body_at = page.find(kBody);
  result.append(page.substr(0, title_at)).append(title);
  result.append(page.substr(title_at + kTitle.size(), body_at - title_at - kTitle.size()));
  return result.append(body).append(page.substr(body_at + kBody.size()));
}

}  // namespace

HtmlWriter& HtmlWriter::text(std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '&': html_ += "&amp;"; break;
      case '<': html_ += "&lt;"; break;
      case '>': html_ += "&gt;"; break;
      case '"': html_ += "&quot;"; break;
      case '\'': html_ += "&#39;"; break;
      default: html_ += c;
    }
  }
  return *this;
}

HtmlWriter& HtmlWriter::text(std::string_view all, std::size_t most) {
  const std::string_view shown = cut(all, most);
  text(shown);
  return shown.size() < all.size() ? markup("…") : *this;
}

HtmlWriter& HtmlWriter::percent(double share) {
  html_ += fmt::format("{:.2f}%", 100 * std::clamp(share, 0.0, 1.0));
  return *this;
}

std::string_view cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0U) == 0x80) --most;
  return text.substr(0, most);
}

std::string html_report(const RunRecord& run) {
  HtmlWriter body;
  PageBudget budget;
  write_head(run, body);
  write_overview(run, body);
  write_findings(run, body);
  for (const AttemptHistory& attempt : run.attempts) write_attempt(attempt, run, budget, body);
  write_lines(run, body);
  write_foot(run, body);
  HtmlWriter title;
  title.text(headline_text(run) + " · " + run.id, kLongestLine);
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
  return write_atomically(directory / "report.html", html_report(run));
}

}  // namespace safelaunch::report
