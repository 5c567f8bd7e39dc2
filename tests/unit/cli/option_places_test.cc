#include "catch.h"
#include "launcher/cli/verb_run.h"
#include "safelaunch/plan/plan.h"
#include "safelaunch/profile/config.h"
#include "safelaunch/profile/shared_keys.h"

using namespace safelaunch;
using namespace safelaunch::cli;
using std::chrono_literals::operator""s;

namespace {

using PlaceWords = std::vector<std::string>;

// The places of an option, the highest first; in each it has another value.
enum OptionPlace { at_line, at_variable, at_rule, at_file, at_profile, kOptionPlaces };

// The values of an option in the places whose bits are set.
struct OptionTold {
  std::string option;
  PlaceWords values;  ///< one a place
  unsigned places = 0;

  [[nodiscard]] bool in(OptionPlace place) const { return (places >> place & 1U) != 0; }
  [[nodiscard]] std::string text(OptionPlace place) const {
    return "{" + (in(place) ? option + ": " + values[place] : "") + "}";
  }
};

settings::Settings of_yaml(const std::string& text, settings::OptionScope scope) {
  const profile::YamlNode root = profile::parse_yaml("options: " + text + "\n", "p.yaml").value();
  settings::Settings settings;
  REQUIRE(profile::read_settings(*root.find("options"), scope, settings).empty());
  return settings;
}

// The options that a run holds of all that the places say, under a profile.
settings::RunOptions held(const OptionTold& told) {
  const std::string text = "options: " + told.text(at_file) +
                           "\nclusters:\n  - {name: lab, options: " + told.text(at_rule) + "}\n";
  const profile::Config config = profile::read_config(text, "s.yaml").value();
  Environment environment;
  if (told.in(at_variable))
    environment[settings::environment_name(told.option)] = told.values[at_variable];
  const settings::Settings lower =
      settings::overlay(profile::rules_for(config, &config.clusters.at(0)).options,
                        settings::settings_from(environment).value());
  PlaceWords words;
  if (told.in(at_line)) words.push_back("--" + told.option + "=" + told.values[at_line]);
  words.emplace_back("train");
  const settings::RunOptions options =
      parse_run_options(words, [&](const std::string&, const std::string&) {
        return Result<settings::Settings>(lower);
      }).value();
  profile::Profile under;
  under.options = of_yaml(told.text(at_profile), settings::OptionScope::profile);
  return plan::options_under(options, under);
}

// The index of the highest place that says something; kOptionPlaces where none does.
int highest_of(unsigned places) {
  int place = 0;
  while (place < kOptionPlaces && (places >> place & 1U) == 0) ++place;
  return place;
}

std::string refused_in_file(const std::string& text, settings::OptionScope scope) {
  const profile::YamlNode root = profile::parse_yaml("options: " + text + "\n", "f.yaml").value();
  settings::Settings settings;
  const profile::Mistakes mistakes = profile::read_settings(*root.find("options"), scope, settings);
  return mistakes.empty() ? "accepted" : profile::error_of(mistakes).message;
}

}  // namespace

TEST_CASE("of all 32 mixtures of places the highest one holds", "[option_places]") {
  const PlaceWords ports{"1", "2", "3", "4", "5", "auto"};
  const PlaceWords graces{"1s", "2s", "3s", "4s", "5s"};
  for (unsigned places = 0; places < 1U << kOptionPlaces; ++places) {
    const int highest = highest_of(places);
    INFO(places);
    CHECK(held({"port", ports, places}).port ==
          settings::parse_port_wish(ports[static_cast<std::size_t>(highest)]).value());
    const auto grace = held({"grace", graces, places}).grace;
    CHECK(grace ==
          (highest == kOptionPlaces ? std::nullopt : std::optional<Duration>((highest + 1) * 1s)));
  }
}

TEST_CASE("a flag that a place takes back beats all places below it", "[option_places]") {
  const PlaceWords off_by_line{"false", "true", "true", "true", "true"};
  const PlaceWords off_by_rule{"false", "false", "false", "true", "true"};
  CHECK(held({"no-hook", off_by_line, 0b11111}).hook);
  CHECK_FALSE(held({"no-hook", off_by_line, 0b11110}).hook);
  CHECK(held({"no-hook", off_by_rule, 0b11100}).hook);
  CHECK_FALSE(held({"no-hook", off_by_rule, 0b11000}).hook);
  CHECK(held({"no-hook", off_by_rule, 0}).hook);
}

