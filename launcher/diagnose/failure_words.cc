// The traceback of the first rank that is no victim: of the rank that is known or reported to have
// failed first, else of any rank. A text without tracebacks is shown by its last lines, up to the
// place where the launcher begins to sum up.
#include "safelaunch/diagnose/failure_words.h"

#include <algorithm>
#include <array>
#include <deque>

#include "log_line.h"
#include "safelaunch/job/launcher_report.h"

namespace safelaunch::diagnose {
namespace {

/// Enough lines to see the last words of a program; the files hold all of them.
constexpr std::size_t kLastLines = 20;

bool is_victim(const Traceback& one, const Catalogue& catalogue) {
  const std::string error = one.type + ": " + one.message.substr(0, one.message.find('\n'));
  const std::vector<Match> matches = catalogue.match(error);
  return std::ranges::any_of(matches,
                             [](const Match& match) { return match.cause->kind == Kind::victim; });
}

/// Whether the launcher begins to sum up with this line; the lines below are not the ranks' own.
bool is_launchers_summary(std::string_view line) {
  constexpr std::array<std::string_view, 6> kSigns = {
      "Sending process ",    "failed (exitcode: ",          "sigkill_handler",
      "Terminating process", "Traceback (most recent call", "torch/distributed/run.py"};
  return std::ranges::any_of(
      kSigns, [&](std::string_view sign) { return line.find(sign) != std::string_view::npos; });
}

std::string last_lines(std::string_view text) {
  std::deque<std::string_view> last;
  bool in_summary = false;
  for_each_line(text, [&](const LogLine& line) {
    if (line.text.find("torch/distributed/run.py") != std::string_view::npos) return;
    in_summary = in_summary || is_launchers_summary(line.text);
    if (in_summary) return;
    last.push_back(line.text);
    if (last.size() > kLastLines) last.pop_front();
  });
  std::string joined;
  for (const std::string_view line : last) (joined += line) += '\n';
  return joined;
}

}  // namespace

std::optional<ReportedExit> reported_exit(std::string_view text) {
  for (const job::Launcher launcher : {job::Launcher::torchrun, job::Launcher::python,
                                       job::Launcher::deepspeed, job::Launcher::accelerate}) {
    const auto failure = job::read_launcher_failure(launcher, text);
    if (failure && failure->status)
      return ReportedExit{rank_of(launcher, *failure), *failure->status};
  }
  return std::nullopt;
}

std::string failure_words(std::string_view text, const Catalogue& catalogue,
                          std::optional<Rank> rank) {
  const std::vector<Traceback> all = tracebacks(text);
  if (all.empty()) return last_lines(text);
  if (!rank)
    if (const auto reported = reported_exit(text)) rank = reported->rank;
  const auto of_rank = [&](const Traceback& one) { return rank && one.rank == rank; };
  const auto not_victim = [&](const Traceback& one) { return !is_victim(one, catalogue); };
  const auto first_culprit = std::ranges::find_if(
      all, [&](const Traceback& one) { return of_rank(one) && not_victim(one); });
  if (first_culprit != all.end()) return first_culprit->text;
  const auto first = std::ranges::find_if(all, not_victim);
  return first != all.end() ? first->text : all.front().text;
}

}  // namespace safelaunch::diagnose
