#include "launcher/cli/help.h"

#include <sstream>

#include "catch.h"

using namespace safelaunch::cli;

namespace {

constexpr std::size_t kWidth = 80;

std::vector<const Verb*> all_verbs() {
  std::vector<const Verb*> all(verbs().begin(), verbs().end());
  all.push_back(&kHelpVerb);
  return all;
}

}  // namespace

TEST_CASE("every help fits a terminal of 80 columns", "[help]") {
  for (const Verb* verb : all_verbs()) {
    std::istringstream lines(help_of(*verb));
    for (std::string line; std::getline(lines, line);) {
      INFO(verb->name << ": " << line);
      CHECK(line.size() <= kWidth);
    }
  }
}

TEST_CASE("every help ends with an example of its verb", "[help]") {
  for (const Verb* verb : all_verbs()) {
    INFO(verb->name);
    const std::string help = help_of(*verb);
    const std::size_t at = help.find("\nExample:\n");
    REQUIRE(at != std::string::npos);
    const bool names_it =
        verb == &kRunVerb || help.find("safelaunch " + std::string(verb->name), at) < help.size();
    CHECK(names_it);
  }
}
