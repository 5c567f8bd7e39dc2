#include "safelaunch/diagnose/diagnosis.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "log_line.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/diagnose/failure_words.h"

// A line shows each cause with a pattern that matches it and whose scope its kind lies in, unless a
// more specific or a harmless cause matches the same line. Source lines inside a traceback are
// skipped, for they may quote anything. A traceback none of whose lines proves a cause becomes a
// sighting of its own, the user's exception, at the place where it stands in the text.
namespace safelaunch::diagnose {
namespace {

bool in_scope(const Match& match, LineKind kind) {
  if (match.strength != Strength::proof) return true;  // hints mostly stand on INFO lines
  switch (match.cause->scope) {
    case Scope::any: return kind != LineKind::nccl_info;
    case Scope::nccl_warn: return kind == LineKind::nccl_warn || kind == LineKind::python_error;
    case Scope::python:
    case Scope::exception: return kind == LineKind::python_error;
  }
  return false;
}

/// The bytes of "8.00 GiB" behind the words; nullopt where there is no such amount.
std::optional<double> memory_after(std::string_view line, std::string_view words) {
  const std::size_t at = line.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(at + words.size());
  double amount = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), amount);
  if (error != std::errc{}) return std::nullopt;
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits{
      {{" bytes", 1.0}, {" KiB", 0x1p10}, {" MiB", 0x1p20}, {" GiB", 0x1p30}}};
  for (const auto& [unit, bytes] : kUnits)
    if (rest.substr(static_cast<std::size_t>(end - rest.data())).starts_with(unit))
      return amount * bytes;
  return std::nullopt;
}

/// Whether the GPU could not have given what was asked for without the other processes either:
/// "Tried to allocate 8.00 GiB. … of which 1.05 GiB is free. Process 71 has 2.00 GiB memory in
/// use." In a container torch does not know itself among the processes, and counts its own memory
/// wrongly.
bool would_not_fit_anyway(std::string_view line) {
  constexpr std::string_view kCountedWrongly = "this process has 17179869184.00 GiB";
  if (line.find(kCountedWrongly) != std::string_view::npos) return true;
  const auto asked = memory_after(line, "Tried to allocate ");
  auto available = memory_after(line, "of which ");
  if (!asked || !available) return false;
  for (std::size_t at = line.find(". Process "); at != std::string_view::npos;
       at = line.find(". Process ", at + 1))
    *available += memory_after(line.substr(at), " has ").value_or(0);
  return *asked > *available;
}

/// Whether the numbers in the line contradict the cause: "world_size=4, worker_count=2" tells of
/// ranks that have not come yet, and only a larger count of some that the world has no place for.
bool is_contradicted(const Cause& cause, std::string_view line) {
  if (cause.id == cause::kGpuHeld) return would_not_fit_anyway(line);
  if (cause.id != cause::kWorldJoinedTwice) return false;
  const auto world = number_after(line, "world_size=");
  const auto count = number_after(line, "worker_count=");
  const auto joined = count ? count : number_after(line, "num_workers_joined=");
  return world && joined && *joined <= *world;
}

/// The causes that a line shows, without those that a more specific cause on it explains.
std::vector<Match> matches_of(const LogLine& line, const Catalogue& catalogue) {
  std::vector<Match> found = catalogue.match(line.text);
  std::erase_if(found, [&](const Match& match) {
    return !in_scope(match, line.kind) || is_contradicted(*match.cause, line.text);
  });
  const std::vector<Match> all = found;
  const auto outdone = [&](const Match& match) {
    return std::ranges::any_of(all, [&](const Match& other) {
      return beats(*other.cause, *match.cause) ||
             (other.cause->kind == Kind::harmless && other.cause != match.cause);
    });
  };
  std::erase_if(found, outdone);
  std::erase_if(found, [](const Match& match) { return match.cause->kind == Kind::harmless; });
  if (line.kind == LineKind::warning)
    for (Match& match : found)
      if (match.strength == Strength::proof) match.strength = Strength::warning;
  return found;
}

/// One cause is kept for this many ranks: enough for a node, and a bound whatever a log holds.
constexpr std::size_t kRanksPerCause = 64;

constexpr std::string_view kFromStatus = "exit status";

/// Collects sightings, each cause once a rank, so that a flood of equal lines stays small.
class Collector {
 public:
  Collector(const Catalogue& catalogue, std::string source, std::optional<Rank> rank)
      : catalogue_(catalogue), source_(std::move(source)), rank_(rank) {}

  void read(const LogLine& line) {
    for (const Match& match : matches_of(line, catalogue_))
      add(*match.cause, match.strength, line.text, line.rank);
  }

  /// The last line of a traceback none of whose lines shows a cause, but for a message that begins
  /// with an empty line.
  void read_exception(const std::string& line, std::optional<Rank> rank, const Cause& otherwise) {
    const LogLine last{line, rank, LineKind::python_error, 0};
    const std::vector<Match> matches = matches_of(last, catalogue_);
    const auto proof = std::ranges::find(matches, Strength::proof, &Match::strength);
    add(proof == matches.end() ? otherwise : *proof->cause, Strength::proof, line, rank);
  }

  void add(const Cause& cause, Strength strength, std::string_view line, std::optional<Rank> rank) {
    if (rank_) rank = rank_;
    auto& known = known_[&cause];
    if (known.size() < kRanksPerCause && known.emplace(strength, rank).second)
      found_.push_back({&cause, strength, std::string(line), rank, source_});
  }

  [[nodiscard]] std::vector<Sighting> take() { return std::move(found_); }

