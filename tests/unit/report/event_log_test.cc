#include "safelaunch/report/event_log.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "catch.h"
#include "safelaunch/redact/redactor.h"
#include "scratch.h"

using namespace safelaunch;

using namespace safelaunch::report;

namespace {

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

long count_of(const std::vector<std::string>& lines, const std::string& part) {
  return std::ranges::count_if(
      lines, [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE(
    "events that somebody makes without end are recorded a hundred times an attempt, and counted",
    "[event_log]") {
  const safelaunch::testing::ScratchFolder scratch;
  redact::Redactor redactor;
  EventLog log(scratch.path / "events.jsonl", Clock::now(), redactor);
  for (const int attempt : {1, 2}) {
    log.set_attempt(attempt);
    for (int i = 0; i < 1000; ++i) {
      log.record_some(record::HookError{"here", ""});
      log.record_some(record::Status{"still"});
    }
    log.record(record::Exit{});
    log.count_the_rest();
  }
  const auto lines = lines_of(scratch.path / "events.jsonl");
  CHECK(count_of(lines, R"("e":"hook_error")") == 200);
  CHECK(count_of(lines, R"("e":"status")") == 200);
  CHECK(count_of(lines, R"("e":"exit")") == 2);
  CHECK(count_of(lines, R"("e":"unrecorded","attempt":1,"count":900)") +
            count_of(lines, R"("e":"unrecorded","attempt":1,"event":)") >=
        2);
}
