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

TEST_CASE("the value of an option is checked by its kind", "[options]") {
  const auto accepted = [](std::string_view name, std::string_view value) {
    return !refuse_value(*find_run_option(name), value);
  };
  for (const char* port : {"keep", "auto", "1", "29500", "29500-29600"})
    CHECK(accepted("port", port));
  for (const char* port : {"", "any", "0", "2-1", "65536", "1-", "-1", "1-2-3", "29500 "})
    CHECK_FALSE(accepted("port", port));
  for (const char* choice : {"off", "ours"}) CHECK(accepted("clean", choice));
  for (const char* choice : {"", "all", "orphans", "off|ours", "|"})
    CHECK_FALSE(accepted("clean", choice));
  for (const char* flag : {"true", "0", "on"}) CHECK(accepted("only", flag));
  for (const char* flag : {"", "2", "True "}) CHECK_FALSE(accepted("only", flag));
  for (const char* count : {"0", "8"}) CHECK(accepted("node-rank", count));
  for (const char* count : {"", "-1", "1.5", "9999999999"})
    CHECK_FALSE(accepted("node-rank", count));
  CHECK(accepted("grace", "30s"));
  CHECK_FALSE(accepted("grace", "30 s"));
  CHECK_FALSE(accepted("log-dir", ""));
  for (const char* outside : {"0", "65536"}) CHECK_FALSE(accepted("master-port", outside));
}

TEST_CASE("a higher layer's setting takes the lower one's place", "[options]") {
  const Settings lower{{"port", {"keep", "file"}}, {"grace", {"5s", "file"}}};
  const Settings higher{{"port", {"auto", "--port"}}};

  CHECK(overlay(lower, higher) ==
        Settings{{"port", {"auto", "--port"}}, {"grace", {"5s", "file"}}});
}
