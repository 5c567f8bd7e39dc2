// Files as an attacker or a broken disk might leave them: whatever their bytes are, reading them
// gives a value or an error with the file's name.
#include <random>

#include "catch.h"
#include "safelaunch/profile/config.h"
#include "safelaunch/profile/library.h"
#include "safelaunch/profile/profile.h"
#include "safelaunch/profile/remembered.h"

using namespace safelaunch;

using namespace safelaunch::profile;

namespace {

Result<ProfileText> basic(std::string_view) {
  return ProfileText{"basic", "basic.yaml", "{}"};
}

// Changes, inserts, removes and doubles bytes, mostly those that mean something in YAML.
std::string damaged(std::string text, std::mt19937& random) {
  constexpr std::string_view kBytes = "{}[]:,-?!&*#|>%@`'\"\\ \n\t0a~<\xc3\x00";
  const auto below = [&](std::size_t limit) { return random() % std::max<std::size_t>(limit, 1); };
  for (std::size_t i = 0; i < 1 + below(6); ++i) {
    const std::size_t at = below(text.size());
    switch (below(4)) {
      case 0: text.insert(at, 1, kBytes[below(kBytes.size())]); break;
      case 1: text.erase(at, below(20)); break;
      case 2: text.insert(at, text.substr(below(text.size()), below(40))); break;
      default: text[at] = kBytes[below(kBytes.size())];
    }
  }
  return text;
}

template <class T>
bool is_value_or_named_error(const Result<T>& result, std::string_view file) {
  return result.has_value() || result.error().message.starts_with(file);
}

}  // namespace

TEST_CASE("a damaged profile is a value or an error with its name", "[hostile]") {
  std::mt19937 random(1);
  for (int round = 0; round < 150; ++round) {
    for (const BuiltInProfile& file : builtin_profiles()) {
      const std::string text = damaged(std::string(file.text), random);
      INFO(text);
      REQUIRE(is_value_or_named_error(read_profile({"p", "p.yaml", text}, basic), "p.yaml"));
    }
  }
}

TEST_CASE("a damaged config file is a value or an error with its name", "[hostile]") {
  constexpr std::string_view kConfig =
      "chain: [basic]\nenv: {A: 1}\noptions: {port: 1-2}\nclusters:\n  - name: x\n    match: "
      "{hostname: \"a[0-9]+\", network: 10.0.0.0/8, env: {B: c}}\n    unset: [D]\n";
  std::mt19937 random(2);
  for (int round = 0; round < 1000; ++round) {
    const std::string text = damaged(std::string(kConfig), random);
    INFO(text);
    REQUIRE(is_value_or_named_error(read_config(text, "s.yaml"), "s.yaml"));
  }
}

TEST_CASE("a damaged memory is a memory or none", "[hostile]") {
  const std::string good =
      format_memory({{{"h", {"g"}, "d", "n", "p"}, "basic", WallTime(std::chrono::seconds(9))}});
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    const std::string text = damaged(good, random);
    INFO(text);
    REQUIRE_NOTHROW(parse_memory(text));
  }
}
