#include <algorithm>
#include <array>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/nearest.h"
#include "safelaunch/cli/answer.h"
#include "safelaunch/cli/verb_options.h"
#include "safelaunch/cli/verbs.h"
#include "safelaunch/profile/library.h"
#include "safelaunch/profile/render.h"

namespace safelaunch {
namespace {

using std::string_view_literals::operator""sv;

void pass_on_warnings(ProfileLibrary& library) {
  for (const std::string& warning : library.take_warnings()) warn(warning);
}

int list(ProfileLibrary& library, bool json) {
  const std::vector<Profile> all = library.load_all();
  pass_on_warnings(library);
  return answer(json ? profile_list_json(all) : render_profile_list(all));
}

// show, check and env: what each prints of one profile.
int one(ProfileLibrary& library, std::string_view action, const std::string& word, bool json) {
  const Result<Profile> profile = library.load(word);
  pass_on_warnings(library);
  if (!profile) return refuse(profile.error());
  if (action == "check") return answer(render_check(*profile));
  if (action == "env") return answer(render_exports(*profile));
  return answer(json ? profile_json(*profile) : render_profile(*profile));
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
  ProfileLibrary library = ProfileLibrary::standard(current_environment());
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

}  // namespace safelaunch
