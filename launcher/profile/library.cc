#include "safelaunch/profile/library.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/event.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/profile/trust.h"

// A name is looked for in the folders of the search path, then among the built-in profiles. A file
// is trusted where the user, root or the command line names its folder. One that merely lies in the
// working directory is passed over with a warning where it could do harm, or takes a built-in
// profile's name.
namespace safelaunch::profile {
namespace {

constexpr std::string_view kSuffix = ".yaml";

bool is_file_word(std::string_view word) {
  return word.find('/') != std::string_view::npos || word.ends_with(kSuffix) ||
         word.ends_with(".yml");
}

std::string name_of_file(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);  // npos + 1 is 0
  return std::string(path.substr(0, path.rfind('.')));
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> result;
  std::error_code ignored;  // a folder that is not there or not readable holds no profiles
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    if (entry.path().extension() == kSuffix) result.push_back(entry.path().stem().string());
  return result;
}

Result<ProfileText> read_file(const std::string& path) {
  Result<std::optional<std::string>> text = read_trusted_file(path);
  if (text.has_error()) return text.error();
  if (!*text)
    return Error{Errc::bad_config, fmt::format("{}: there is no such profile file", path)};
  return ProfileText{name_of_file(path), path, std::move(**text)};
}

}  // namespace

Rung rung_in(std::string_view word) {
  const auto at = word.rfind('@');
  if (at == std::string_view::npos) return {word, std::nullopt};
  const auto number = to_number(word.substr(at + 1));
  if (!number || *number < 1 || *number > kMostRanksOfANode) return {word, std::nullopt};
  return {word.substr(0, at), number};
}

std::string user_config_folder(const Environment& environment) {
  const std::string config = user_folder(environment, "XDG_CONFIG_HOME", ".config");
  return config.empty() ? config : config + "/safelaunch";
}

std::vector<SearchFolder> profile_search_path(const Environment& environment) {
  std::vector<SearchFolder> result;
  std::string_view given = value_or(environment, "SAFELAUNCH_PROFILE_PATH");
  while (!given.empty()) {
    const std::string_view folder = take_word(given, ':');
    if (!folder.empty()) result.push_back({std::string(folder)});
  }
  result.push_back({"profiles", SearchFolder::Untrusted::pass_over});
  const std::string user = user_config_folder(environment);
  if (!user.empty()) result.push_back({user + "/profiles"});
  result.push_back({"/etc/safelaunch/profiles"});
  return result;
}

ProfileLibrary::ProfileLibrary(std::vector<SearchFolder> folders,
                               std::span<const BuiltInProfile> built_in)
    : folders_(std::move(folders)), built_in_(built_in) {}

ProfileLibrary ProfileLibrary::standard(const Environment& environment) {
  return {profile_search_path(environment), builtin_profiles()};
}

Result<std::optional<ProfileText>> ProfileLibrary::find_in(const SearchFolder& folder,
                                                           std::string_view name) {
  const std::string path = fmt::format("{}/{}{}", folder.path, name, kSuffix);
  const bool pass_over = folder.untrusted == SearchFolder::Untrusted::pass_over;
  Result<std::optional<std::string>> text = read_trusted_file(path);
  if (text.has_error() && !pass_over) return text.error();
  if (text.has_error()) {
    warn(text.error().message + "; passed over");
    return std::optional<ProfileText>();
  }
  if (!*text) return std::optional<ProfileText>();
  if (pass_over) {
    const BuiltInProfile* shipped = built_in(name);
    // In safelaunch's own source folder ./profiles holds the built-in profiles: no warning for
    // those.
    if (shipped != nullptr && shipped->text == **text) return std::optional<ProfileText>();
    if (const auto why = why_passed_over(folder, name, **text)) {
      warn(fmt::format("{}: {}; passed over", path, *why));
      return std::optional<ProfileText>();
    }
    used_.insert(path);
  }
  return std::optional(ProfileText{std::string(name), path, std::move(**text)});
}

// This judges a file that nobody has named.
std::optional<std::string> ProfileLibrary::why_passed_over(const SearchFolder& folder,
                                                           std::string_view name,
                                                           std::string_view text) const {
  if (const auto why = distrust_folder(folder.path))
    return "refused because of its folder: " + *why;
  const auto trusted_by = [&](const std::string& what) {
    return fmt::format("it {}; `--profile ./{}/{}{}` says that you trust it", what, folder.path,
                       name, kSuffix);
  };
  if (built_in(name) != nullptr) return trusted_by("has the name of a built-in profile");
  const auto what = what_needs_trust(text);
  return what ? std::optional(trusted_by(*what)) : std::nullopt;
}

const BuiltInProfile* ProfileLibrary::built_in(std::string_view name) const {
  for (const BuiltInProfile& file : built_in_)
    if (name_of_file(file.path) == name) return &file;
  return nullptr;
}

