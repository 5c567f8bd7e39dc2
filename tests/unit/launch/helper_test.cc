#include "safelaunch/launch/helper.h"

#include <boost/asio/io_context.hpp>
#include <csignal>

#include "catch.h"
#include "program.h"

using namespace safelaunch;

using namespace safelaunch::launch;
using namespace safelaunch::testing;

namespace {

launch::HelperSpec scene(std::vector<std::string> words) {
  words.insert(words.begin(), victim("helper_scene"));
  return {std::move(words), current_environment(), Duration(30'000)};
}

launch::HelperOutput output_of(const launch::HelperSpec& spec) {
  auto output = launch::run_helper(spec);
  if (!output) FAIL(output.error().message);
  return *output;
}

/// A helper on an io_context, with all that it told.
struct Stage {
  boost::asio::io_context io;
  launch::Reaper reaper{io, [](int, const ExitStatus&) {}};
  std::vector<std::string> lines;
  std::optional<launch::HelperEnd> end;
  std::optional<launch::Helper> helper;

  void start(const launch::HelperSpec& spec) {
    auto started = launch::Helper::start(
        io, reaper, spec, [this](std::string_view line) { lines.emplace_back(line); },
        [this](const launch::HelperEnd& told) { end = told; });
    if (!started) FAIL(started.error().message);
    helper.emplace(std::move(*started));
  }

  void run_until_lines(std::size_t count) {
    while (lines.size() < count && !end) io.run_one();
  }

  void run_until_end() {
    while (!end) io.run_one();
  }
};

}  // namespace

TEST_CASE("a helper's lines come in order, the last one also without a newline, then its end") {
  const auto output = output_of({{"/bin/sh", "-c", "echo one; echo two; printf three; exit 7"},
                                 current_environment(),
                                 Duration(30'000)});
  CHECK(output.lines == std::vector<std::string>{"one", "two", "three"});
  CHECK(output.end.status == ExitStatus{Exited{7}});
  CHECK_FALSE(output.end.timed_out);
}

TEST_CASE("a helper that hangs is killed at its deadline, and what it had said is kept") {
  Stage stage;
  auto spec = scene({"complain:waiting for the driver", "say:begun", "hang"});
  spec.deadline = Duration(2'000);  // time for its words on a busy machine
  stage.start(spec);
  stage.run_until_end();
  CHECK(stage.lines == std::vector<std::string>{"begun"});
  CHECK(stage.end->timed_out);
  CHECK(stage.end->status == ExitStatus{Signaled{SIGKILL, false}});
  CHECK(describe(*stage.end) == "no answer within its time: waiting for the driver");
}

TEST_CASE(
    "a helper that never stops talking is killed at its deadline, and its lines are bounded") {
  auto spec = scene({"flood"});
  spec.deadline = Duration(100);
  const auto output = output_of(spec);
  CHECK(output.end.timed_out);
  CHECK(output.lines.size() <= 10'000);
}

TEST_CASE("a crash of a helper is its end, not ours") {
  const auto output = output_of(scene({"say:begun", "complain:bad handle", "abort"}));
  REQUIRE(output.end.status);
  CHECK(std::get<Signaled>(*output.end.status).signal == SIGABRT);
  CHECK_THAT(describe(output.end), Catch::Matchers::StartsWith("killed by SIGABRT") &&
                                       Catch::Matchers::EndsWith(": bad handle"));
}

TEST_CASE("an overlong line is cut, and the next one is whole") {
  const auto output = output_of(scene({"long", "say:next"}));
  REQUIRE(output.lines.size() == 2);
  CHECK(output.lines[0].size() == 64 * 1024);
  CHECK(output.lines[1] == "next");
}

TEST_CASE("a child of a helper that holds its stdout does not delay its end") {
  Stage stage;
  stage.start(scene({"linger", "say:done"}));
  const int group = stage.helper->id().pid;
  stage.run_until_end();
  CHECK(stage.lines == std::vector<std::string>{"done"});
  CHECK(::kill(-group, SIGKILL) == 0);
}

TEST_CASE("a helper hears what is written to it") {
  Stage stage;
  stage.start(scene({"echo"}));
  stage.helper->write_line("ping");
  stage.run_until_lines(1);
  CHECK(stage.lines == std::vector<std::string>{"ping"});
  stage.helper->kill();
  stage.run_until_end();
  CHECK_FALSE(stage.end->timed_out);
  stage.helper->write_line("nobody is there");
}

TEST_CASE("a helper that is destroyed is killed and tells nothing") {
  Stage stage;
  stage.start(scene({"say:begun", "hang"}));
  stage.run_until_lines(1);
  const int pid = stage.helper->id().pid;
  stage.helper.reset();
  bool childless = false;
  stage.reaper.when_childless([&] { childless = true; });
  while (!childless) stage.io.run_one();
  CHECK(state_of(pid) == 'X');
  CHECK_FALSE(stage.end);
}

TEST_CASE("a helper may be destroyed by what it says") {
  Stage stage;
  auto started = launch::Helper::start(
      stage.io, stage.reaper, scene({"say:one", "say:two", "hang"}),
      [&](std::string_view line) {
        stage.lines.emplace_back(line);
        stage.helper.reset();
      },
      [](const launch::HelperEnd&) { FAIL("it was destroyed"); });
  REQUIRE(started.has_value());
  stage.helper.emplace(std::move(*started));
  bool childless = false;
  stage.reaper.when_childless([&] { childless = true; });
  while (!childless) stage.io.run_one();
  CHECK(stage.lines == std::vector<std::string>{"one"});
}

TEST_CASE("helpers that are started by the end of those before them are heard, each one") {
  // Two at a time, as ranks are: descriptors and Asio's states of the old ones are used again.
  constexpr std::size_t kRounds = 60;
  boost::asio::io_context io;
  launch::Reaper reaper(io, [](int, const ExitStatus&) {});
  std::vector<launch::Helper> pair;
  std::size_t lines = 0;
  int running = 0;
  bool late = false;
  std::function<void()> start_pair = [&] {
    pair.clear();
    for (; running < 2; ++running) {
      auto spec = scene({"complain:first", "say:one", "echo"});
      spec.deadline = Duration(60'000);
      auto helper = launch::Helper::start(
          io, reaper, spec,
          [&](std::string_view) {
            if (++lines % 2 == 0)
              for (launch::Helper& one : pair) one.kill();
          },
          [&](const launch::HelperEnd& end) {
            late = late || end.timed_out;
            if (--running == 0 && lines < 2 * kRounds && !late) start_pair();
          });
      REQUIRE(helper.has_value());
      pair.push_back(std::move(*helper));
    }
  };
  start_pair();
  while (running > 0) io.run_one();
  CHECK_FALSE(late);
  CHECK(lines == 2 * kRounds);
}

TEST_CASE("a helper that does not exist is an error") {
  const auto output = launch::run_helper({{"/no/such/helper"}, {}, Duration(1'000)});
  REQUIRE_FALSE(output.has_value());
  CHECK(output.error().code == Errc::not_found);
}

TEST_CASE("how a helper ended is told in a line, with the last of its errors") {
  const std::vector<std::pair<launch::HelperEnd, std::string>> ends{
      {{Exited{0}, false, ""}, "exit status 0"},
      {{Exited{3}, false, "first\nlast\n\n"}, "exit status 3: last"},
      {{Exited{3}, false, "only"}, "exit status 3: only"},
      {{Exited{3}, false, "\n\n"}, "exit status 3"},
      {{Exited{3}, false, "first\n  last \r\n \n"}, "exit status 3: last"},
      {{Signaled{SIGKILL}, true, "asking the driver\n"},
       "no answer within its time: asking the driver"},
      {{std::nullopt, false, ""}, "killed, but its driver does not let it end"},
      {{std::nullopt, true, ""}, "no answer within its time"}};
  for (const auto& [end, text] : ends) CHECK(describe(end) == text);
}

TEST_CASE("a helper that is killed by us has not run out of its time") {
  Stage stage;
  stage.start({{"/bin/sh", "-c", "echo begun; exec " + victim("go_silent")}, {}, Duration{}});
  stage.run_until_lines(1);
  stage.helper->kill();
  stage.helper->kill();  // again changes nothing
  stage.run_until_end();
  CHECK(stage.end->status == ExitStatus(Signaled{SIGKILL}));
  CHECK_FALSE(stage.end->timed_out);
}

TEST_CASE("the last 16 kB of a helper's errors are kept") {
  const auto output = output_of({{"/bin/sh", "-c",
                                  "i=0; while [ $i -lt 2000 ]; do echo 'error of the driver' >&2; "
                                  "i=$((i+1)); done; echo the last >&2"},
                                 {},
                                 Duration(60'000)});
  CHECK(output.end.errors.size() == 16 * 1024);
  CHECK(output.end.errors.ends_with("the last\n"));
}

TEST_CASE("empty lines of a helper are lines") {
  const auto output =
      output_of({{"/bin/sh", "-c", "printf '\\n\\na\\n\\n'"}, {}, Duration(60'000)});
  CHECK(output.lines == std::vector<std::string>{"", "", "a", ""});
}

TEST_CASE("a helper that has ended misses what is written to it, and nobody is hurt") {
  Stage stage;
  stage.start({{victim("exit_with"), "0"}, {}, Duration(60'000)});
  stage.run_until_end();
  stage.helper->write_line("too late");
  stage.helper->kill();
  CHECK(stage.end->status == ExitStatus(Exited{0}));
}

TEST_CASE("a helper that cannot be executed says why, as a shell would") {
  Stage stage;
  const auto started = launch::Helper::start(
      stage.io, stage.reaper, {{"/"}, {}, Duration(1'000)}, [](std::string_view) {},
      [](const launch::HelperEnd&) {});
  REQUIRE(started.has_error());
  CHECK(started.error().code == Errc::not_executable);
}
