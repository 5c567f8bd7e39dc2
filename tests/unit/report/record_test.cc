#include "safelaunch/report/record.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "catch.h"
#include "safelaunch/redact/redactor.h"
#include "safelaunch/report/event_log.h"
#include "scratch.h"
#include "test_data.h"

using namespace safelaunch;

using namespace safelaunch::report;

namespace {

void fill(std::string& member) {
  member = "some words";
}
void fill(std::vector<std::string>& member) {
  member = {"one", "two"};
}
void fill(std::vector<int>& member) {
  member = {3, 5};
}
void fill(auto& number) {
  number = 71;
}

template <class One>
record::Event filled() {
  One one;
  One::fields(one, [](const char*, auto& member) { fill(member); });
  return one;
}

template <class... All>
std::vector<record::Event> one_of_each(const std::variant<All...>*) {
  return {filled<All>()...};
}

std::vector<record::Event> one_of_each() {
  return one_of_each(static_cast<const record::Event*>(nullptr));
}

std::set<std::string> fields_of(const record::Event& event) {
  std::set<std::string> names;
  std::visit(
      [&](const auto& one) {
        one.fields(one, [&](const char* name, const auto&) { names.insert(name); });
      },
      event);
  return names;
}

std::string written(const record::Event& event) {
  const safelaunch::testing::ScratchFolder scratch;
  redact::Redactor redactor;
  EventLog(scratch.path / "events.jsonl", Clock::now(), redactor).record(event);
  std::ifstream file(scratch.path / "events.jsonl");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string without_clock(const std::string& line) {
  return line.substr(line.find("\"e\":"));
}

// The words between backticks.
std::set<std::string> quoted(std::string text) {
  std::set<std::string> words;
  for (std::size_t at = text.find('`'); at != std::string::npos; at = text.find('`')) {
    const std::size_t end = text.find('`', at + 1);
    words.insert(text.substr(at + 1, end - at - 1));
    text = text.substr(end + 1);
  }
  return words;
}

// The table of docs/run-directory.md: event → its fields.
std::map<std::string, std::set<std::string>> documented() {
  std::map<std::string, std::set<std::string>> events;
  const std::string page = safelaunch::testing::data("../../docs/run-directory.md");
  std::string table = page.substr(page.find("## events.jsonl"));
  while (!table.empty()) {
    const std::string line = table.substr(0, table.find('\n'));
    table.erase(0, line.size() + 1);
    if (!line.starts_with("| `")) continue;
    const std::size_t second = line.find('|', 1);
    const std::size_t third = line.find('|', second + 1);
    events[*quoted(line.substr(0, second)).begin()] = quoted(line.substr(second, third - second));
  }
  return events;
}

}  // namespace

TEST_CASE("every event that is written is read back as it was", "[record]") {
  for (const record::Event& event : one_of_each()) {
    const std::string line = written(event);
    const auto read = record::read_line(line);
    REQUIRE(read);
    REQUIRE(std::holds_alternative<record::Event>(read->event));
    CHECK(without_clock(written(std::get<record::Event>(read->event))) == without_clock(line));
  }
}

TEST_CASE("every event tells a reader something", "[record]") {
  for (const record::Event& event : one_of_each()) {
    if (std::holds_alternative<record::Training>(event)) continue;
    INFO(name(event));
    CHECK_FALSE(in_words(*record::read_line(written(event))).empty());
  }
}

TEST_CASE("the page about the run directory has every event with its fields", "[record]") {
  std::map<std::string, std::set<std::string>> ours;
  for (const record::Event& event : one_of_each()) ours[name(event)] = fields_of(event);
  CHECK(documented() == ours);
}

TEST_CASE("an event of another version keeps its name and text", "[record]") {
  const auto read = record::read_line(R"({"t":1.5,"e":"weather","attempt":2,"text":"rain"})");
  REQUIRE(read);
  CHECK(name(*read) == "weather");
  CHECK(in_words(*read) == "rain");
  CHECK(read->attempt == 2);
  CHECK(read->at == std::chrono::milliseconds(1'500));
}

TEST_CASE("fields that are missing, or of another type, are empty", "[record]") {
  const auto read = record::read_line(R"({"e":"verdict","text":7,"waiting":["x",1]})");
  REQUIRE(read);
  const auto& verdict = std::get<record::Verdict>(std::get<record::Event>(read->event));
  CHECK(verdict.text.empty());
  CHECK(verdict.waiting == std::vector<int>{1});
}

TEST_CASE("a line that is no event is none", "[record]") {
  CHECK_FALSE(record::read_line(""));
  CHECK_FALSE(record::read_line("{"));
  CHECK_FALSE(record::read_line("[1]"));
  CHECK_FALSE(record::read_line(R"({"t":1})"));
}

TEST_CASE("a verdict is read back from its event, ranks in rising order", "[record]") {
  Failure verdict{.kind = FailureKind::driver_silent, .stage = Stage::group};
  verdict.waiting = {Rank{3}, Rank{0}};
  verdict.missing = {{.rank = Rank{2}}, {.rank = Rank{1}}};
  const Failure read = record::failure_of(record::event_of(verdict));
  CHECK(read.kind == FailureKind::driver_silent);
  CHECK(read.stage == Stage::group);
  CHECK(read.waiting == std::vector<Rank>{Rank{0}, Rank{3}});
  CHECK(ranks_of(read.missing) == std::vector<Rank>{Rank{1}, Rank{2}});
  CHECK(record::failure_of({"of another version", "", "", {}, {}}).kind == FailureKind::failed);
}
