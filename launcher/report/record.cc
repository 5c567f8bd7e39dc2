#include "safelaunch/report/record.h"

#include <algorithm>

#include "json.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/base/strings.h"

// Reading and writing go through the same list of fields, so an event cannot be written in a way
// that is not read. A field of another type reads as if it were missing, and an event of another
// name keeps its text.
namespace safelaunch::report::record {
namespace {

constexpr int kMiB = 20;  // bits

void read(const Json& json, const char* key, std::string& member) {
  member = text_of(json, key);
}

void read(const Json& json, const char* key, std::vector<std::string>& member) {
  member = texts_of(json, key);
}

void read(const Json& json, const char* key, std::vector<int>& member) {
  member = numbers_of(json, key);
}

void read(const Json& json, const char* key, bool& member) {
  member = is_true(json, key);
}

void read(const Json& json, const char* key, int& member) {
  member = number_of(json, key).value_or(member);
}

void read(const Json& json, const char* key, std::int64_t& member) {
  member = number_of<std::int64_t>(json, key).value_or(member);
}

template <class One>
bool read_as(const Json& json, std::string_view name, Event& event) {
  if (name != One::kName) return false;
  One& one = event.emplace<One>();
  One::fields(one, [&](const char* key, auto& member) { read(json, key, member); });
  return true;
}

template <class... All>
bool read_any(const Json& json, std::string_view name, std::variant<All...>& event) {
  return (read_as<All>(json, name, event) || ...);
}

std::string words_of(const Run& run) {
  return shell_line(run.command);
}

std::string words_of(const Finding& finding) {
  return fmt::format("{} ({}): {}", finding.id, finding.severity, finding.evidence);
}

std::string words_of(const Attempt& attempt) {
  return attempt.profile;
}

std::string words_of(const Stage& stage) {
  return fmt::format("rank {}: {}", stage.rank, stage.stage);
}

std::string words_of(const Node& node) {
  std::vector<Rank> ranks;
  for (const int rank : node.ranks) ranks.push_back(Rank{rank});
  return fmt::format("node {} ({}): {}", node.node, node.host, rank_list(ranks));
}

std::string words_of(const Ways& ways) {
  const auto left_out = static_cast<std::size_t>(std::max(0, ways.left_out));
  const auto reached = static_cast<std::size_t>(std::ranges::count(ways.end, "reached"));
  return fmt::format("{} nodes, {} of {} ways are reached", ways.hosts.size(), reached + left_out,
                     ways.end.size() + left_out);
}

std::string words_of(const Training&) {
  return {};
}

std::string words_of(const Usage& usage) {
  return fmt::format("CPU and memory of {} ranks", usage.ranks.size());
}

std::string words_of(const Counted& counted) {
  return fmt::format("rank {} has finished {} collectives", counted.rank, counted.collectives);
}

std::string words_of(const Gpus& gpus) {
  return fmt::format("memory and work of {} GPUs", gpus.gpu.size());
}

std::string words_of(const Nccl& nccl) {
  return in_words(nccl);
}

std::string words_of(const Host& host) {
  return in_words(host);
}

std::string words_of(const Collectives& collectives) {
  std::vector<std::string> words{collectives.contradiction, collectives.behind, collectives.store};
  std::erase(words, "");
  return join(words.empty() ? collectives.ranks : words, "; ");
}

std::string words_of(const Segments& segments) {
  return fmt::format("{} removed, {} MiB", join(segments.removed, " "), segments.bytes >> kMiB);
}

std::string words_of(const Cause& cause) {
  return fmt::format("{} ({}): {}", cause.id, cause.certainty, cause.text);
}

std::string words_of(const Exit& exit) {
  return exit.rank < 0 ? "the launcher: " + exit.status
                       : fmt::format("rank {}: {}", exit.rank, exit.status);
}

std::string words_of(const Signal& signal) {
  return fmt::format("{} from {}", signal.signal,
                     signal.sender == 0 ? "the kernel" : fmt::format("pid {}", signal.sender));
}

std::string words_of(const Stall& stall) {
  return in_words(stall);
}

std::string words_of(const Straggler& straggler) {
  return in_words(straggler);
}

std::string words_of(const HookError& error) {
  return error.where + ": " + error.error;
}

std::string words_of(const Unheard& unheard) {
  return fmt::format("{} messages of ranks", unheard.count);
}

std::string words_of(const Unrecorded& more) {
  return fmt::format("{} more{}{}", more.count, more.event.empty() ? "" : " of ", more.event);
}

std::string words_of(const End& end) {
  return fmt::format("exit status {}", end.exit_status);
}

// The words of all other events are their text.
std::string words_of(const auto& event) {
  return event.text;
}

}  // namespace

Verdict event_of(const Failure& verdict) {
  const auto stage = safelaunch::name(verdict.stage.value_or(safelaunch::Stage::spawned));
  Verdict event{safelaunch::name(verdict.kind), stage, describe(verdict), {}, {}, 0};
  event.waited =
      static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(verdict.waited).count());
  for (const Rank rank : verdict.waiting) event.waiting.push_back(rank.value);
  for (const MissingRank& one : verdict.missing) event.missing.push_back(one.rank.value);
  return event;
}

