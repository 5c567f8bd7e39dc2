#include "safelaunch/settings/option.h"

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/settings/receiver.h"

// The values that an option takes follow from its kind alone: a flag's words, a number within its
// range, a time, a port. A value that is refused says what would be right.
namespace safelaunch::settings {
namespace {

/// A number from 1 to 65535 with nothing around it, else 0.
std::uint16_t parse_port(std::string_view text) {
  return to_number<std::uint16_t>(text).value_or(0);
}

using Kind = OptionKind;

struct FlagWord {
  std::string_view word;
  bool value;
};
constexpr FlagWord kFlagWords[]{{"true", true},   {"on", true},   {"yes", true}, {"1", true},
                                {"false", false}, {"off", false}, {"no", false}, {"0", false}};

const FlagWord* flag_word(std::string_view word) {
  const auto* found = std::ranges::find(kFlagWords, word, &FlagWord::word);
  return found == std::end(kFlagWords) ? nullptr : found;
}

std::optional<int> whole_number(std::string_view word, NumberRange range) {
  const auto value = to_number(word);
  return value && *value >= range.first && *value <= range.last ? value : std::nullopt;
}

std::optional<std::string> expected(std::string_view value, bool is_right, std::string_view what) {
  if (is_right) return std::nullopt;
  return fmt::format("'{}' is not {}", value, what);
}

std::optional<std::string> refuse_choice(const Option& option, std::string_view value) {
  const std::vector<std::string_view> words = words_of(option.choices);
  if (std::ranges::find(words, value) != words.end()) return std::nullopt;
  return fmt::format("'{}' is not one of {}{}{}{}", value, option.choices,
                     did_you_mean(value, words), option.advice.empty() ? "" : "; ", option.advice);
}

template <class Value>
std::optional<std::string> refused(const Result<Value>& value) {
  return value ? std::nullopt : std::optional(value.error().message);
}

}  // namespace

Result<PortRange> parse_port_range(std::string_view text) {
  const auto dash = text.find('-');
  const auto first = parse_port(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_port(text.substr(dash + 1));
  if (first == 0 || last < first)
    return Error{Errc::usage,
                 fmt::format("'{}' is no port and no range of ports; "
                             "write a number from 1 to 65535, or two as in 20000-25000",
                             text)};
  return PortRange{first, last};
}

Result<PortWish> parse_port_wish(std::string_view text) {
  const std::vector<std::string_view> words = words_of(kPortWords);
  if (const auto word = std::ranges::find(words, text); word != words.end())
    return PortWish{static_cast<PortWish::How>(word - words.begin()), {}};
  const Result<PortRange> range = parse_port_range(text);
  if (!range) return Error{Errc::usage, range.error().message + ", or keep, or auto"};
  return PortWish{PortWish::How::range, *range};
}

const Option* find_option(std::span<const Option> options, std::string_view name) {
  const auto found = std::ranges::find(options, name, &Option::name);
  return found == options.end() ? nullptr : &*found;
}

std::string did_you_mean_option(std::span<const Option> options, std::string_view word) {
  std::vector<std::string> names;
  for (const Option& option : options) names.push_back("--" + std::string(option.name));
  return did_you_mean(word, std::vector<std::string_view>(names.begin(), names.end()));
}

std::vector<std::string_view> words_of(std::string_view choices) {
  std::vector<std::string_view> words;
  while (!choices.empty()) words.push_back(take_word(choices, '|'));
  return words;
}

std::string_view placeholder(const Option& option) {
  if (!option.value.empty()) return option.value;
  switch (option.kind) {
    case Kind::flag: return {};
    case Kind::text:
    case Kind::texts:
    case Kind::list: return "TEXT";
    case Kind::count: return "N";
    case Kind::duration: return "TIME";
    case Kind::stall: return "TIME|auto";
    case Kind::port: return "keep|auto|N|A-B";
    case Kind::choice: return option.choices;
    case Kind::receiver: return "COMMAND|FORM:URL";
  }
  return {};
}

std::optional<std::string> refuse_value(const Option& option, std::string_view value) {
  switch (option.kind) {
    case Kind::text:
    case Kind::texts:
    case Kind::list: return expected(value, !value.empty(), "a value");
    case Kind::flag:  // one with a placeholder also takes what that stands for, after a '='
      return option.value.empty() ? expected(value, flag_word(value) != nullptr, "true or false")
                                  : expected(value, !value.empty(), "a file");
    case Kind::count:
      return expected(
          value, whole_number(value, option.range).has_value(),
          fmt::format("a whole number from {} to {}", option.range.first, option.range.last));
    case Kind::port: return refused(parse_port_wish(value));
    case Kind::choice: return refuse_choice(option, value);
    case Kind::duration: return refused(parse_duration(value));
    case Kind::stall: return refused(parse_stall_timeout(value));
    case Kind::receiver:
      return value.empty() ? expected(value, false, "a value") : refused(parse_receivers(value));
  }
  return std::nullopt;
}

// These read values that refuse_value() has accepted.
namespace option_value {

bool flag(std::string_view word) {
  const FlagWord* found = flag_word(word);
  return found != nullptr && found->value;
}

int number(std::string_view word) {
  return to_number(word).value_or(0);
}

Duration duration(std::string_view word) {
  return parse_duration(word).value();
}

StallTimeout stall(std::string_view word) {
  return parse_stall_timeout(word).value();
}

PortWish port(std::string_view word) {
  return parse_port_wish(word).value();
}

std::size_t choice(const Option& option, std::string_view word) {
  const std::vector<std::string_view> words = words_of(option.choices);
  return static_cast<std::size_t>(std::ranges::find(words, word) - words.begin());
}

void append(const Option& option, std::string_view word, std::vector<std::string>& words) {
  const bool has_commas = option.kind == Kind::list;
  for (;;) {
    const std::size_t comma = has_commas ? word.find(',') : std::string_view::npos;
    words.emplace_back(word.substr(0, comma));
    if (comma == std::string_view::npos) return;
    word.remove_prefix(comma + 1);
  }
}

}  // namespace option_value

}  // namespace safelaunch::settings
