#include <algorithm>
#include <iterator>
#include <set>

#include "catch.h"
#include "launcher/cli/help.h"
#include "launcher/cli/verb_run.h"
#include "launcher/cli/verbs.h"
#include "readme_tables.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/plan/plan.h"
#include "safelaunch/profile/shared_keys.h"
#include "test_data.h"

using namespace safelaunch;

using namespace safelaunch::cli;
using Words = std::vector<std::string>;

namespace {

constexpr const char* kLettersOfOption = "abcdefghijklmnopqrstuvwxyz-";

// The rows of the table of verbs in docs/options.md: what is typed behind "safelaunch ".
Words rows_of_verbs(std::string_view page) {
  constexpr std::string_view kBegin = "| `safelaunch ";
  Words rows;
  while (!page.empty()) {
    std::string_view line = take_word(page, '\n');
    if (!line.starts_with(kBegin)) continue;
    line.remove_prefix(kBegin.size());
    rows.emplace_back(line.substr(0, line.find('`')));
  }
  return rows;
}

// A value that differs from what holds without the option.
std::string a_value(const settings::Option& option) {
  switch (option.kind) {
    case settings::OptionKind::flag: return "true";
    case settings::OptionKind::count: return "7";
    case settings::OptionKind::duration:
    case settings::OptionKind::stall: return "61s";
    case settings::OptionKind::port: return "keep";
    case settings::OptionKind::choice: {
      const auto words = settings::words_of(option.choices);
      const auto other = std::ranges::find_if(
          words, [&](std::string_view word) { return word != option.fallback; });
      return std::string(*other);
    }
    default: return "A=1";
  }
}

// All that options say, so that a change in any of it is seen.
std::string in_words(const settings::RunOptions& options) {
  std::string text;
  const auto add = [&](const auto& value) {
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, std::optional<Duration>>)
      text += value ? std::to_string(value->count()) : "-";
    else if constexpr (std::is_same_v<Value, std::optional<StallTimeout>>)
      text += value ? format_stall_timeout(*value) : "-";
    else if constexpr (std::is_same_v<Value, std::optional<int>>)
      text += value ? std::to_string(*value) : "-";
    else if constexpr (std::is_same_v<Value, Words>)
      for (const std::string& word : value) text += word + " ";
    else if constexpr (std::is_same_v<Value, settings::PortWish>)
      text += std::to_string(static_cast<int>(value.how)) + std::to_string(value.range.first);
    else if constexpr (std::is_enum_v<Value> || std::is_same_v<Value, bool>)
      text += std::to_string(static_cast<int>(value));
    else
      text += std::string(value);
    text += '|';
  };
  add(options.profiles), add(options.cluster), add(options.config), add(options.max_attempts);
  add(options.only), add(options.fail_on_slow), add(options.forget), add(options.interactive);
  add(options.init_timeout), add(options.collective_timeout), add(options.quiet_timeout);
  add(options.stopped_timeout);
  add(options.work_timeout), add(options.start_timeout), add(options.stall_timeout);
  add(options.grace), add(options.clean), add(options.port), add(options.probe);
  add(options.nproc_per_node), add(options.devices), add(options.nnodes), add(options.node_rank);
  add(options.start_rank), add(options.world_size), add(options.master_addr);
  add(options.master_port), add(options.binding), add(options.set), add(options.unset);
  add(options.rendezvous), add(options.token_file), add(options.nodes_timeout),
      add(options.node_lease);
  add(options.notify), add(options.metrics);
  add(options.log_dir), add(options.run_dir), add(options.keep_runs), add(options.keep_days);
  add(options.ranks), add(options.prefix), add(options.rank_files), add(options.hook),
      add(options.plugin);
  add(options.preflight), add(options.dry_run), add(options.json), add(options.colour);
  add(options.verbosity), add(options.module);
  return text;
}

Result<settings::RunOptions> parsed_run(const Words& words,
                                        const settings::Settings& settings = {}) {
  return parse_run_options(words, [&](const std::string&, const std::string&) {
    return Result<settings::Settings>(settings);
  });
}

