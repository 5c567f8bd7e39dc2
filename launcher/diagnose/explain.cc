#include "safelaunch/diagnose/explain.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "case.h"
#include "log_end.h"
#include "log_line.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/diagnose/failure_words.h"
#include "safelaunch/nccl/job.h"

// A log alone has no state of the system, so it names what its lines prove, then what a launcher
// tells of the first rank's end, and only where both are silent the ranks that NCCL lacks. A
// person's words are read as a line first, then as the last line of a traceback, since some
// patterns hold only there.
namespace safelaunch::diagnose {
namespace {

std::string_view policy(const Cause& cause) {
  switch (cause.retry) {
    case Retry::never: return "safelaunch does not try again: every profile would fail alike.";
    case Retry::fallback: return "Before the first collective, the next profile is tried.";
    case Retry::passes_by_itself:
      return "Before the first collective, the same profile is tried again.";
  }
  return {};
}

std::string_view meaning(const Cause& cause) {
  switch (cause.kind) {
    case Kind::cause: return {};
    case Kind::symptom: return "This shows that something failed; a cause may stand elsewhere.";
    case Kind::victim: return "This reports that another rank has failed.";
    case Kind::harmless: return "This is harmless.";
  }
  return {};
}

void add_list(std::string& text, std::string_view title, const std::vector<std::string>& items) {
  if (items.empty()) return;
  text += fmt::format("\n{}\n", tr(title));
  for (const std::string& item : items) text += fmt::format("  {}\n", item);
}

/// "NVIDIA/nccl#290" → its page. A row of a person's own may name a repository, or any page.
std::string page_of(std::string_view link) {
  if (link.find("://") != std::string_view::npos) return std::string(link);
  const std::size_t hash = link.find('#');
  if (hash == std::string_view::npos) return fmt::format("https://github.com/{}", link);
  return fmt::format("https://github.com/{}/issues/{}", link.substr(0, hash),
                     link.substr(hash + 1));
}

std::vector<std::string> pages(const std::vector<std::string>& links) {
  std::vector<std::string> all;
  std::ranges::transform(links, std::back_inserter(all), page_of);
  return all;
}

std::string headline(const Sighting& one) {
  const bool victim = one.cause->kind == Kind::victim;
  const std::string doubt = tr(victim ? "victim: " : only_fits(one) ? "perhaps: " : "");
  const std::string rank = one.rank ? fmt::format(", rank {}", one.rank->value) : "";
  return fmt::format("{}{} ({}{})\n  {}\n", doubt, tr(one.cause->title), one.cause->id, rank,
                     one.line);
}

std::optional<std::string> nccl_silence(std::string_view log) {
  nccl::Job job;
  for_each_line(log, [&](const LogLine& line) { (void)job.read(line.text); });
  if (job.any_complete()) return std::nullopt;
  if (const auto standing = job.unfinished())
    if (const auto missing = standing->missing(); !missing.empty())
      return fmt::format("{} of {} ranks never came to NCCL: {}", missing.size(), standing->ranks,
                         ranks_in_words(missing));
  if (job.in_old_bootstrap() == 0) return std::nullopt;
  return fmt::format("{} processes wait in NCCL's bootstrap", job.in_old_bootstrap());
}

/// Torch's store barrier counts those that have come, again and again: the log ends while it waits.
std::optional<std::string> barrier_silence(std::string_view log) {
  std::string last;
  for_each_line(log, [&](const LogLine& line) {
    if (!trimmed(line.text).empty()) last = line.text;
  });
  const auto world = number_after(last, "world_size=");
  const auto came = number_after(last, "worker_count=");
  if (last.find("Waiting in store based barrier") == std::string::npos || !world || !came ||
      *came >= *world)
    return std::nullopt;
  return fmt::format("{} of {} ranks had come to the store's barrier", *came, *world);
}

/// The harmless rows whose lines the log has, each once.
std::vector<const Cause*> harmless_in(std::string_view log, const Catalogue& catalogue) {
  std::vector<const Cause*> found;
  for_each_line(log, [&](const LogLine& line) {
    for (const Match& match : catalogue.match(line.text))
      if (match.cause->kind == Kind::harmless &&
          std::ranges::find(found, match.cause) == found.end())
        found.push_back(match.cause);
  });
  return found;
}

/// Words that people use and no program prints.
struct CommonName {
  std::string_view words;  ///< the name in lower case
  std::string_view cause;
};
constexpr std::array kCommonNames{
    CommonName{"nccl timeout", cause::kWatchdogTimeout},
    CommonName{"nccl timed out", cause::kWatchdogTimeout},
    CommonName{"nccl operation timed out", cause::kWatchdogTimeout},
    CommonName{"out of gpu memory", cause::kGpuOom},
    CommonName{"shared memory too small", cause::kShmSmall},
    CommonName{"bus error", cause::kShmSmall},
    CommonName{"sigbus", cause::kShmSmall},
    CommonName{"oom-kill", cause::kHostOom},
    CommonName{"out of host memory", cause::kHostOom},
    CommonName{"exitcode: -9", cause::kHostOom},
    CommonName{"exitcode  : -9", cause::kHostOom},
    CommonName{"signal 9", cause::kHostOom},
    CommonName{"sigkill", cause::kHostOom},
    CommonName{"connection refused", cause::kConnectFailed},
    CommonName{"no route to host", cause::kConnectFailed},
    CommonName{"network is unreachable", cause::kConnectFailed},
    CommonName{"segmentation fault", cause::kRankCrashed},
    CommonName{"segfault", cause::kRankCrashed},
    CommonName{" killed ", cause::kHostOom},
    CommonName{"no space left on device", cause::kDiskFull},
    CommonName{"disk quota exceeded", cause::kDiskFull},
    CommonName{" at init", cause::kInitStuck},
    CommonName{" hang ", cause::kCollectiveStuck},
    CommonName{" hangs ", cause::kCollectiveStuck},
    CommonName{" stuck ", cause::kCollectiveStuck},
};

// Some patterns hold only for the last line of a traceback, which a person leaves out.
std::string as_exception(std::string_view words) {
  return fmt::format(
      "Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\n{}{}\n",
      words.find("Error: ") == std::string_view::npos ? "RuntimeError: " : "", words);
}

}  // namespace

const Cause* cause_named_by(std::string_view words, const Catalogue& catalogue) {
  for (const std::string& text : {std::string(words), as_exception(words)})
    for (const Sighting& one : read_log(text, catalogue))
      if (one.cause->id != cause::kUserException) return one.cause;
  if (const auto harmless = harmless_in(words, catalogue); !harmless.empty())
    return harmless.front();
  const std::string lower = fmt::format(" {} ", safelaunch::lower(words));
  const auto known = std::ranges::find_if(kCommonNames, [&](const CommonName& name) {
    return lower.find(name.words) != std::string::npos;
  });
  if (known != kCommonNames.end()) return &catalogue.at(known->cause);
  const std::vector<const Cause*> chinese = causes_in_chinese(words, catalogue);
  return chinese.empty() ? nullptr : chinese.front();
}

std::string explain(const Cause& cause) {
  std::string text = fmt::format("{}{}{}\n{}\n\n", cause.id, cause.ref.empty() ? "" : "  ",
                                 cause.ref, tr(cause.title));
  if (!meaning(cause).empty()) text += tr(meaning(cause)) + "\n";
  text += tr(cause.remedy) + "\n";
  if (cause.kind != Kind::harmless) text += tr(policy(cause)) + "\n";
  add_list(text, "To look closer or to fix it:", cause.commands);
  add_list(text, "A line with one of these shows it:", cause.patterns);
  add_list(text, "A hang after a line with one of these is likely due to it:", cause.hints);
  add_list(text,
           "A rank is likely missing because of it after a line with one of these:", cause.absence);
  add_list(text, "Reports of others:", pages(cause.links));
  return text;
}

std::vector<Sighting> read_log(std::string_view log, const Catalogue& catalogue) {
  std::vector<Sighting> all =
      sightings(Output{.source = "log", .rank = std::nullopt, .text = std::string(log)}, catalogue);
  std::erase_if(all, [](const Sighting& one) { return one.strength > Strength::warning; });
  if (const auto told = reported_exit(log))
    std::ranges::move(sightings(told->status, told->rank, catalogue), std::back_inserter(all));
  sort_by_weight(all);
  // torch tells some things twice, first as a warning.
  std::set<std::pair<const Cause*, std::optional<Rank>>> told;
  std::erase_if(all,
                [&](const Sighting& one) { return !told.emplace(one.cause, one.rank).second; });
  if (!all.empty()) return all;
  auto silence = nccl_silence(log);
  if (!silence) silence = barrier_silence(log);
  if (silence)
    all.push_back(
        {&catalogue.at(cause::kRankMissing), Strength::hint, *silence, std::nullopt, "log"});
  return all;
}

std::string causes_json(std::span<const Sighting> seen) {
  nlohmann::ordered_json causes = nlohmann::ordered_json::array();
  for (const Sighting& one : seen) {
    const Cause& cause = *one.cause;
    nlohmann::ordered_json told = {{"cause", cause.id},          {"title", cause.title},
                                   {"kind", name(cause.kind)},   {"retry", name(cause.retry)},
                                   {"remedy", cause.remedy},     {"commands", cause.commands},
                                   {"links", pages(cause.links)}};
    if (!one.line.empty()) {
      told["line"] = one.line;
      told["certainty"] = name(only_fits(one) ? Certainty::guess : Certainty::matched);
    }
    if (one.rank) told["rank"] = one.rank->value;
    causes.push_back(std::move(told));
  }
  const nlohmann::ordered_json all = {{"causes", std::move(causes)}};
  return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string explain_log(std::string_view log, const Catalogue& catalogue) {
  const std::vector<Sighting> all = read_log(log, catalogue);
  if (all.empty()) {
    std::string text = tr("No known cause shows in this log.") + "\n";
    for (const Cause* harmless : harmless_in(log, catalogue))
      text += tr("harmless: {} ({})", tr(harmless->title), harmless->id) + "\n";
    if (const std::string_view end = at_the_end_of(log); !end.empty())
      text += tr(end) + "\n" +
              tr("If the job still runs, safelaunch stacks shows where every rank stands. Often it "
                 "is a lock that a dead build left (safelaunch doctor), a rank that never came, or "
                 "the network interface.") +
              "\n";
    return text;
  }
  std::string text;
  for (const Sighting& one : all) {
    text += headline(one);
    if (&one == &all.front()) text += fmt::format("  {}\n", tr(one.cause->remedy));
  }
  const std::string words = tracebacks(log).empty() ? "" : failure_words(log, catalogue);
  if (!words.empty())
    text += fmt::format("\n{}\n{}", tr("The first rank that failed said:"), words);
  return text;
}

}  // namespace safelaunch::diagnose
