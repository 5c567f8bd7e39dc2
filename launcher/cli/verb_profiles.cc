#include <algorithm>
#include <array>

#include "check_file.h"
#include "safelaunch/base/environment.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/plan/plan.h"
#include "safelaunch/profile/library.h"
#include "safelaunch/profile/profile_text.h"
#include "verb_wishes.h"
#include "verbs.h"

// The words say what is shown before any profile is read.
namespace safelaunch::cli {
namespace {

using Show = ProfilesWish::Show;

void pass_on_warnings(profile::ProfileLibrary& library) {
  for (const std::string& warning : library.take_warnings()) warn(warning);
}

int list(profile::ProfileLibrary& library, bool json) {
  const std::vector<profile::Profile> all = library.load_all();
  pass_on_warnings(library);
  for (const profile::Profile& profile : all)
    if (const auto unknown = plan::unknown_causes(profile)) warn(unknown->message);
  return answer(json ? profile::profile_list_json(all) : profile::render_profile_list(all));
}

// Prints one profile in the form that was asked for.
int show_one_profile(profile::ProfileLibrary& library, const ProfilesWish& wish, bool json) {
  const Result<profile::Profile> profile = library.load(wish.profile);
  pass_on_warnings(library);
  if (!profile) return refuse(profile.error());
  if (wish.show == Show::exports) return answer(profile::render_exports(*profile));
  return answer(json ? profile::profile_json(*profile) : profile::render_profile(*profile));
}

Error wrong_words(std::string_view message) {
  return {Errc::usage, "profiles " + std::string(message)};
}

constexpr std::array kProfilesOptions{
    settings::Option{.name = "json",
                     .put = settings::put_into<&ProfilesWords::json>,
                     .help = "as JSON (list, show)"},
};

int tell_of_profiles(const ProfilesWords& given, const std::vector<std::string>& rest) {
  const Result<ProfilesWish> wish = profiles_wish(rest);
  if (!wish) return refuse(wish.error());
  const bool has_json = wish->show == Show::list || wish->show == Show::one ||
                        wish->show == Show::schema_of_profile ||
                        wish->show == Show::schema_of_config;  // JSON in any case
  if (given.json && !has_json)
    return refuse(wrong_words(fmt::format("{} has no JSON; list and show have", rest.front())));
  profile::ProfileLibrary library = profile::ProfileLibrary::standard(current_environment());
  switch (wish->show) {
    case Show::list: return list(library, given.json);
    case Show::names: return answer(join(library.names(), "\n") + "\n");  // for completions
    case Show::schema_of_profile: return answer(profile::schema_of(profile::FileKind::profile));
    case Show::schema_of_config: return answer(profile::schema_of(profile::FileKind::config));
    case Show::check:
      return tell(check_file(wish->profile, profile::FileKind::profile, current_environment()));
    default: return show_one_profile(library, *wish, given.json);
  }
}

struct Action {
  std::string_view word;
  Show show;
};
constexpr std::array kActions{Action{"list", Show::list},
                              Action{"names", Show::names},
                              Action{"schema", Show::schema_of_profile},
                              Action{"show", Show::one},
                              Action{"check", Show::check},
                              Action{"env", Show::exports}};
constexpr std::array kSchemas{Action{"profile", Show::schema_of_profile},
                              Action{"config", Show::schema_of_config}};

const Action* action_of(std::span<const Action> actions, std::string_view word) {
  const auto found = std::ranges::find(actions, word, &Action::word);
  return found == actions.end() ? nullptr : &*found;
}

std::string meant_action(std::span<const Action> actions, std::string_view word) {
  std::vector<std::string_view> words;
  for (const Action& action : actions) words.push_back(action.word);
  return did_you_mean(word, words);
}

// For editors: their YAML servers complete and check by it.
Result<ProfilesWish> schema_wish(std::span<const std::string> kinds) {
  if (kinds.empty()) return ProfilesWish{Show::schema_of_profile, {}};
  const Action* kind = action_of(kSchemas, kinds[0]);
  if (kind == nullptr)
    return wrong_words(fmt::format("schema takes profile or config, not '{}'{}", kinds[0],
                                   meant_action(kSchemas, kinds[0])));
  if (kinds.size() > 1)
    return wrong_words(
        fmt::format("schema takes profile or config alone, not also '{}'", kinds[1]));
  return ProfilesWish{kind->show, {}};
}

}  // namespace

Result<ProfilesWish> profiles_wish(std::span<const std::string> words) {
  if (words.empty()) return ProfilesWish{};
  const std::string& word = words[0];
  const Action* action = action_of(kActions, word);
  if (action == nullptr)
    return wrong_words(
        fmt::format("does not know '{}'{} (list, names, schema, show NAME, check "
                    "FILE, env NAME)",
                    word, meant_action(kActions, word)));
  if (word == "schema") return schema_wish(words.subspan(1));
  const bool of_all = action->show == Show::list || action->show == Show::names;
  if (of_all && words.size() > 1)
    return wrong_words(fmt::format("{} takes no '{}'", word, words[1]));
  if (of_all) return ProfilesWish{action->show, {}};
  if (words.size() != 2)
    return wrong_words(fmt::format("{} takes one profile's name or file", word));
  return ProfilesWish{action->show, words[1]};
}

const Verb kProfilesVerb{
    .name = "profiles",
    .function = reads<ProfilesWords, tell_of_profiles>,
    .help = "list | names | show NAME | check FILE | env NAME | schema",
    .usage =
        "[list | names | show NAME | check FILE | env NAME | schema [profile|config]] [OPTIONS]",
    .purpose =
        "Shows the profiles: all of them, their names alone, or one in full. Checks a file, prints "
        "a profile's variables for a shell's eval, or prints the JSON schema by which an editor "
        "completes a profile or safelaunch.yaml.",
    .example = "safelaunch profiles show no-shm\neval \"$(safelaunch profiles env no-ib)\"",
    .options = kProfilesOptions,
    .words = "list|names|show|check|env|schema",
    .takes = kManyWords};

}  // namespace safelaunch::cli