Result<ProfileText> ProfileLibrary::find(std::string_view name) {
  if (is_file_word(name)) return read_file(std::string(name));
  if (!is_profile_name(name)) return unknown(name);
  for (const SearchFolder& folder : folders_) {
    Result<std::optional<ProfileText>> text = find_in(folder, name);
    if (text.has_error()) return text.error();
    if (*text) return std::move(**text);
  }
  if (const BuiltInProfile* file = built_in(name))
    return ProfileText{std::string(name), fmt::format("{}{}", file->path, kBuiltInMark),
                       std::string(file->text), file->tree};
  return unknown(name);
}

// Any file on the search path could replace a built-in profile or be extended by one, so there must
// be none.
bool ProfileLibrary::all_built_in(std::span<const std::string> chain) const {
  return std::all_of(chain.begin(), chain.end(),
                     [&](const std::string& word) { return built_in(word) != nullptr; }) &&
         std::all_of(folders_.begin(), folders_.end(),
                     [](const SearchFolder& folder) { return names_in(folder.path).empty(); });
}

Error ProfileLibrary::unknown(std::string_view name) const {
  std::vector<std::string> known = names();
  std::erase(known, name);  // there is a file of that name, which is passed over
  const std::vector<std::string_view> words(known.begin(), known.end());
  std::error_code ignored;
  // A word without a slash is a name, whatever files there are.
  const std::string hint = std::filesystem::is_regular_file(name, ignored)
                               ? fmt::format("; the file is meant by ./{}", name)
                               : did_you_mean(name, words);
  return Error{
      Errc::bad_config,
      fmt::format("there is no profile '{}'{}{}", name,
                  hint.empty() ? "; `safelaunch profiles list` shows those there are" : hint,
                  warnings_.empty() ? "" : "; " + warnings_.back())};
}

void ProfileLibrary::warn(std::string warning) {
  if (std::find(warnings_.begin(), warnings_.end(), warning) == warnings_.end())
    warnings_.push_back(std::move(warning));
}

Result<Profile> ProfileLibrary::load(std::string_view name_or_file) {
  const auto [word, processes] = rung_in(name_or_file);
  const Result<ProfileText> text = find(word);
  if (text.has_error()) return text.error();
  Result<Profile> profile =
      read_profile(*text, [this](std::string_view parent) { return find(parent); });
  if (profile.has_error()) return profile;
  // A file found by its name must not turn out to be another profile.
  if (!is_file_word(word) && profile->name != text->name)
    return Error{Errc::bad_config,
                 fmt::format("{}: the profile calls itself '{}'; rename the file or the profile",
                             text->origin, profile->name)};
  if (!processes) return profile;
  profile->processes = processes;
  profile->ladder.clear();
  profile->name += fmt::format("@{}", *processes);
  return profile;
}

std::vector<std::string> ProfileLibrary::with_rungs(std::span<const std::string> chain) {
  // The built-in ones list no numbers, and reading them would cost every start.
  if (all_built_in(chain)) return {chain.begin(), chain.end()};
  std::vector<std::string> result;
  for (const std::string& word : chain) {
    const Result<Profile> profile = load(word);
    if (!profile || profile->ladder.empty()) {
      result.push_back(word);
      continue;
    }
    for (const int processes : profile->ladder)
      result.push_back(fmt::format("{}@{}", word, processes));
  }
  return result;
}

Result<std::vector<Profile>> ProfileLibrary::load_chain(std::span<const std::string> chain,
                                                        std::string_view origin) {
  std::vector<Profile> result;
  for (const std::string& word : chain) {
    Result<Profile> profile = load(word);
    if (profile.has_error() && !origin.empty())
      return Error{profile.error().code, fmt::format("{}: {}", origin, profile.error().message)};
    if (profile.has_error()) return profile.error();
    result.push_back(std::move(*profile));
  }
  return result;
}

std::vector<Profile> ProfileLibrary::load_all() {
  const std::set<std::string> named = used_;
  std::vector<Profile> result;
  for (const std::string& name : names()) {
    Result<Profile> profile = load(name);
    if (profile.has_error())
      warn(profile.error().message + "; passed over");
    else
      result.push_back(std::move(*profile));
  }
  used_ = named;  // each of the result tells its origin
  return result;
}

std::vector<std::string> ProfileLibrary::names() const {
  std::set<std::string> result;
  for (const SearchFolder& folder : folders_)
    for (std::string& name : names_in(folder.path))
      if (is_profile_name(name)) result.insert(std::move(name));
  for (const BuiltInProfile& file : built_in_) result.insert(name_of_file(file.path));
  return {result.begin(), result.end()};
}

std::vector<std::string> ProfileLibrary::take_warnings() {
  for (const std::string& path : std::exchange(used_, {})) warn("uses " + path);
  return std::exchange(warnings_, {});
}

}  // namespace safelaunch::profile
