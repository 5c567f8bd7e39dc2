#include "safelaunch/settings/settings.h"

#include <set>

#include "catch.h"
#include "safelaunch/settings/run_options.h"

using namespace safelaunch;

using namespace safelaunch::settings;

TEST_CASE("every option has one name and one variable", "[options]") {
  std::set<std::string> names;
  for (const Option& option : run_options()) {
    INFO(option.name);
    CHECK(names.insert(environment_name(option.name)).second);
    CHECK(find_run_option(option.name) == &option);
    CHECK((option.kind == OptionKind::choice) == !option.choices.empty());
  }
  CHECK(environment_name("init-timeout") == "SAFELAUNCH_INIT_TIMEOUT");
  CHECK(find_run_option("none") == nullptr);
}

TEST_CASE("options are read from the environment", "[options]") {
  const Settings settings = settings_from({{"SAFELAUNCH_INIT_TIMEOUT", "5s"},
                                           {"SAFELAUNCH_PORT", ""},
                                           {"SAFELAUNCH_NO_HOOK", "1"},
                                           {"SAFELAUNCH_HOOK", "@x"},
                                           {"INIT_TIMEOUT", "x"}})
                                .value();
  CHECK(settings == Settings{{"init-timeout", {"5s", "SAFELAUNCH_INIT_TIMEOUT"}},
                             {"no-hook", {"1", "SAFELAUNCH_NO_HOOK"}}});
  CHECK(settings_from({{"SAFELAUNCH_CLEAN", "all"}}).error().message ==
        "SAFELAUNCH_CLEAN: 'all' is not one of off|ours; a run ends only what safelaunch has "
        "started; "
        "for others: safelaunch clean");
}

TEST_CASE("a variable that looks like a misspelt setting is told", "[options]") {
  CHECK(misspelt_settings({{"SAFELAUNCH_PROFIL", "no-shm"}, {"SAFELAUNCH_INITTIMEOUT", "5s"}}) ==
        std::vector<std::string>{
            "SAFELAUNCH_INITTIMEOUT is no setting; did you mean SAFELAUNCH_INIT_TIMEOUT?",
            "SAFELAUNCH_PROFIL is no setting; did you mean SAFELAUNCH_PROFILE?"});
  const Environment right_or_somebody_elses{{"SAFELAUNCH_PORT", "keep"},
                                            {"SAFELAUNCH_HOOK", "@x"},
                                            {"SAFELAUNCH_ATTEMPT", "1"},
                                            {"SAFELAUNCH_TEST_PYTHON", "python3"},
                                            {"SAFELANCH_PORT", "keep"}};
  CHECK(misspelt_settings(right_or_somebody_elses).empty());
}

TEST_CASE("a higher layer's setting takes the lower one's place", "[options]") {
  const Settings lower{{"port", {"keep", "file"}}, {"grace", {"5s", "file"}}};
  const Settings higher{{"port", {"auto", "--port"}}};

  CHECK(overlay(lower, higher) ==
        Settings{{"port", {"auto", "--port"}}, {"grace", {"5s", "file"}}});
}

TEST_CASE("no place says nothing", "[options]") {
  CHECK(overlay({}, {}) == Settings{});
  const Settings one{{"port", {"keep", "file"}}};
  CHECK(overlay(one, {}) == one);
  CHECK(overlay({}, one) == one);
}

TEST_CASE("a rival in a higher place takes back what a lower one says", "[options]") {
  const Settings quiet_file{{"quiet", {"true", "safelaunch.yaml:1:1"}}};
  const Settings loud_variable{{"verbose", {"1", "SAFELAUNCH_VERBOSE"}}};
  CHECK(overlay(quiet_file, loud_variable) == loud_variable);
  CHECK(overlay(loud_variable, quiet_file) == quiet_file);
  const Settings not_loud{{"verbose", {"no", "SAFELAUNCH_VERBOSE"}}};
  CHECK(overlay(quiet_file, not_loud).size() == 2);
}

