#include <algorithm>
#include <array>
#include <vector>

#include "answer.h"
#include "safelaunch/base/environment.h"
#include "safelaunch/base/nearest.h"
#include "safelaunch/profile/library.h"
#include "safelaunch/profile/render.h"
#include "verb_options.h"
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

}  // namespace

int verb_profiles(std::span<const std::string> words) {
  bool json = false;
  std::vector<std::string> rest;
  VerbOptions verb("profiles", "[list | show NAME | check FILE | env NAME] [OPTIONS]",
                   "The profiles: all of them, one in full, whether a file is right, or its "
                   "variables for a shell's eval.");
  verb.flag("--json", json, "as JSON (list, show)");
  if (const auto status = verb.settle(words, rest)) return *status;
  profile::ProfileLibrary library = profile::ProfileLibrary::standard(current_environment());
  if (rest.empty() || (rest.size() == 1 && rest[0] == "list")) return list(library, json);
  constexpr std::array kActions{"list"sv, "show"sv, "check"sv, "env"sv};
  if (std::find(kActions.begin() + 1, kActions.end(), rest[0]) == kActions.end())
    return refuse({Errc::usage, "profiles does not know '" + rest[0] + "'" +
                                    did_you_mean(rest[0], kActions) +
                                    " (list, show NAME, check FILE, env NAME)"});
  if (rest.size() != 2)
    return refuse({Errc::usage, "profiles " + rest[0] + " takes one profile's name or file"});
  return one(library, rest[0], rest[1], json);
}

}  // namespace safelaunch::cli