TEST_CASE("an option that files do not know is told with the nearest of that place",
          "[option_places]") {
  using Scope = settings::OptionScope;
  CHECK(refused_in_file("{inti-timeout: 5s}", Scope::config) ==
        "f.yaml:1:11: there is no option 'inti-timeout'; did you mean 'init-timeout'?");
  CHECK(refused_in_file("{init_timeout: 5s}", Scope::config) ==
        "f.yaml:1:11: there is no option 'init_timeout'; did you mean 'init-timeout'?");
  CHECK(refused_in_file("{--port: 5}", Scope::config) ==
        "f.yaml:1:11: there is no option '--port'; did you mean 'port'?");
  CHECK(refused_in_file("{prt: 5}", Scope::profile) ==
        "f.yaml:1:11: there is no option 'prt'; did you mean 'port'?");
  CHECK(refused_in_file("{drun-run: true}", Scope::profile) ==
        "f.yaml:1:11: there is no option 'drun-run'");
}

TEST_CASE("an option in a file that is not for it names the places that are", "[option_places]") {
  using Scope = settings::OptionScope;
  struct Row {
    std::string_view text;
    Scope scope;
    std::string_view why;
  };
  for (const Row& row :
       {Row{"{set: A=1}", Scope::config, "'set' is not read from files; give --set"},
        Row{"{module: true}", Scope::profile, "'module' is not read from files; give --module"},
        Row{"{forget: true}", Scope::config,
            "'forget' is not read from files; give --forget or set SAFELAUNCH_FORGET"},
        Row{"{init-timeout: 5s}", Scope::profile,
            "a profile gives 'init-timeout' by its own key: timeouts: {init: …}"},
        Row{"{nproc-per-node: 4}", Scope::profile,
            "a profile gives 'nproc-per-node' by its own key: processes: …"},
        Row{"{only: true}", Scope::profile,
            "'only' cannot differ between profiles; put it into safelaunch.yaml, give --only or "
            "set SAFELAUNCH_ONLY"}}) {
    INFO(row.text);
    CHECK(refused_in_file(std::string(row.text), row.scope) ==
          "f.yaml:1:11: " + std::string(row.why));
  }
}

TEST_CASE("an option in a file takes one value, of its own kind", "[option_places]") {
  using Scope = settings::OptionScope;
  CHECK(refused_in_file("{ranks: [0, 3]}", Scope::config) ==
        "f.yaml:1:18: ranks must be one value");
  CHECK(refused_in_file("{port: {first: 1}}", Scope::config) ==
        "f.yaml:1:17: port must be one value");
  CHECK(refused_in_file("{max-attempts: 0}", Scope::config) ==
        "f.yaml:1:25: max-attempts: '0' is not a whole number from 1 to 1000");
  CHECK(refused_in_file("{binding: nuna}", Scope::config) ==
        "f.yaml:1:20: binding: 'nuna' is not one of none|numa|cores; did you mean 'numa'?");
  CHECK(refused_in_file("[port]", Scope::config) ==
        "f.yaml:1:10: options must be a map of option names to values");
}

TEST_CASE("every mistake in the options of a file is told, in its order", "[option_places]") {
  CHECK(refused_in_file("{prot: 1, grace: soon, only: maybe}", settings::OptionScope::config) ==
        "f.yaml:1:11: there is no option 'prot'; did you mean 'port'?\n"
        "f.yaml:1:27: grace: 'soon' is not a duration: write a number and ms, s, min, h or d, such "
        "as 90s or 30min (0 or off: none)\n"
        "f.yaml:1:39: only: 'maybe' is not true or false");
}

TEST_CASE("what YAML takes for a number or a truth is the option's word", "[option_places]") {
  const settings::Settings settings = of_yaml(
      "{port: 29500, only: yes, grace: off, max-attempts: 3}", settings::OptionScope::config);
  CHECK(settings == settings::Settings{{"grace", {"off", "p.yaml:1:42"}},
                                       {"max-attempts", {"3", "p.yaml:1:61"}},
                                       {"only", {"yes", "p.yaml:1:30"}},
                                       {"port", {"29500", "p.yaml:1:17"}}});
}
