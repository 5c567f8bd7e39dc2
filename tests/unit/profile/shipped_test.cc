// The promises about the files in profiles/, as they are compiled in.
#include <algorithm>
#include <set>

#include "catch.h"
#include "safelaunch/profile/chain.h"
#include "safelaunch/profile/library.h"
#include "safelaunch/profile/profile_text.h"
#include "safelaunch/profile/variables.h"

using namespace safelaunch;

using namespace safelaunch::profile;

namespace {

ProfileLibrary library() {
  return {{}, builtin_profiles()};
}

const std::vector<Profile>& shipped() {
  static const std::vector<Profile> profiles = library().load_all();
  return profiles;
}

Profile load(std::string_view name) {
  return library().load(name).value();
}

std::string after_basic(std::string_view cause, int nodes = 1) {
  const std::vector<Profile> chain = library().load_chain(default_chain(), {}).value();
  const std::vector<std::string> tried{"basic"};
  const NextProfile next = next_profile(
      {.chain = chain, .known = shipped(), .tried = tried, .cause = cause, .nodes = nodes});
  return next.profile == nullptr ? "none" : next.profile->name;
}

}  // namespace

TEST_CASE("every shipped profile reads, and is described", "[shipped]") {
  std::set<std::string> names;
  for (const Profile& profile : shipped()) {
    names.insert(profile.name);
    INFO(profile.name);
    CHECK_FALSE(profile.description.empty());
    CHECK((profile.extends == "basic" || profile.extends == "no-ib" || profile.name == "basic"));
  }
  CHECK(names == std::set<std::string>{"basic", "conservative", "cumem-host", "debug",
                                       "gloo-fallback", "gpu-cache", "loopback", "low-resources",
                                       "minimal", "no-ib", "no-nvls", "no-p2p", "no-shm",
                                       "prefetch", "single-gpu"});
  CHECK(names.size() == builtin_profiles().size());
}

TEST_CASE("what is compiled in of a profile is what its file says", "[shipped]") {
  for (const BuiltInProfile& profile : builtin_profiles()) {
    INFO(profile.path);
    const std::string file(profile.path);
    CHECK_FALSE(profile.tree.empty());
    CHECK(tree_of(profile.tree, file) == parse_yaml(profile.text, file).value());
  }
}

TEST_CASE("no shipped profile sets a variable that does nothing", "[shipped]") {
  for (const Profile& profile : shipped()) {
    INFO(profile.name);
    CHECK(warnings_for(profile.env).empty());
    for (const auto& [name, setting] : profile.env) {
      INFO(name);
      CHECK(truth_about(name));
    }
  }
}

TEST_CASE("basic changes nothing but what a crash leaves behind", "[shipped]") {
  const Profile basic = load("basic");

  CHECK(basic.env.empty());
  CHECK(basic.unset.empty());
  CHECK(basic.timeouts == Timeouts{});
  CHECK(basic.args == ArgumentChanges{});
  CHECK(hook_variables(basic) == Environment{{"SAFELAUNCH_FAULTHANDLER", "1"}});
}

TEST_CASE("no profile both heals and worsens a cause", "[shipped]") {
  for (const Profile& profile : shipped())
    for (const std::string& cause : profile.heals) {
      INFO(profile.name << " " << cause);
      CHECK(std::find(profile.worsens.begin(), profile.worsens.end(), cause) ==
            profile.worsens.end());
    }
}

TEST_CASE("the causes of the catalogue lead to their medicine", "[shipped]") {
  CHECK(after_basic("shm-small") == "cumem-host");
  CHECK(after_basic("shm-attach") == "no-shm");
  CHECK(after_basic("shm-leaked") == "no-shm");
  CHECK(after_basic("nccl-not-built") == "gloo-fallback");
  CHECK(after_basic("no-gpu") == "gloo-fallback");
  CHECK(after_basic("gpu-p2p") == "no-p2p");
  CHECK(after_basic("nvls-bind") == "no-nvls");
  CHECK(after_basic("ib-peer") == "no-ib");
  CHECK(after_basic("ib-memlock") == "no-ib");
  CHECK(after_basic("cumem-uds") == "conservative");
  CHECK(after_basic("cumem-host-broken") == "conservative");
  CHECK(after_basic("mnnvl") == "conservative");
  CHECK(after_basic("ifname-missing") == "loopback");
  CHECK(after_basic("wrong-interface", 2) == "conservative");
  CHECK(after_basic("") == "conservative");
}

TEST_CASE("a small /dev/shm never leads to conservative", "[shipped]") {
  const std::vector<Profile> chain = library().load_chain(default_chain(), {}).value();
  std::vector<std::string> tried;
  while (
      const Profile* next =
          next_profile({.chain = chain, .known = shipped(), .tried = tried, .cause = "shm-small"})
              .profile)
    tried.push_back(next->name);

  CHECK(tried == std::vector<std::string>{"cumem-host", "basic", "no-shm", "gloo-fallback"});
}

TEST_CASE("a profile that changes the training is never chosen by itself", "[shipped]") {
  for (const char* name :
       {"single-gpu", "gpu-cache", "prefetch", "debug", "minimal", "low-resources"})
    CHECK(load(name).heals.empty());
}

TEST_CASE("only loopback beats what the user has set", "[shipped]") {
  for (const Profile& profile : shipped()) {
    INFO(profile.name);
    CHECK((profile.force_all || !profile.force.empty()) == (profile.name == "loopback"));
  }
}

TEST_CASE("a shipped profile that is shown reads back as the same", "[shipped]") {
  const ProfileSource nothing = [](std::string_view) -> Result<ProfileText> {
    return Error{Errc::bad_config, "shown profiles hold what they inherit"};
  };
  for (const Profile& profile : shipped()) {
    INFO(profile.name);
    const std::string text = render_profile(profile);
    Profile again = read_profile({profile.name, profile.origin, text}, nothing).value();
    again.extends = profile.extends;
    CHECK(render_profile(again) == text);
    CHECK(profile_json(again) == profile_json(profile));
  }
}
