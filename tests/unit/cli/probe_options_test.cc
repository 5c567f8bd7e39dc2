#include "launcher/cli/probe_plan.h"

#include "catch.h"
#include "launcher/cli/verbs.h"

using namespace safelaunch;

using namespace safelaunch::cli;

namespace {

ProbeOptions parsed(const std::vector<std::string>& words) {
  ProbeOptions options;
  auto read = read_words_of(kProbeVerb, words, &options);
  if (!read) FAIL(read.error().message);
  options.command = std::move(read->rest);
  return options;
}

std::string refused(const std::vector<std::string>& words) {
  ProbeOptions options;
  const auto command = read_words_of(kProbeVerb, words, &options);
  REQUIRE_FALSE(command.has_value());
  CHECK(command.error().code == Errc::usage);
  return command.error().message;
}

}  // namespace

TEST_CASE("probe's words are read, and what follows is the command") {
  const auto options =
      parsed({"--profile", "basic,no-shm", "-p", "loopback", "--ranks", "4", "--devices=0,1",
              "--init-timeout", "5s", "--json", "--", "python", "--not-ours"});
  CHECK(options.profiles == std::vector<std::string>{"basic", "no-shm", "loopback"});
  CHECK(options.ranks == 4);
  CHECK(options.devices == "0,1");
  CHECK(options.init_timeout == Duration(5'000));
  CHECK(options.json);
  CHECK(options.command == std::vector<std::string>{"python", "--not-ours"});
}

TEST_CASE("a command needs no dashes before it, and keeps its own options") {
  const auto options = parsed({"--all", "torchrun", "--ranks", "9"});
  CHECK(options.all);
  CHECK_FALSE(options.ranks);
  CHECK(options.command == std::vector<std::string>{"torchrun", "--ranks", "9"});
}

TEST_CASE("no words are a probe of the usual chain") {
  const auto options = parsed({});
  CHECK(options.profiles.empty());
  CHECK_FALSE(options.all);
  CHECK(options.command.empty());
}

TEST_CASE("wrong words of probe are refused by name") {
  CHECK_THAT(refused({"--rank", "4"}),
             Catch::Matchers::ContainsSubstring("did you mean '--ranks'?"));
  CHECK_THAT(refused({"--ranks", "0"}), Catch::Matchers::ContainsSubstring("--ranks"));
  CHECK_THAT(refused({"--init-timeout", "5 bananas"}),
             Catch::Matchers::ContainsSubstring("--init-timeout"));
  CHECK_THAT(refused({"--all", "--profile", "basic"}), Catch::Matchers::ContainsSubstring("--all"));
  CHECK_THAT(refused({"--ranks", "2", "--ranks", "4"}),
             Catch::Matchers::ContainsSubstring("--ranks is given twice"));
  CHECK_THAT(refused({"--ranks"}), Catch::Matchers::ContainsSubstring("--ranks needs a value: N"));
}