Environment variable_of(const settings::Option& option) {
  return {{settings::environment_name(option.name), a_value(option)}};
}

Result<settings::Settings> from_file(const settings::Option& option, settings::OptionScope scope) {
  const std::string text =
      "options: {" + std::string(option.name) + ": \"" + a_value(option) + "\"}\n";
  const profile::YamlNode root = profile::parse_yaml(text, "f.yaml").value();
  settings::Settings settings;
  const profile::Mistakes mistakes = profile::read_settings(*root.find("options"), scope, settings);
  if (!mistakes.empty()) return profile::error_of(mistakes);
  return settings;
}

}  // namespace

TEST_CASE("every option acts in each place that its row names", "[option_table]") {
  const std::string without = in_words(parsed_run({"x"}).value());
  for (const settings::Option& option : settings::run_options()) {
    INFO(option.name);
    const std::string word = "--" + std::string(option.name) + "=" + a_value(option);
    const std::string given = in_words(parsed_run({word, "x"}).value());
    CHECK(given != without);

    const auto settings = settings::settings_from(variable_of(option));
    if (option.scope >= settings::OptionScope::environment)
      CHECK(in_words(parsed_run({"x"}, settings.value()).value()) == given);
    const auto config = from_file(option, settings::OptionScope::config);
    if (option.scope >= settings::OptionScope::config)
      CHECK(in_words(parsed_run({"x"}, config.value()).value()) == given);
    const auto of_profile = from_file(option, settings::OptionScope::profile);
    if (option.scope >= settings::OptionScope::profile) {
      profile::Profile profile;
      profile.options = of_profile.value();
      CHECK(in_words(plan::options_under(parsed_run({"x"}).value(), profile)) == given);
    }
  }
}

TEST_CASE("every option is refused, with the place that helps, where its row does not name it",
          "[option_table]") {
  for (const settings::Option& option : settings::run_options()) {
    INFO(option.name);
    const std::string way = "--" + std::string(option.name);
    if (option.scope < settings::OptionScope::environment) {
      const auto settings = settings::settings_from(variable_of(option));
      REQUIRE(settings.has_error());
      CHECK_THAT(settings.error().message, Catch::Matchers::ContainsSubstring(way));
    }
    if (option.scope < settings::OptionScope::config) {
      const auto config = from_file(option, settings::OptionScope::config);
      REQUIRE(config.has_error());
      CHECK_THAT(config.error().message, Catch::Matchers::StartsWith("f.yaml:1:11: ") &&
                                             Catch::Matchers::ContainsSubstring(way));
    }
    if (option.scope < settings::OptionScope::profile) {
      const auto of_profile = from_file(option, settings::OptionScope::profile);
      REQUIRE(of_profile.has_error());
      CHECK_THAT(of_profile.error().message,
                 Catch::Matchers::StartsWith("f.yaml:1:11: ") &&
                     (Catch::Matchers::ContainsSubstring(way) ||
                      Catch::Matchers::ContainsSubstring("by its own key")));
    }
  }
}

TEST_CASE("no two options of a verb have one name or letter, and each can be put",
          "[option_table]") {
  for (const Verb* verb : verbs()) {
    std::set<std::string> spellings;
    for (const settings::Option& option : verb->options) {
      INFO(verb->name << " --" << option.name);
      CHECK(spellings.insert(std::string(option.name)).second);
      if (option.letter != 0) CHECK(spellings.insert(std::string(1, option.letter)).second);
      CHECK(option.put.write != nullptr);
      CHECK((option.kind == settings::OptionKind::choice) == !option.choices.empty());
      CHECK_FALSE(option.help.empty());
      CHECK((option.excludes.empty() ||
             settings::find_option(verb->options, option.excludes) != nullptr));
    }
  }
}

TEST_CASE("every word of a choice is another value", "[option_table]") {
  for (const settings::Option& option : settings::run_options()) {
    std::set<std::string> values;
    for (const std::string_view word : settings::words_of(option.choices)) {
      const std::string given = "--" + std::string(option.name) + "=" + std::string(word);
      INFO(given);
      CHECK(values.insert(in_words(parsed_run({given, "x"}).value())).second);
    }
    if (option.kind != settings::OptionKind::choice) continue;
    const std::string fallback =
        "--" + std::string(option.name) + "=" + std::string(option.fallback);
    CHECK(in_words(parsed_run({fallback, "x"}).value()) == in_words(parsed_run({"x"}).value()));
  }
}

