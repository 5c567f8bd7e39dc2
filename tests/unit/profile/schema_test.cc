#include "safelaunch/profile/profile_text.h"

#include <nlohmann/json.hpp>
#include <set>

#include "catch.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/profile/config.h"
#include "safelaunch/profile/profile.h"
#include "safelaunch/settings/run_options.h"

using namespace safelaunch;

using namespace safelaunch::profile;

namespace {

std::set<std::string> properties(const nlohmann::json& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.at("properties").items()) names.insert(name);
  return names;
}

// The keys that a refusal lists: "… has no key 'x'; there are a, b, c".
std::set<std::string> listed(const std::string& refusal) {
  std::set<std::string> names;
  const auto at = refusal.find("there are ");
  REQUIRE(at != std::string::npos);
  std::string_view rest = std::string_view(refusal).substr(at + 10);
  while (!rest.empty()) {
    std::string_view word = take_word(rest, ',');
    if (word.starts_with(' ')) word.remove_prefix(1);
    names.insert(std::string(word));
  }
  return names;
}

}  // namespace

TEST_CASE("the schema of a profile has exactly the keys that a profile has", "[schema]") {
  const auto schema = nlohmann::json::parse(schema_of(FileKind::profile));
  const auto refused = read_profile({"p", "p.yaml", "xyzzyxyzzy: 1"}, {});
  CHECK(properties(schema) == listed(refused.error().message));
  const auto timeouts = read_profile({"p", "p.yaml", "timeouts: {xyzzyxyzzy: 1s}"}, {});
  CHECK(properties(schema["properties"]["timeouts"]) == listed(timeouts.error().message));
}

TEST_CASE("the schema of safelaunch.yaml has exactly the keys of that file", "[schema]") {
  const auto schema = nlohmann::json::parse(schema_of(FileKind::config));
  CHECK(properties(schema) ==
        listed(read_config("xyzzyxyzzy: 1", "safelaunch.yaml").error().message));
  const auto rule = read_config("clusters: [{name: a, xyzzyxyzzy: 1}]", "safelaunch.yaml");
  CHECK(properties(schema["properties"]["clusters"]["items"]) == listed(rule.error().message));
}

TEST_CASE("the options in a schema are those that its file may give", "[schema]") {
  for (const auto& [kind, scope] : {std::pair(FileKind::profile, settings::OptionScope::profile),
                                    std::pair(FileKind::config, settings::OptionScope::config)}) {
    std::set<std::string> expected;
    for (const settings::Option& option : settings::run_options())
      if (option.scope >= scope) expected.insert(std::string(option.name));
    const auto schema = nlohmann::json::parse(schema_of(kind));
    CHECK(properties(schema["definitions"]["options"]) == expected);
  }
}
