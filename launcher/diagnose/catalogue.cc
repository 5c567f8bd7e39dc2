#include "safelaunch/diagnose/catalogue.h"

#include <re2/set.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "safelaunch/base/format.h"
#include "safelaunch/base/log.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/profile/library.h"
#include "safelaunch/profile/trust.h"

// All patterns are one automaton, so a line costs the same however many rows there are. The
// numbers of the patterns lead back to their rows. How the YAML becomes rows stands below.
namespace safelaunch::diagnose {

/// Searches a line for many patterns in one pass, without regard to case and in time linear in its
/// length (RE2). Add all patterns, then compile, then match.
class PatternSet {
 public:
  /// Adds a pattern, which gets the next number, from 0 on. Returns its mistake; empty if right.
  [[nodiscard]] std::string add(const std::string& pattern) {
    std::string error;
    set_.Add(pattern, &error);
    return error;
  }

  void compile() {
    if (set_.Compile()) return;
    std::fputs("safelaunch: the patterns of the catalogue need more memory than their bound\n",
               stderr);
    std::abort();
  }

  /// The numbers of the patterns that match the line, ascending. The caller bounds its length.
  [[nodiscard]] std::vector<int> match(std::string_view line) const {
    std::vector<int> hits;
    set_.Match({line.data(), line.size()}, &hits);
    std::sort(hits.begin(), hits.end());
    return hits;
  }

 private:
  static RE2::Options options() {
    RE2::Options options;
    options.set_case_sensitive(false);  // NCCL's "Connect to" became "connect to" between versions
    options.set_log_errors(false);
    options.set_encoding(RE2::Options::EncodingLatin1);  // a log may hold any bytes
    options.set_max_mem(64 << 20);  // a bound on the cache of the automaton, not an allocation
    return options;
  }

