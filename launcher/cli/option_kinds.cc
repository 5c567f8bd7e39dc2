#include "option_kinds.h"

#include <algorithm>

#include "safelaunch/base/join.h"
#include "safelaunch/base/nearest.h"

namespace safelaunch::cli {
namespace {

// CLI11 reports a wrong value by its exception; this one carries our own words through it.
struct BadValue : CLI::ValidationError {
  BadValue(const std::string& option, const std::string& message)
      : CLI::ValidationError(option, message) {}
};

}  // namespace

CLI::Option* add_duration(CLI::App& app, const char* names, std::optional<Duration>& target,
                          const char* help) {
  const auto read = [&target, option = std::string(names)](const std::string& text) {
    const Result<Duration> parsed = parse_duration(text);
    if (!parsed) throw BadValue(option, parsed.error().message);
    target = *parsed;
  };
  return app.add_option_function<std::string>(names, read, help)->type_name("TIME");
}

CLI::Option* add_number(CLI::App& app, const char* names, std::optional<int>& target, int first,
                        int last, const char* help) {
  return app.add_option(names, target, help)
      ->check(CLI::Range(first, last).description(""))
      ->type_name("N");
}

CLI::Option* add_words(CLI::Option* option, const std::vector<std::string>& words,
                       std::string_view advice) {
  const std::string all = join(words, "|");
  const auto check = [words, all, end = advice.empty() ? "" : "; " + std::string(advice)](
                         const std::string& word) -> std::string {
    const std::vector<std::string_view> known(words.begin(), words.end());
    if (std::ranges::find(words, word) != words.end()) return {};
    return "'" + word + "' is not one of " + all + did_you_mean(word, known) + end;
  };
  return option->check(CLI::Validator(check, ""))->type_name(all);
}

std::string options_in_words(const CLI::App& app) {
  const std::string text = app.help();
  for (const char* title : {"Options:", "OPTIONS:"})  // as the version has it
    if (const std::size_t at = text.find(title); at != std::string::npos) return text.substr(at);
  return text;
}

std::string did_you_mean_option(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  const std::vector<std::string_view> known(names.begin(), names.end());
  return did_you_mean(word.substr(0, word.find('=')), known);
}

}  // namespace safelaunch::cli