 private:
  const Catalogue& catalogue_;
  std::string source_;
  std::optional<Rank> rank_;
  std::map<const Cause*, std::set<std::pair<Strength, std::optional<Rank>>>> known_;
  std::vector<Sighting> found_;
};

/// Whether a line may be the source of a frame, which quotes anything. C++ indents the text of an
/// exception that nobody caught, too: that is no quotation.
bool is_indented(std::string_view line) {
  if (line.starts_with("  what():")) return false;
  return line.starts_with(' ') || line.starts_with('\t');
}

/// Whether the line is an exception's last one without a word: its message begins on a line below,
/// mostly indented.
bool lacks_words(std::string_view line) {
  const std::string_view type = line.substr(0, line.find(':'));
  return (type.ends_with("Error") || type.ends_with("Exception")) &&
         trimmed(line.substr(std::min(type.size() + 1, line.size()))).empty() &&
         type.find(' ') == std::string_view::npos;
}

/// Whether an exception, or one that it arose from, proves a cause. The source lines of its frames
/// do not count, for they may quote anything.
bool shows_cause(std::string_view traceback, const Catalogue& catalogue) {
  bool shows = false;
  for_each_line(traceback, [&](const LogLine& line) {
    if (!is_indented(line.text))
      for (const Match& match : matches_of(line, catalogue))
        shows = shows || match.strength == Strength::proof;
  });
  return shows;
}

/// Whether an exception of Python's own means a fault in the code, wherever it is raised.
bool means_faulty_code(std::string_view type) {
  constexpr std::array<std::string_view, 12> kTypes = {
      "ValueError",  "TypeError",      "KeyError",          "IndexError",
      "NameError",   "AttributeError", "AssertionError",    "ImportError",
      "SyntaxError", "LookupError",    "ZeroDivisionError", "ModuleNotFoundError"};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

/// Whether a line speaks of a connection, which may be one of the script's own: to a database, to
/// its own server.
bool is_of_any_network(const Sighting& one) {
  constexpr std::array<std::string_view, 6> kOfAnyProgram{
      cause::kConnectFailed,  cause::kStoreTimeout, cause::kPeerLost,
      cause::kNameResolution, cause::kPortTaken,    cause::kIfnameMissing};
  return std::ranges::find(kOfAnyProgram, one.cause->id) != kOfAnyProgram.end();
}

std::string headline(std::string_view type, std::string_view message) {
  message.remove_prefix(std::min(message.find_first_not_of(" \t\r\n"), message.size()));
  const std::string_view first = message.substr(0, message.find('\n'));
  return std::string(type) + (first.empty() ? "" : ": ") + std::string(first);
}

/// The lines of an exception's own text, without the blanks with which some messages begin.
void read_message(Collector& collector, const RankRaised& exception) {
  for_each_line(headline(exception.type, exception.message) + '\n' + exception.message,
                [&](const LogLine& line) {
                  if (!is_indented(line.text)) collector.read(line);
                });
}

}  // namespace

std::vector<Sighting> sightings(const Output& output, const Catalogue& catalogue) {
  std::vector<Traceback> own = tracebacks(output.text);
  std::erase_if(own, [&](const Traceback& one) { return shows_cause(one.text, catalogue); });
  const Cause& users = catalogue.at(cause::kUserException);
  Collector collector(catalogue, output.source, output.rank);
  auto next = own.begin();
  const auto flush = [&](std::size_t line) {
    for (; next != own.end() && next->line <= line; ++next)
      collector.read_exception(headline(next->type, next->message), next->rank, users);
  };
  bool words_follow = false;
  for_each_line(output.text, [&](const LogLine& line) {
    flush(line.number);
    const std::string_view words = trimmed(line.text);
    if (words_follow && !words.empty() && is_indented(line.text))
      collector.read({words, line.rank, LineKind::python_error, line.number});
    if (!is_indented(line.text)) collector.read(line);
    if (!words.empty()) words_follow = lacks_words(line.text);
  });
  return collector.take();
}

std::vector<Sighting> sightings(const RankRaised& exception, const Catalogue& catalogue) {
  Collector collector(catalogue, "exception", exception.rank);
  read_message(collector, exception);
  for_each_line(exception.traceback, [&](const LogLine& line) {
    if (!is_indented(line.text)) collector.read(line);
  });
  std::vector<Sighting> found = collector.take();
  if (!exception.communication) std::erase_if(found, is_of_any_network);
  const auto proves = [](const Sighting& one) { return one.strength == Strength::proof; };
  if (std::ranges::any_of(found, proves)) return found;
  const bool communication = exception.communication && !means_faulty_code(exception.type);
  const Cause& cause = catalogue.at(communication ? cause::kCommError : cause::kUserException);
  return {{&cause, Strength::proof, headline(exception.type, exception.message), exception.rank,
           "exception"}};
}

std::vector<Sighting> sightings(const ExitStatus& status, std::optional<Rank> rank,
                                const Catalogue& catalogue) {
  Collector collector(catalogue, std::string(kFromStatus), rank);
  const std::string line = describe(status);
  collector.read({line, std::nullopt, LineKind::plain, 0});
  return collector.take();
}

bool only_fits(const Sighting& one) {
  return one.strength != Strength::proof || one.source == kFromStatus;
}

void sort_by_weight(std::vector<Sighting>& all) {
  std::set<const Cause*> causes;
  for (const Sighting& one : all) causes.insert(one.cause);
  const auto weight = [&](const Sighting& one) {
    const bool beaten =
        std::ranges::any_of(causes, [&](const Cause* other) { return beats(*other, *one.cause); });
    return std::tuple(one.strength, one.cause->kind, beaten);
  };
  std::ranges::stable_sort(all, {}, weight);
}

}  // namespace safelaunch::diagnose