  RE2::Set set_{options(), RE2::UNANCHORED};
};

namespace {

bool same_letters(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

[[noreturn]] void give_up(std::string_view why) {
  std::fprintf(stderr, "safelaunch: %.*s\n", static_cast<int>(why.size()), why.data());
  std::abort();
}

}  // namespace

Catalogue::Catalogue(std::vector<Cause> causes, std::unique_ptr<PatternSet> patterns,
                     std::vector<std::pair<std::size_t, Strength>> owners)
    : causes_(std::move(causes)), patterns_(std::move(patterns)), owners_(std::move(owners)) {}

Catalogue::Catalogue(Catalogue&&) noexcept = default;
Catalogue& Catalogue::operator=(Catalogue&&) noexcept = default;
Catalogue::~Catalogue() = default;

CatalogueText Catalogue::builtin_text() {
  const EmbeddedFile& file = embedded_catalogue().front();
  return {std::string(file.path), std::string(file.text)};
}

const Catalogue& Catalogue::builtin() {
  static const Catalogue catalogue = [] {
    Result<Catalogue> parsed = parse(std::array{builtin_text()});
    if (parsed.has_error()) give_up(parsed.error().message);  // our own file: a test reads it
    return std::move(*parsed);
  }();
  return catalogue;
}

const Cause* Catalogue::find(std::string_view word) const {
  for (const auto field : {&Cause::id, &Cause::ref}) {
    const auto found = std::ranges::find_if(
        causes_, [&](const Cause& cause) { return same_letters(cause.*field, word); });
    if (found != causes_.end()) return &*found;
  }
  return nullptr;
}

const Cause& Catalogue::at(std::string_view id) const {
  const Cause* cause = find(id);
  if (cause == nullptr) give_up("the catalogue has no cause " + std::string(id));
  return *cause;
}

std::vector<Match> Catalogue::match(std::string_view line) const {
  std::vector<Match> matches;
  for (const int number : patterns_->match(line)) {
    const auto& [cause, strength] = owners_[static_cast<std::size_t>(number)];
    const bool known = !matches.empty() && matches.back().cause == &causes_[cause] &&
                       matches.back().strength == strength;
    if (!known) matches.push_back({&causes_[cause], strength});
  }
  return matches;
}

bool beats(const Cause& a, const Cause& b) {
  return std::ranges::find(a.beats, b.id) != a.beats.end();
}

std::vector<std::string> own_cause_files(const Environment& environment) {
  std::vector<std::string> files{"/etc/safelaunch/causes.yaml"};
  const std::string folder = profile::user_config_folder(environment);
  if (!folder.empty()) files.push_back(folder + "/causes.yaml");
  return files;
}

Result<Catalogue> load_catalogue(const std::vector<std::string>& files) {
  std::vector<CatalogueText> texts{Catalogue::builtin_text()};
  for (const std::string& file : files) {
    Result<std::optional<std::string>> text = profile::read_trusted_file(file);
    if (!text) return text.error();
    if (*text) texts.push_back({file, std::move(**text)});
  }
  return Catalogue::parse(texts);
}

const Catalogue& catalogue() {
  static const Result<Catalogue> loaded = [] {
    Result<Catalogue> read = load_catalogue(own_cause_files(current_environment()));
    if (!read) log_warning(read.error().message + "; causes of your own do not count");
    return read;
  }();
  return loaded ? *loaded : Catalogue::builtin();
}

// Reads the catalogue's YAML into causes; no other source of the room knows yaml-cpp. The rows of
// all files are gathered first, since a row may replace one of an earlier file and `beats` may name
// a cause of another. Then every name and every pattern is checked. The first mistake ends the
// reading as a `Wrong`, to which the file and the line are added.

namespace {

/// A mistake in the file. Thrown and caught within this source.
struct Wrong : std::runtime_error {
  Wrong(const YAML::Mark& at, const std::string& what) : std::runtime_error(what), mark(at) {}
  YAML::Mark mark;
};

template <class Value, std::size_t N>
using Words = std::array<std::pair<std::string_view, Value>, N>;

constexpr Words<Kind, 4> kKinds = {{{"cause", Kind::cause},
                                    {"symptom", Kind::symptom},
                                    {"victim", Kind::victim},
                                    {"harmless", Kind::harmless}}};
constexpr Words<Scope, 4> kScopes = {{{"any", Scope::any},
                                      {"nccl-warn", Scope::nccl_warn},
                                      {"python", Scope::python},
                                      {"exception", Scope::exception}}};
constexpr Words<Retry, 3> kRetries = {{{"never", Retry::never},
                                       {"fallback", Retry::fallback},
                                       {"passes-by-itself", Retry::passes_by_itself}}};

std::string text(const YAML::Node& node) {
  if (!node.IsScalar()) throw Wrong(node.Mark(), "a text is expected here");
  return node.Scalar();
}

const YAML::Node& list(const YAML::Node& node) {
  if (!node.IsSequence()) throw Wrong(node.Mark(), "a list is expected here");
  return node;
}

std::vector<std::string> texts(const YAML::Node& node) {
  std::vector<std::string> all;
  for (const YAML::Node& item : list(node)) all.push_back(text(item));
  return all;
}

template <class Value, std::size_t N>
Value one_of(const YAML::Node& node, const Words<Value, N>& words) {
  const std::string word = text(node);
  std::array<std::string_view, N> known;
  std::ranges::transform(words, known.begin(), [](const auto& entry) { return entry.first; });
  const auto found = std::ranges::find(known, word);
  if (found == known.end())
    throw Wrong(node.Mark(),
                fmt::format("'{}' is not known here{}", word, did_you_mean(word, known)));
  return words[static_cast<std::size_t>(found - known.begin())].second;
}

std::vector<Stage> stages(const YAML::Node& node) {
  Words<Stage, kStageCount> words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto stage = static_cast<Stage>(i);
    words[i] = {name(stage), stage};
  }
  std::vector<Stage> all;
  for (const YAML::Node& item : list(node)) all.push_back(one_of(item, words));
  return all;
}

Duration duration(const YAML::Node& node) {
  const Result<Duration> value = parse_duration(text(node));
  if (value.has_error()) throw Wrong(node.Mark(), value.error().message);
  return *value;
}

struct Field {
  std::string_view name;
  void (*read)(const YAML::Node&, Cause&);
};

constexpr std::array<Field, 15> kFields = {{
    {"id", [](const YAML::Node& node, Cause& cause) { cause.id = text(node); }},
    {"ref", [](const YAML::Node& node, Cause& cause) { cause.ref = text(node); }},
    {"title", [](const YAML::Node& node, Cause& cause) { cause.title = text(node); }},
    {"kind", [](const YAML::Node& node, Cause& cause) { cause.kind = one_of(node, kKinds); }},
    {"scope", [](const YAML::Node& node, Cause& cause) { cause.scope = one_of(node, kScopes); }},
    {"patterns", [](const YAML::Node& node, Cause& cause) { cause.patterns = texts(node); }},
    {"hints", [](const YAML::Node& node, Cause& cause) { cause.hints = texts(node); }},
    {"absence", [](const YAML::Node& node, Cause& cause) { cause.absence = texts(node); }},
    {"stages", [](const YAML::Node& node, Cause& cause) { cause.stages = stages(node); }},
    {"retry", [](const YAML::Node& node, Cause& cause) { cause.retry = one_of(node, kRetries); }},
    {"backoff", [](const YAML::Node& node, Cause& cause) { cause.backoff = duration(node); }},
    {"beats", [](const YAML::Node& node, Cause& cause) { cause.beats = texts(node); }},
    {"remedy", [](const YAML::Node& node, Cause& cause) { cause.remedy = text(node); }},
    {"next", [](const YAML::Node& node, Cause& cause) { cause.commands = texts(node); }},
    {"links", [](const YAML::Node& node, Cause& cause) { cause.links = texts(node); }},
}};

void read_field(const YAML::Node& key, const YAML::Node& value, Cause& cause) {
  const std::string word = text(key);
  const auto field = std::ranges::find(kFields, word, &Field::name);
  if (field != kFields.end()) return field->read(value, cause);
  std::array<std::string_view, kFields.size()> names;
  std::ranges::transform(kFields, names.begin(), &Field::name);
  throw Wrong(key.Mark(), fmt::format("unknown field '{}'{}", word, did_you_mean(word, names)));
}

Cause read_cause(const YAML::Node& row) {
  if (!row.IsMap()) throw Wrong(row.Mark(), "a row of fields is expected here");
  Cause cause;
  for (const auto& entry : row) read_field(entry.first, entry.second, cause);
  for (const char* needed : {"id", "title", "retry", "remedy"})
    if (!row[needed]) throw Wrong(row.Mark(), fmt::format("this row has no '{}'", needed));
  return cause;
}

/// A cause with its place in the files.
struct Row {
  YAML::Node node;
  std::string file;
  Cause cause;
};

Error error_at(std::string_view file, const YAML::Mark& mark, std::string_view message) {
  return {Errc::bad_config, fmt::format("{}:{}: {}", file, mark.line + 1, message)};
}

/// Adds the rows of a file; each replaces a row with the same id of an earlier file.
void read_rows(const CatalogueText& text, std::vector<Row>& rows) {
  const YAML::Node nodes = YAML::Load(text.yaml);
  if (!nodes.IsSequence()) throw Wrong(nodes.Mark(), "a list of causes is expected here");
  for (const YAML::Node& node : nodes) {
    Row row{node, text.file, read_cause(node)};
    const auto same =
        std::ranges::find(rows, row.cause.id, [](const Row& r) { return r.cause.id; });
    if (same == rows.end())
      rows.push_back(std::move(row));
    else if (same->file == text.file)
      throw Wrong(node.Mark(), fmt::format("the id '{}' is given twice", row.cause.id));
    else
      *same = std::move(row);
  }
}

/// All patterns, and the cause that each of them shows.
struct Patterns {
  std::unique_ptr<PatternSet> set = std::make_unique<PatternSet>();
  std::vector<std::pair<std::size_t, Strength>> owners;
};

/// Adds the patterns of one cause; throws the first that is no RE2 pattern.
void add_patterns(const YAML::Node& row, std::size_t cause, Patterns& patterns) {
  constexpr std::array<std::pair<const char*, Strength>, 3> kLists = {
      {{"patterns", Strength::proof}, {"hints", Strength::hint}, {"absence", Strength::absence}}};
  for (const auto& [list, strength] : kLists)
    for (const YAML::Node& node : row[list]) {
      const std::string error = patterns.set->add(text(node));
      if (!error.empty())
        throw Wrong(node.Mark(), fmt::format("'{}' is no RE2 pattern: {}", text(node), error));
      patterns.owners.emplace_back(cause, strength);
    }
}

/// Every id listed under `beats` must be in the catalogue.
void check_beaten(const Row& row, std::span<const std::string_view> ids) {
  for (const std::string& beaten : row.cause.beats)
    if (std::ranges::find(ids, beaten) == ids.end())
      throw Wrong(row.node["beats"].Mark(),
                  fmt::format("no cause has the id '{}'{}", beaten, did_you_mean(beaten, ids)));
}

/// Performs the action; a mistake that it throws becomes an error with file and line.
template <class Action>
Result<void> in_file(const std::string& file, const Action& action) try {
  action();
  return {};
} catch (const Wrong& wrong) {
  return error_at(file, wrong.mark, wrong.what());
} catch (const YAML::Exception& wrong) {
  return error_at(file, wrong.mark, wrong.msg);
}

}  // namespace

std::string_view name(Kind kind) {
  return kKinds[static_cast<std::size_t>(kind)].first;
}

std::string_view name(Retry retry) {
  return kRetries[static_cast<std::size_t>(retry)].first;
}

Result<Catalogue> Catalogue::parse(std::span<const CatalogueText> texts) {
  std::vector<Row> rows;
  for (const CatalogueText& text : texts) {
    const auto read = in_file(text.file, [&] { read_rows(text, rows); });
    if (!read) return read.error();
  }
  std::vector<std::string_view> ids;
  for (const Row& row : rows) ids.push_back(row.cause.id);
  std::vector<Cause> causes;
  Patterns patterns;
  for (const Row& row : rows) {
    const auto added = in_file(row.file, [&] {
      check_beaten(row, ids);
      add_patterns(row.node, causes.size(), patterns);
    });
    if (!added) return added.error();
    causes.push_back(row.cause);
  }
  patterns.set->compile();
  return Catalogue(std::move(causes), std::move(patterns.set), std::move(patterns.owners));
}

}  // namespace safelaunch::diagnose
