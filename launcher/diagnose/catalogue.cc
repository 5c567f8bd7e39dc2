#include "safelaunch/diagnose/catalogue.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "pattern_set.h"
#include "safelaunch/base/log.h"
#include "safelaunch/profile/library.h"
#include "safelaunch/profile/trust.h"

namespace safelaunch::diagnose {
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

}  // namespace safelaunch::diagnose