Failure failure_of(const Verdict& event) {
  Failure verdict{.kind = failure_kind_named(event.kind).value_or(FailureKind::failed),
                  .stage = stage_named(event.stage),
                  .waited = std::chrono::seconds(event.waited)};
  for (const int rank : event.waiting) verdict.waiting.push_back(Rank{rank});
  for (const int rank : event.missing) verdict.missing.push_back({.rank = Rank{rank}});
  std::ranges::sort(verdict.waiting);
  std::ranges::sort(verdict.missing, {}, &MissingRank::rank);
  return verdict;
}

std::optional<Line> read_line(std::string_view line) {
  const Json json = parse_json<Json>(line);
  const std::string name = text_of(json, "e");
  if (name.empty()) return std::nullopt;
  Line read{duration_of(json, "t"), number_of(json, "attempt").value_or(0), {}};
  if (!read_any(json, name, std::get<Event>(read.event)))
    read.event = Unknown{name, text_of(json, "text")};
  return read;
}

const char* name(const Event& event) {
  return std::visit([](const auto& one) { return one.kName; }, event);
}

std::string name(const Line& line) {
  if (const auto* unknown = std::get_if<Unknown>(&line.event)) return unknown->name;
  return name(std::get<Event>(line.event));
}

std::string in_words(const Line& line) {
  if (const auto* unknown = std::get_if<Unknown>(&line.event)) return unknown->text;
  return std::visit([](const auto& one) { return words_of(one); }, std::get<Event>(line.event));
}

const char* phase_in_words(bool serves) {
  return serves ? "serving" : "training";
}

const char* subject(bool serves) {
  return serves ? "the server" : "training";
}

std::string in_words(const Stall& stall) {
  const std::string who = subject(stall.serves);
  if (stall.phase == Stall::kWorks) return who + " waits for ranks that work: " + stall.text;
  return who + (stall.phase == Stall::kOver ? " goes on, after " : " stands still: ") + stall.text;
}

std::string in_words(const Straggler& straggler) {
  if (straggler.rank < 0) return "no rank comes last to most collectives any more";
  constexpr int kMillisecond = 1'000;
  const std::string place = straggler.where.empty()
                                ? ""
                                : fmt::format("; in {} at {} of {} looks", straggler.where,
                                              straggler.seen, straggler.looks);
  return fmt::format(
      "rank {} came last to {} of {} collectives, {} ms after the others, which waited {} % of the "
      "time for it{}",
      straggler.rank, straggler.last, straggler.of, straggler.behind_us / kMillisecond,
      straggler.waited, place);
}

std::string in_words(const Host& host) {
  std::string text = "safelaunch " + host.safelaunch;
  const auto add = [&](const char* what, const std::string& fact) {
    if (!fact.empty()) text += fmt::format(", {}{}", what, fact);
  };
  add("torch ", host.torch);
  add("NCCL ", host.nccl);
  add("driver ", host.driver);
  add("", host.gpus);
  return fmt::format("{}; {} on {}", text, host.system, host.host);
}

std::string in_words(const Nccl& nccl) {
  std::string text = nccl.version;
  const auto add = [&](const char* what, const std::vector<std::string>& words) {
    if (!words.empty()) text += fmt::format(" · {} {}", what, join(words, " "));
  };
  add("interface", nccl.interface);
  add("network", nccl.network);
  add("transport", nccl.transport);
  add("unread", nccl.unread);
  return nccl.standing.empty() ? text : text + " · " + nccl.standing;
}

}  // namespace safelaunch::report::record
