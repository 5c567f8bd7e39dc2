#include "launcher/report/excerpts.h"

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::report;

namespace {

RecordedFile file(const std::string& name, const std::string& text) {
  return {name, text, text.size(), 0};
}

/// Rank 1 is missing.
AttemptHistory hung_attempt() {
  AttemptHistory attempt;
  attempt.verdict = RecordedVerdict{.at = {}, .text = "", .failure = {}};
  attempt.verdict->failure.missing = {{.rank = Rank{1}}};
  return attempt;
}

}  // namespace

TEST_CASE("stacks that differ in more than their threads' numbers are told apart", "[excerpts]") {
  AttemptHistory attempt;
  attempt.stacks = {file("rank-0", "thread thread 11 (x)\n  a:1\n"),
                    file("rank-1", "thread thread 22 (x)\n  a:1\n"),
                    file("rank-2", "thread thread 11 (x)\n  a:2\n")};
  const auto stacks = shared_stacks(attempt);
  REQUIRE(stacks.size() == 2);
  CHECK(stacks[0].ranks == std::vector{Rank{0}, Rank{1}});
  CHECK(stacks[0].text == attempt.stacks[0].text);
  CHECK_FALSE(stacks[0].suspect);
}

TEST_CASE("a stack that a missing rank shares with others is a suspect's", "[excerpts]") {
  AttemptHistory attempt = hung_attempt();
  attempt.stacks = {file("rank-0", "a"), file("rank-1", "b"), file("rank-2", "b")};
  const auto stacks = shared_stacks(attempt);
  CHECK(stacks.at(0).suspect);
  CHECK(stacks.at(0).ranks == std::vector{Rank{1}, Rank{2}});
}

TEST_CASE("a stack of no rank is passed over", "[excerpts]") {
  AttemptHistory attempt;
  attempt.stacks = {file("launcher", "a"), file("rank-x", "b")};
  CHECK(shared_stacks(attempt).empty());
}

TEST_CASE("the launcher's logs come behind a suspect's and before the others'", "[excerpts]") {
  AttemptHistory attempt = hung_attempt();
  attempt.logs = {file("rank-0.err", "a"), file("launcher.out", "b"), file("nccl.h.1", "c"),
                  file("rank-1.err", "d"), file("rank-10.err", "e")};
  std::vector<std::string> names;
  for (const RecordedFile* log : logs_by_interest(attempt)) names.push_back(log->name);
  CHECK(names == std::vector<std::string>{"rank-1.err", "launcher.out", "rank-0.err", "nccl.h.1",
                                          "rank-10.err"});
}

TEST_CASE("the extent of a file says what was left out", "[excerpts]") {
  CHECK(extent_in_words({"log", "", 999, 0}) == "999 bytes");
  CHECK(extent_in_words({"log", "", 2'300, 0}) == "2 KiB");
  CHECK(extent_in_words({"log", "", 10'000'000, 9'936'000}) == "the last 62 KiB of 10 MiB");
  CHECK(extent_in_words({"log", "", 5'000'000'000'000'000, 0}) == "4656612.9 GiB");
}

TEST_CASE("the last lines are whole lines, whatever ends the text", "[excerpts]") {
  struct {
    std::string_view text;
    std::size_t count;
    std::string_view last;
  } const cases[] = {
      {"a\nb\nc", 1, "c"},
      {"a\nb\nc\n", 1, "c"},
      {"a\nb\nc\n\n\n", 2, "b\nc"},
      {"a\n\nc\n", 2, "\nc"},
      {"a\nb\nc", 3, "a\nb\nc"},
      {"a\nb\nc", 100, "a\nb\nc"},
      {"a\nb\nc", 0, ""},
      {"abc", 1, "abc"},
      {"\na", 1, "a"},
      {"\na", 2, "\na"},
      {"", 0, ""},
  };
  for (const auto& each : cases) CHECK(last_lines(each.text, each.count) == each.last);
}

TEST_CASE("sizes are told in the unit that fits", "[excerpts]") {
  struct {
    std::uintmax_t size;
    std::uintmax_t left_out;
    const char* words;
  } const cases[] = {
      {0, 0, "0 bytes"},
      {999, 0, "999 bytes"},
      {1'024, 0, "1 KiB"},
      {999'400, 0, "976 KiB"},
      {1'000'000, 0, "977 KiB"},
      {2'500'000'000, 0, "2.3 GiB"},
      {7'000'000'000'000, 0, "6519.3 GiB"},
      {9'000'000'000'000'000, 0, "8381903.2 GiB"},
      {10'000'000, 9'936'000, "the last 62 KiB of 10 MiB"},
      {5'000, 5'000, "the last 0 bytes of 5 KiB"},
  };
  for (const auto& each : cases)
    CHECK(extent_in_words({"x", "", each.size, each.left_out}) == each.words);
}

TEST_CASE("stacks that differ in their threads' numbers alone are equal, however many they have",
          "[excerpts]") {
  const auto stack_of = [](int number) {
    std::string stack;
    for (int i = 0; i < 20'000; ++i)
      stack += "thread thread " + std::to_string(number) + " (x)\n  f\n";
    return stack;
  };
  AttemptHistory attempt;
  attempt.stacks = {{"rank-0", stack_of(7), 1, 0},
                    {"rank-1", stack_of(1'234'567), 1, 0},
                    {"rank-2", "thread thread 7", 1, 0},
                    {"rank-3", "thread thread ", 1, 0},
                    {"rank-4", "thread thread x", 1, 0}};
  const std::vector<SharedStack> stacks = shared_stacks(attempt);
  REQUIRE(stacks.size() == 3);
  CHECK(stacks[0].ranks == std::vector{Rank{0}, Rank{1}});
  CHECK(stacks[1].ranks == std::vector{Rank{2}, Rank{3}});
}

TEST_CASE("lines of source are read by their place, and torn ones are passed over", "[excerpts]") {
  const SourceLines lines = read_sources(
      "/x/a.py:1\t    f(1)\n/x/b c.py:2\tg\t2 \nno tab\n\tno place\n/x/d.py:3\t "
      "\t\r\n/x/a.py:9\th");
  CHECK(lines == SourceLines{{"/x/a.py:1", "f(1)"}, {"/x/b c.py:2", "g\t2 "}, {"/x/a.py:9", "h"}});
  CHECK(read_sources("").empty());
}

TEST_CASE("a line of a stack has a place where it is a frame of Python", "[excerpts]") {
  struct {
    std::string_view line;
    std::string_view place;
  } const cases[] = {
      {"  /x/train.py:50 sleep", "/x/train.py:50"},
      {"  train.py:7 <module>", "train.py:7"},
      {"  /a b/train.py:50 f", "/a b/train.py:50"},
      {"train.py:50 f", ""},
      {"  /x/train.pyc:50 f", ""},
      {"  /x/train.c:50 f", ""},
      {"  /x/train.py f", ""},
      {"thread MainThread", ""},
      {"  ", ""},
      {"", ""},
  };
  for (const auto& each : cases) CHECK(place_of_frame(each.line) == each.place);
}
