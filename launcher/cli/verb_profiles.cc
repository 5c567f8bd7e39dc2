#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/nearest.h"
#include "safelaunch/cli/verbs.h"
#include "safelaunch/profile/library.h"
#include "safelaunch/profile/render.h"

namespace safelaunch {
namespace {

using std::string_view_literals::operator""sv;

int print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

int refuse(const Error& error) {
  std::fprintf(stderr, "safelaunch: %s\n", error.message.c_str());
  return exit_code_of(error.code);
}

void warn(ProfileLibrary& library) {
  for (const std::string& warning : library.take_warnings())
    std::fprintf(stderr, "safelaunch: warning: %s\n", warning.c_str());
}

int list(ProfileLibrary& library, bool json) {
  const std::vector<Profile> all = library.load_all();
  warn(library);
  return print(json ? profile_list_json(all) : render_profile_list(all));
}

// show, check and env: what each prints of one profile.
int one(ProfileLibrary& library, std::string_view action, const std::string& word, bool json) {
  const Result<Profile> profile = library.load(word);
  warn(library);
  if (!profile) return refuse(profile.error());
  if (action == "check") return print(render_check(*profile));
  if (action == "env") return print(render_exports(*profile));
  return print(json ? profile_json(*profile) : render_profile(*profile));
}

}  // namespace

int verb_profiles(std::span<const std::string> words) {
  std::vector<std::string> rest(words.begin(), words.end());
  const bool json = std::erase(rest, "--json") > 0;
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