TEST_CASE("help, completions and the man page know every verb and option", "[option_table]") {
  const std::string manual = manual_page();
  for (const Verb* verb : verbs()) {
    INFO(verb->name);
    CHECK_THAT(general_help(),
               Catch::Matchers::ContainsSubstring("\n  " + std::string(verb->name) + " "));
    CHECK_THAT(manual, Catch::Matchers::ContainsSubstring("\n.SS " + std::string(verb->name)));
    for (const settings::Option& option : verb->options) {
      INFO(option.name);
      const std::string name(option.name);
      CHECK_THAT(help_of(*verb), Catch::Matchers::ContainsSubstring("--" + name));
      CHECK_THAT(completions("bash"), Catch::Matchers::ContainsSubstring("--" + name + " "));
      CHECK_THAT(completions("zsh"), Catch::Matchers::ContainsSubstring("--" + name));
      CHECK_THAT(completions("fish"), Catch::Matchers::ContainsSubstring(" -l " + name));
      std::string escaped = name;
      for (std::size_t at = 0; (at = escaped.find('-', at)) != std::string::npos; at += 2)
        escaped.insert(at, "\\");
      CHECK_THAT(manual, Catch::Matchers::ContainsSubstring("\\-\\-" + escaped));
    }
  }
}

TEST_CASE("the tables of options and exit statuses are those of the program", "[option_table]") {
  const std::string page = testing::data("../../docs/options.md");
  CHECK_THAT(page, Catch::Matchers::ContainsSubstring("\n" + testing::options_as_markdown()));
  CHECK_THAT(page, Catch::Matchers::ContainsSubstring("\n" + testing::exit_statuses_as_markdown()));
}

TEST_CASE("the Chinese help says of each option and verb what the Chinese page says",
          "[option_table]") {
  for (const Verb* verb : verbs()) {
    INFO(verb->name);
    CHECK(chinese_phrases().find(verb->help) != nullptr);
  }
  speak(Language::chinese);
  const std::string table = testing::options_as_markdown();
  const std::string help = short_help() + general_help();
  speak(Language::english);
  CHECK_THAT(testing::data("../../docs/zh-CN/options.md"),
             Catch::Matchers::ContainsSubstring(table));
  for (const char* english : {"Usage", "Verbs", "Options", "Example", "Deadlines", "the "})
    CHECK_THAT(help, !Catch::Matchers::ContainsSubstring(english));
}

TEST_CASE("the table of verbs has a row for each verb, and no option that it lacks",
          "[option_table]") {
  const std::string page = testing::data("../../docs/options.md");
  std::set<std::string_view> told;
  for (const std::string& row : rows_of_verbs(page)) {
    INFO(row);
    std::string_view words = row;
    const Verb& verb = find_verb(take_word(words));
    REQUIRE(&verb != &kNoVerb);
    CHECK(told.insert(verb.name).second);
    for (std::size_t at = 0; (at = row.find("--", at)) != std::string::npos;) {
      const std::size_t end = row.find_first_not_of(kLettersOfOption, at);
      const std::string name = row.substr(at + 2, end - at - 2);
      CHECK(std::ranges::count(verb.options, name, &settings::Option::name) == 1);
      at = std::min(end, row.size());
    }
  }
  for (const Verb* verb : verbs()) {
    INFO(verb->name);
    CHECK(told.contains(verb->name) == (verb != &kRunVerb));
  }
}

TEST_CASE("the row of `test` has all options of that verb", "[option_table]") {
  const std::string page = testing::data("../../docs/options.md");
  for (const settings::Option& option : kTestVerb.options)
    for (const std::string& row : rows_of_verbs(page)) {
      INFO(option.name);
      if (row.starts_with("test "))
        CHECK_THAT(row, Catch::Matchers::ContainsSubstring("[--" + std::string(option.name)));
    }
}
