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
  CHECK(options.stall_timeout == StallTimeout{0s});
  CHECK(options.collective_timeout == std::nullopt);
  CHECK(options.grace == 5s);
}

TEST_CASE("flags that switch off", "[run_options]") {
  const settings::RunOptions options =
      parse({"--no-hook", "--no-preflight", "--no-color", "x"}).value();
  CHECK_FALSE(options.hook);
  CHECK_FALSE(options.preflight);
  CHECK(options.colour == ColourWish::never);
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
  CHECK(parse({"--port", "auto", "--port", "keep", "x"}).value().port.how ==
        settings::PortWish::How::keep);
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

TEST_CASE("each place beats the one below it, for an option of every kind", "[run_options]") {
  struct Row {
    std::string_view option;
    std::string typed;
    std::string variable;
    std::string file;
  };
  for (const Row& row :
       {Row{"port", "keep", "29500", "auto"}, Row{"grace", "1s", "2s", "3s"},
        Row{"max-attempts", "1", "2", "3"}, Row{"clean", "off", "ours", "off"},
        Row{"log-dir", "typed", "variable", "file"}, Row{"only", "false", "true", "false"}}) {
    const std::string name(row.option);
    INFO(name);
    const settings::Settings file{{name, {row.file, "safelaunch.yaml:1:1"}}};
    const settings::Settings variable{{name, {row.variable, "SAFELAUNCH_X"}}};
    const auto held = [&](const Words& words, const settings::Settings& lower) {
      return parse(words, lower).value().given.at(name);
    };
    CHECK(held({"x"}, file) == settings::Setting{row.file, "safelaunch.yaml:1:1"});
    CHECK(held({"x"}, overlay(file, variable)) == settings::Setting{row.variable, "SAFELAUNCH_X"});
    CHECK(held({"--" + name + "=" + row.typed, "x"}, overlay(file, variable)) ==
          settings::Setting{row.typed, "--" + name});
  }
}

TEST_CASE("a wrong value of a lower place is not looked at where a higher one holds",
          "[run_options]") {
  const settings::Settings wrong{{"grace", {"soon", "safelaunch.yaml:1:1"}}};
  CHECK(parse({"--grace=1s", "x"}, wrong).value().grace == 1s);
  CHECK(parse({"x"}, wrong).error().message ==
        "safelaunch.yaml:1:1: grace: 'soon' is not a duration: write a number and ms, s, min, h or "
        "d, such as 90s or 30min (0 or off: none)");
}

TEST_CASE("a list of a lower place is not added to what was typed", "[run_options]") {
  const settings::Settings variable{{"profile", {"a,b", "SAFELAUNCH_PROFILE"}}};
  CHECK(parse({"-p", "c", "x"}, variable).value().profiles == Words{"c"});
  CHECK(parse({"x"}, variable).value().profiles == Words{"a", "b"});
}

TEST_CASE("a setting without an option names its place", "[run_options]") {
  const auto options = parse({"x"}, {{"no-such", {"1", "safelaunch.yaml:2:3"}}});
  REQUIRE(options.has_error());
  CHECK(options.error().code == Errc::usage);
  CHECK(options.error().message == "safelaunch.yaml:2:3: there is no option no-such");
}

TEST_CASE("the file and the cluster that the words name are asked for the rest", "[run_options]") {
  std::string asked;
  const auto defaults = [&](const std::string& file, const std::string& cluster) {
    asked = file + "|" + cluster;
    return Result<settings::Settings>(settings::Settings{});
  };
  CHECK(parse_run_options(Words{"--config", "f.yaml", "--cluster=lab", "x"}, defaults).has_value());
  CHECK(asked == "f.yaml|lab");
  CHECK(parse_run_options(Words{"x"}, defaults).has_value());
  CHECK(asked == "|");
}

TEST_CASE("a file that cannot be read is told before a missing command", "[run_options]") {
  const auto defaults = [](const std::string&, const std::string&) {
    return Result<settings::Settings>(Error{Errc::bad_config, "f.yaml:1:1: no"});
  };
  const auto options = parse_run_options(Words{"--only"}, defaults);
  REQUIRE(options.has_error());
  CHECK(options.error().code == Errc::bad_config);
  CHECK(options.error().message == "f.yaml:1:1: no");
}

TEST_CASE("neither a wrong word nor a call for help reads a file", "[run_options]") {
  bool read = false;
  const auto defaults = [&](const std::string&, const std::string&) {
    read = true;
    return Result<settings::Settings>(settings::Settings{});
  };
  CHECK(parse_run_options(Words{"--onyl", "x"}, defaults).has_error());
  CHECK(parse_run_options(Words{"--help"}, defaults).value().wants_help);
  CHECK_FALSE(read);
}

TEST_CASE("a missing command is told with the way to help", "[run_options]") {
  CHECK(parse({"--only"}).error().message ==
        "there is no command to run (safelaunch --help lists the options)");
}

TEST_CASE("a flag of the command line that is taken back beats a file that sets it",
          "[run_options]") {
  const settings::Settings file{{"no-hook", {"true", "safelaunch.yaml:1:1"}},
                                {"dry-run", {"true", "safelaunch.yaml:2:1"}}};
  const settings::RunOptions options =
      parse({"--no-hook=false", "--dry-run=no", "x"}, file).value();
  CHECK(options.hook);
  CHECK_FALSE(options.dry_run);
}

TEST_CASE("of two rivals in one place the one that comes last in the alphabet holds",
          "[run_options]") {
  const settings::Settings both{{"quiet", {"true", "safelaunch.yaml:1:1"}},
                                {"verbose", {"true", "safelaunch.yaml:2:1"}}};
  CHECK(parse({"x"}, both).value().verbosity == Verbosity::verbose);
}

TEST_CASE("words that give a run again hold the flag that was taken back", "[run_options]") {
  const auto given = settings::words_given(
      parse({"--verbose", "--quiet", "--no-hook=false", "--json=/dev/fd/3", "x"}).value());
  CHECK(given == Words{"--json=/dev/fd/3", "--no-hook=false", "--quiet"});
}
