#include <sstream>

#include "catch.h"
#include "launcher/cli/help.h"

using namespace safelaunch;
using namespace safelaunch::cli;

namespace {

std::vector<std::string> lines_of_page() {
  std::vector<std::string> lines;
  std::istringstream stream(manual_page());
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> with_request(std::string_view request) {
  std::vector<std::string> rests;
  for (const std::string& line : lines_of_page())
    if (line.starts_with(std::string(request) + " "))
      rests.push_back(line.substr(request.size() + 1));
  return rests;
}

}  // namespace

TEST_CASE("the man page has the sections that readers look for, in their order", "[manual]") {
  CHECK(with_request(".SH") == std::vector<std::string>{"NAME", "SYNOPSIS", "DESCRIPTION",
                                                        "OPTIONS", "VERBS", "ENVIRONMENT", "FILES",
                                                        "EXIT STATUS", "SEE ALSO"});
  CHECK(lines_of_page().front().starts_with(".TH SAFELAUNCH 1 \"\" \"safelaunch "));
}

TEST_CASE("every line of the man page is text or a request that man knows", "[manual]") {
  for (const std::string& line : lines_of_page()) {
    INFO(line);
    CHECK_FALSE(line.empty());
    CHECK_FALSE(line.starts_with('\''));
    if (!line.starts_with('.')) continue;
    const std::string request = line.substr(0, line.find(' '));
    const bool known = request == ".TH" || request == ".SH" || request == ".SS" ||
                       request == ".TP" || request == ".B" || request == ".BR" ||
                       request == ".br" || request == ".PP" || request == ".fi" ||
                       request == ".EX" || request == ".EE";
    CHECK(known);
  }
}

TEST_CASE("a dash of the man page is one that can be copied", "[manual]") {
  for (const std::string& line : lines_of_page()) {
    if (line.starts_with(".TH")) continue;
    INFO(line);
    for (std::size_t at = line.find('-'); at != std::string::npos; at = line.find('-', at + 1))
      CHECK((at > 0 && line[at - 1] == '\\'));
  }
}

TEST_CASE("the man page tells every status with which safelaunch itself ends", "[manual]") {
  for (const Errc code : {Errc::usage, Errc::bad_config, Errc::not_found, Errc::not_executable,
                          Errc::blocked, Errc::peer_lost, Errc::os}) {
    const std::string status = std::to_string(exit_code_of(code));
    INFO(status);
    CHECK(manual_page().find(status) != std::string::npos);
  }
}

TEST_CASE("the man page tells how options, variables and the file stand to each other",
          "[manual]") {
  const std::string page = manual_page();
  CHECK_THAT(page, Catch::Matchers::ContainsSubstring("SAFELAUNCH_INIT_TIMEOUT=60s"));
  CHECK_THAT(page, Catch::Matchers::ContainsSubstring("\\-\\-set, \\-\\-unset and \\-\\-module"));
  CHECK_THAT(page, Catch::Matchers::ContainsSubstring("SAFELAUNCH_PROFILE_PATH"));
}

TEST_CASE("the options that the man page calls the command line's own are so", "[manual]") {
  for (const settings::Option& option : kRunVerb.options) {
    const bool own = option.name == "set" || option.name == "unset" || option.name == "module";
    INFO(option.name);
    CHECK((option.scope == settings::OptionScope::line) == own);
  }
}
