#include <algorithm>
#include <array>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/profile/library.h"
#include "safelaunch/profile/render.h"
#include "verbs.h"

namespace safelaunch::cli {
namespace {

using std::string_view_literals::operator""sv;

void pass_on_warnings(profile::ProfileLibrary& library) {
  for (const std::string& warning : library.take_warnings()) warn(warning);
}

int list(profile::ProfileLibrary& library, bool json) {
  const std::vector<profile::Profile> all = library.load_all();
  pass_on_warnings(library);
  return answer(json ? profile::profile_list_json(all) : profile::render_profile_list(all));
}

// One a line: what completions offer.
int list_names(const profile::ProfileLibrary& library) {
  return answer(join(library.names(), "\n") + "\n");
}

// show, check and env: what each prints of one profile.
int one(profile::ProfileLibrary& library, std::string_view action, const std::string& word,
        bool json) {
  const Result<profile::Profile> profile = library.load(word);
  pass_on_warnings(library);
  if (!profile) return refuse(profile.error());
  if (action == "check") return answer(profile::render_check(*profile));
  if (action == "env") return answer(profile::render_exports(*profile));
  return answer(json ? profile::profile_json(*profile) : profile::render_profile(*profile));
}

// For editors: their YAML servers complete and check by it.
int print_schema(std::span<const std::string> of) {
  constexpr std::array kKindsOfFiles{"profile"sv, "config"sv};
  if (of.size() > 1 || (of.size() == 1 && of[0] != "profile" && of[0] != "config"))
    return refuse({Errc::usage, "profiles schema takes profile or config, not '" + of[0] + "'" +
                                    did_you_mean(of[0], kKindsOfFiles)});
  const bool config = of.size() == 1 && of[0] == "config";
  return answer(
      profile::schema_of(config ? profile::FileKind::config : profile::FileKind::profile));
}

struct ProfilesWords {
  bool json = false;
};

constexpr std::array kProfilesOptions{
    settings::Option{.name = "json",
                     .put = settings::put_into<&ProfilesWords::json>,
                     .help = "as JSON (list, show)"},
};

int tell_of_profiles(std::span<const std::string> words) {
  ProfilesWords given;
  std::vector<std::string> rest;
  if (const auto status = settle(kProfilesVerb, words, &given, rest)) return *status;
  profile::ProfileLibrary library = profile::ProfileLibrary::standard(current_environment());
  if (rest.empty() || (rest.size() == 1 && rest[0] == "list")) return list(library, given.json);
  if (rest.size() == 1 && rest[0] == "names") return list_names(library);
  if (rest[0] == "schema") return print_schema(std::span(rest).subspan(1));
  constexpr std::array kActions{"list"sv, "names"sv, "schema"sv, "show"sv, "check"sv, "env"sv};
  if (std::find(kActions.begin() + 3, kActions.end(), rest[0]) == kActions.end())
    return refuse({Errc::usage, "profiles does not know '" + rest[0] + "'" +
                                    did_you_mean(rest[0], kActions) +
                                    " (list, names, schema, show NAME, check FILE, env NAME)"});
  if (rest.size() != 2)
    return refuse({Errc::usage, "profiles " + rest[0] + " takes one profile's name or file"});
  return one(library, rest[0], rest[1], given.json);
}

}  // namespace

const Verb kProfilesVerb{
    .name = "profiles",
    .function = tell_of_profiles,
    .help = "list | names | show NAME | check FILE | env NAME | schema",
    .usage =
        "[list | names | show NAME | check FILE | env NAME | schema [profile|config]] [OPTIONS]",
    .purpose =
        "The profiles: all of them, their names alone, one in full, whether a "
        "file is right, its variables for a shell's eval, or the JSON schema "
        "by which an editor completes a profile or safelaunch.yaml.",
    .example = "safelaunch profiles show no-shm\neval \"$(safelaunch profiles env no-ib)\"",
    .options = kProfilesOptions,
    .words = "list|names|show|check|env|schema"};

}  // namespace safelaunch::cli