TEST_CASE("a higher place overrules an option that it gives, or of which it turns on the rival",
          "[options]") {
  struct Row {
    std::string_view option;
    Settings higher;
    bool overruled;
  };
  const Settings quiet{{"quiet", {"true", "--quiet"}}};
  for (const Row& row :
       {Row{"quiet", quiet, true}, Row{"verbose", quiet, true},
        Row{"verbose", {{"quiet", {"false", "--quiet"}}}, false},
        Row{"quiet", {{"verbose", {"on", "--verbose"}}}, true}, Row{"port", quiet, false},
        Row{"port", {}, false}, Row{"port", {{"port", {"auto", "--port"}}}, true},
        Row{"no-such-option", quiet, false}}) {
    INFO(row.option);
    CHECK(overrules(row.higher, row.option) == row.overruled);
  }
}

TEST_CASE("the variable of an option is its name in capitals", "[options]") {
  CHECK(environment_name("port") == "SAFELAUNCH_PORT");
  CHECK(environment_name("no-color") == "SAFELAUNCH_NO_COLOR");
  CHECK(environment_name("") == "SAFELAUNCH_");
}

TEST_CASE("a variable for what the command line alone gives is refused with the option",
          "[options]") {
  for (const char* option : {"set", "unset", "module"}) {
    const std::string variable = environment_name(option);
    const auto settings = settings_from({{variable, "true"}});
    REQUIRE(settings.has_error());
    CHECK(settings.error().code == Errc::usage);
    CHECK(settings.error().message ==
          variable + ": not taken from there; give --" + option + " on the command line");
  }
}

TEST_CASE("a variable's wrong value is told by the variable", "[options]") {
  struct Row {
    std::string_view variable;
    std::string_view value;
    std::string_view why;
  };
  for (const Row& row :
       {Row{"SAFELAUNCH_ONLY", "maybe", "'maybe' is not true or false"},
        Row{"SAFELAUNCH_MASTER_PORT", "0", "'0' is not a whole number from 1 to 65535"},
        Row{"SAFELAUNCH_PROBE", "alway",
            "'alway' is not one of auto|always|never; did you mean 'always'?"},
        Row{"SAFELAUNCH_PORT", "2-1",
            "'2-1' is no port and no range of ports; write a number from 1 to 65535, or two as in "
            "20000-25000, or keep, or auto"}}) {
    const auto settings = settings_from({{std::string(row.variable), std::string(row.value)}});
    INFO(row.variable);
    REQUIRE(settings.has_error());
    CHECK(settings.error().message == std::string(row.variable) + ": " + std::string(row.why));
  }
}

TEST_CASE("an empty variable gives nothing, whatever its option is", "[options]") {
  Environment environment;
  for (const Option& option : run_options()) environment[environment_name(option.name)] = "";
  CHECK(settings_from(environment).value().empty());
}

TEST_CASE("of several wrong variables the first in the order of help is told", "[options]") {
  const auto settings =
      settings_from({{"SAFELAUNCH_GRACE", "soon"}, {"SAFELAUNCH_MAX_ATTEMPTS", "0"}});
  REQUIRE(settings.has_error());
  CHECK(settings.error().message ==
        "SAFELAUNCH_MAX_ATTEMPTS: '0' is not a whole number from 1 to 1000");
}

TEST_CASE("no variable that safelaunch reads or gives looks misspelt", "[options]") {
  Environment environment;
  for (const Option& option : run_options()) environment[environment_name(option.name)] = "1";
  for (const char* name :
       {"ATTEMPT", "BACKEND", "CONFIG", "FAULTHANDLER", "HOOK", "HOOK_TOKEN", "KEEP", "OWNER",
        "PG_TIMEOUT", "PROBE_PROGRAM", "PROFILE_PATH", "RUN_ID", "TOKEN", "VERIFY"})
    environment[std::string("SAFELAUNCH_") + name] = "1";
  CHECK(misspelt_settings(environment) == std::vector<std::string>{});
}

TEST_CASE("a misspelt variable that is no option is told too", "[options]") {
  CHECK(misspelt_settings({{"SAFELAUNCH_KEP", "1"},
                           {"SAFELAUNCH_PROFILES_PATH", "/p"},
                           {"SAFELAUNCH_TOKN", "x"},
                           {"SAFELAUNCH_", "x"},
                           {"safelaunch_port", "keep"}}) ==
        std::vector<std::string>{
            "SAFELAUNCH_KEP is no setting; did you mean SAFELAUNCH_KEEP?",
            "SAFELAUNCH_PROFILES_PATH is no setting; did you mean SAFELAUNCH_PROFILE_PATH?",
            "SAFELAUNCH_TOKN is no setting; did you mean SAFELAUNCH_TOKEN?"});
}
