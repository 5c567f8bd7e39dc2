#include "verb_options.h"

#include <algorithm>

#include "answer.h"
#include "option_kinds.h"
#include "safelaunch/base/format.h"

namespace safelaunch::cli {
namespace {

bool is_option(const std::string& word) {
  return word.starts_with('-') && word != "-";
}

}  // namespace

struct VerbOptions::State {
  std::string verb;
  std::string usage;
  std::string purpose;
  Rest rest;
  CLI::App app{};
  bool wants_help = false;

  [[nodiscard]] Error wrong(const std::string& message) const {
    return {Errc::usage, fmt::format("{} (safelaunch {} --help lists the options)", message, verb)};
  }

  [[nodiscard]] Result<std::vector<std::string>> words_left() const;
};

VerbOptions::VerbOptions(std::string verb, std::string usage, std::string purpose, Rest rest)
    : state_(new State{std::move(verb), std::move(usage), std::move(purpose), rest}) {
  CLI::App& app = state_->app;
  app.set_help_flag();
  app.add_flag("--help,-h", state_->wants_help, "this");
  if (rest == Rest::command)
    app.prefix_command();
  else
    app.allow_extras();
}

VerbOptions::VerbOptions(VerbOptions&&) noexcept = default;
VerbOptions& VerbOptions::operator=(VerbOptions&&) noexcept = default;
VerbOptions::~VerbOptions() = default;

void VerbOptions::flag(const char* names, bool& target, const char* help) {
  state_->app.add_flag(names, target, help);
}

void VerbOptions::text(const char* names, std::string& target, const char* type, const char* help) {
  state_->app.add_option(names, target, help)->type_name(type);
}

void VerbOptions::texts(const char* names, std::vector<std::string>& target, const char* type,
                        const char* help) {
  state_->app.add_option(names, target, help)->allow_extra_args(false)->type_name(type);
}

void VerbOptions::list(const char* names, std::vector<std::string>& target, const char* type,
                       const char* help) {
  state_->app.add_option(names, target, help)
      ->allow_extra_args(false)
      ->delimiter(',')
      ->type_name(type);
}

void VerbOptions::duration(const char* names, std::optional<Duration>& target, const char* help) {
  add_duration(state_->app, names, target, help);
}

void VerbOptions::number(const char* names, std::optional<int>& target, int first, int last,
                         const char* help) {
  add_number(state_->app, names, target, first, last, help);
}

void VerbOptions::choice(const char* names, std::string& target,
                         const std::vector<std::string>& words, const char* help) {
  add_words(state_->app.add_option(names, target, help), words);
}

void VerbOptions::exclude(const char* one, const char* other) {
  state_->app.get_option(one)->excludes(other);
}

std::string VerbOptions::help() const {
  return fmt::format("Usage: safelaunch {} {}\n\n{}\n\n{}", state_->verb, state_->usage,
                     state_->purpose, options_in_words(state_->app));
}

// CLI11 leaves what it does not know: the rest, and misspelt options.
Result<std::vector<std::string>> VerbOptions::State::words_left() const {
  std::vector<std::string> left = app.remaining();
  const auto mark = std::ranges::find(left, "--");
  const auto first_of_command = left.begin() + (mark == left.begin() ? 0 : 1);
  const auto last = rest == Rest::command ? first_of_command : mark;
  const auto wrong_word = std::find_if(left.begin(), last, is_option);
  if (wrong_word != last)
    return wrong(fmt::format("{} does not take '{}'{}", verb, *wrong_word,
                             did_you_mean_option(app, *wrong_word)));
  if (mark != left.end() && (rest == Rest::words || mark == left.begin())) left.erase(mark);
  return left;
}

Result<std::vector<std::string>> VerbOptions::parse(std::span<const std::string> words) {
  std::vector<std::string> backwards(words.rbegin(), words.rend());  // as CLI11 takes them
  try {
    state_->app.parse(std::move(backwards));
  } catch (const CLI::Error& error) {
    return state_->wrong(error.what());
  }
  return state_->words_left();
}

std::optional<int> VerbOptions::settle(std::span<const std::string> words,
                                       std::vector<std::string>& rest) {
  Result<std::vector<std::string>> left = parse(words);
  if (state_->wants_help) return answer(help());
  if (!left) return refuse(left.error());
  rest = std::move(*left);
  return std::nullopt;
}

}  // namespace safelaunch::cli
