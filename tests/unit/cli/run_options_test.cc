#include "launcher/cli/verb_run.h"

#include <algorithm>

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::cli;
using namespace std::chrono_literals;
using Words = std::vector<std::string>;

namespace {

Result<settings::RunOptions> parse(const Words& words, const settings::Settings& settings = {}) {
  return parse_run_options(words, [&](const std::string&, const std::string&) {
    return Result<settings::Settings>(settings);
  });
}

}  // namespace

TEST_CASE("the command begins at the first word that is not ours", "[run_options]") {
  const settings::RunOptions options =
      parse({"--max-attempts", "2", "torchrun", "--nproc_per_node=4", "train.py", "--", "-v"})
          .value();
  CHECK(options.max_attempts == 2);
  CHECK(options.command == Words{"torchrun", "--nproc_per_node=4", "train.py", "--", "-v"});
}

TEST_CASE("behind two dashes everything is the command", "[run_options]") {
  const settings::RunOptions options = parse({"--nproc-per-node", "4", "--", "--odd", "x"}).value();
  CHECK(options.nproc_per_node == "4");
  CHECK(options.command == Words{"--odd", "x"});
}

TEST_CASE("profiles come by commas and by repetition", "[run_options]") {
  const settings::RunOptions options =
      parse({"--profile", "a,b", "--profile=c", "-p", "d", "true"}).value();
  CHECK(options.profiles == Words{"a", "b", "c", "d"});
}

TEST_CASE("a variable with commas and equal signs is taken whole", "[run_options]") {
  const settings::RunOptions options =
      parse({"--set", "A=1,2=3", "--set", "B=", "--unset", "C", "x"}).value();
  CHECK(options.set == Words{"A=1,2=3", "B="});
  CHECK(options.unset == Words{"C"});
}

TEST_CASE("deadlines are durations, and zero is off", "[run_options]") {
  const settings::RunOptions options = parse({"--init-timeout=2min", "--start-timeout=1h",
                                              "--stall-timeout", "0", "--grace", "5s", "x"})
                                           .value();
  CHECK(options.init_timeout == 120s);
  CHECK(options.start_timeout == 1h);
  CHECK(options.stall_timeout == 0s);
  CHECK(options.collective_timeout == std::nullopt);
  CHECK(options.grace == 5s);
}

TEST_CASE("flags that switch off", "[run_options]") {
  const settings::RunOptions options =
      parse({"--no-hook", "--no-preflight", "--no-color", "x"}).value();
  CHECK_FALSE(options.hook);
  CHECK_FALSE(options.preflight);
  CHECK_FALSE(options.colour);
  CHECK(options.plugin);
}

TEST_CASE("an option beats the settings of environment and files", "[run_options]") {
  const settings::Settings settings{{"init-timeout", {"8s", "SAFELAUNCH_INIT_TIMEOUT"}},
                                    {"prefix", {"true", "safelaunch.yaml:3:9"}},
                                    {"no-hook", {"1", "SAFELAUNCH_NO_HOOK"}}};
  const settings::RunOptions from_settings = parse({"x"}, settings).value();
  CHECK(from_settings.init_timeout == 8s);
  CHECK(from_settings.prefix);
  CHECK_FALSE(from_settings.hook);
  CHECK(parse({"--init-timeout", "9", "x"}, settings).value().init_timeout == 9s);
}

TEST_CASE("an unknown option is answered with the nearest one", "[run_options]") {
  const auto options = parse({"--init-timout", "3s", "x"});
  REQUIRE(options.has_error());
  CHECK(options.error().code == Errc::usage);
  CHECK(
      options.error().message.starts_with("unknown option --init-timout; did you mean "
                                          "'--init-timeout'?"));
}

TEST_CASE("bad values are refused by name", "[run_options]") {
  for (const Words& words :
       {Words{"--init-timeout", "soon", "x"}, Words{"--max-attempts", "0", "x"},
        Words{"--clean", "all", "x"}, Words{"--binding", "gpu", "x"},
        Words{"--master-port", "70000", "x"}, Words{"--max-attempts", "x"},
        Words{"--only=maybe", "x"}, Words{"--run-dir=", "x"}, Words{"--run-dir", "", "x"},
        Words{"--port", "0", "x"}, Words{"--port", "2-1", "x"}}) {
    INFO(words[0] << ' ' << words[1]);
    REQUIRE(parse(words).has_error());
    CHECK(parse(words).error().code == Errc::usage);
  }
}

