#include "safelaunch/base/log.h"

#include <vector>

#include "catch.h"

using namespace safelaunch;

TEST_CASE("each verbosity says what it should, through the one who owns the terminal", "[log]") {
  std::vector<std::string> lines;
  set_log_writer([&](std::string_view line) { lines.emplace_back(line); });
  const auto say_all = [](Verbosity verbosity) {
    set_verbosity(verbosity);
    log_debug("d");
    log_warning("w");
    log_error("e");
  };
  say_all(Verbosity::quiet);
  CHECK(lines == std::vector<std::string>{"safelaunch: error: e"});
  lines.clear();
  say_all(Verbosity::normal);
  CHECK(lines == std::vector<std::string>{"safelaunch: warning: w", "safelaunch: error: e"});
  lines.clear();
  say_all(Verbosity::verbose);
  CHECK(lines.front() == "safelaunch: debug: d");
  set_verbosity(Verbosity::normal);
}