TEST_CASE("a bad value of a setting names who gave it", "[run_options]") {
  const auto options = parse({"x"}, {{"init-timeout", {"soon", "SAFELAUNCH_INIT_TIMEOUT"}}});
  REQUIRE(options.has_error());
  CHECK(options.error().message.starts_with("SAFELAUNCH_INIT_TIMEOUT: init-timeout: 'soon'"));
}

TEST_CASE("no command is an error", "[run_options]") {
  CHECK(parse({}).has_error());
  CHECK(parse({"--only"}).has_error());
  CHECK(parse({"--only", "--"}).has_error());
}

TEST_CASE("the last of an option that is given twice holds", "[run_options]") {
  CHECK(parse({"--port", "auto", "--port", "keep", "x"}).value().port == "keep");
}

TEST_CASE("a letter takes its value as the name does", "[run_options]") {
  const settings::RunOptions options = parse({"-q", "-p=a", "-p", "b", "x"}).value();
  CHECK(options.verbosity == Verbosity::quiet);
  CHECK(options.profiles == Words{"a", "b"});
}

TEST_CASE("help is asked for anywhere before the command", "[run_options]") {
  CHECK(parse({"--only", "--help"}).value().wants_help);
  CHECK_FALSE(parse({"--only", "x", "--help"}).value().wants_help);
}

TEST_CASE("a long option may be written with underscores, as torchrun's users write it",
          "[run_options]") {
  const settings::RunOptions options =
      parse({"--nproc_per_node", "2", "--master_port=29511", "--master_addr", "my_host",
             "--node_rank", "0", "--init_timeout=8s", "train_all.py", "--an_option"})
          .value();
  CHECK(options.nproc_per_node == "2");
  CHECK(options.master_port == 29511);
  CHECK(options.master_addr == "my_host");
  CHECK(options.node_rank == 0);
  CHECK(options.init_timeout == 8s);
  CHECK(options.command == Words{"train_all.py", "--an_option"});
  CHECK(options.given.contains("nproc-per-node"));
}

TEST_CASE("a module is given as to python and torchrun", "[run_options]") {
  const settings::RunOptions options = parse({"-m", "pkg.train", "-m", "x"}).value();
  CHECK(options.module);
  CHECK(options.command == Words{"pkg.train", "-m", "x"});
}

TEST_CASE("the options of a command line are told as words that give the same again",
          "[run_options]") {
  const std::vector<std::string> words{"--init-timeout", "4s",    "--only", "--profile",
                                       "basic,no-p2p",   "--set", "A=1,2",  "--set",
                                       "B=x y",          "true"};
  const auto given = settings::words_given(parse(words).value());
  const std::vector<std::string> expected{"--init-timeout=4s", "--only", "--profile=basic,no-p2p",
                                          "--set=A=1,2", "--set=B=x y"};
  CHECK(given == expected);
  std::vector<std::string> again = given;
  again.push_back("true");
  CHECK(settings::words_given(parse(again).value()) == given);
}

TEST_CASE("a quiet command line is not made loud by a lower place, nor a loud one quiet",
          "[run_options]") {
  const settings::Settings loud{{"verbose", {"true", "SAFELAUNCH_VERBOSE"}}};
  const settings::Settings quiet{{"quiet", {"true", "safelaunch.yaml:2:3"}}};
  CHECK(parse({"-q", "x"}, loud).value().verbosity == Verbosity::quiet);
  CHECK(parse({"-v", "x"}, quiet).value().verbosity == Verbosity::verbose);
  CHECK(parse({"--quiet=false", "x"}, loud).value().verbosity == Verbosity::verbose);
  CHECK(parse({"-v", "-q", "x"}).value().verbosity == Verbosity::quiet);
}
