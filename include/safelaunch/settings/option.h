#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "safelaunch/base/result.h"
#include "safelaunch/base/stall_timeout.h"

/// An option is one row of a table: from it come the reading of the command line, of the
/// environment and of the files, `--help`, docs/options.md, the completions and the man page.
namespace safelaunch::settings {

/// Ports from `first` to `last`, both included. One port is a range of one.
struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  bool operator==(const PortRange&) const = default;
};

/// "29500" or "20000-25000", as `--port` takes them.
[[nodiscard]] Result<PortRange> parse_port_range(std::string_view text);

/// The port that a user wants for the job, the value of `--port`.
struct PortWish {
  enum class How {
    keep,       ///< the command's own, whoever holds it
    automatic,  ///< "auto": the command's own where it is free, else one that is found
    range,      ///< one of `range`
  };
  How how = How::automatic;
  PortRange range{};  ///< empty unless `how` is range
  bool operator==(const PortWish&) const = default;
};

/// Reads a wish; the error (Errc::usage) says what would be right.
[[nodiscard]] Result<PortWish> parse_port_wish(std::string_view text);

/// The words that a wish may be, beside numbers, in the order of PortWish::How.
inline constexpr std::string_view kPortWords = "keep|auto";

/// The form that the value of an option must have.
enum class OptionKind {
  flag,      ///< no value, or true|false
  text,      ///< any text that is not empty
  texts,     ///< a text that may be given again and again
  list,      ///< texts, of which one word may hold several, with commas
  count,     ///< a whole number in the option's range
  duration,  ///< "30s"
  stall,     ///< "30s", or auto
  port,      ///< keep | auto | N | A-B
  choice,    ///< one of the option's words
  receiver,  ///< a command, or FORM:URL
};

/// The places where an option can be given; each includes those before it.
enum class OptionScope {
  line,         ///< the command line alone
  environment,  ///< also SAFELAUNCH_NAME: it says where the rest is found
  config,       ///< also safelaunch.yaml, for all runs or for a cluster
  profile,      ///< also a profile, for its attempts
};

/// Whether a file may set an option that merely lies in the working directory and that nobody has
/// named: it may have come with a data set.
enum class Trust {
  needed,        ///< it may not: whoever wrote it would decide where the job meets, writes or stops
  not_for_flag,  ///< it may say true or false, and name no file
  not_needed,    ///< it may: deadlines, what is tried, what is shown
};

struct NumberRange {
  int first = 0;
  int last = 1'000'000;
};

struct Option;

/// Writes a value that was accepted into the struct that the option's table fills.
struct PutValue {
  void (*write)(const Option& option, void* target, std::string_view value) = nullptr;
  OptionKind kind = OptionKind::flag;  ///< the form of the values that it can write
};

/// One option of a verb.
struct Option {
  std::string_view name = {};  ///< without dashes: "init-timeout"
  char letter = 0;             ///< "-p"
  OptionScope scope = OptionScope::line;
  PutValue put = {};
  OptionKind kind = put.kind;      ///< given where the type of the member does not tell it
  std::string_view value = {};     ///< the word that help shows for the value: "DIR"
  std::string_view fallback = {};  ///< the value where the option is not given, in words
  std::string_view help = {};
  /// The words of a choice, in the order of its enumerators: "off|ours".
  std::string_view choices = {};
  NumberRange range = {};          ///< the range of a count
  std::string_view advice = {};    ///< ends the message that refuses a value
  std::string_view excludes = {};  ///< the option that cannot be given beside it
  std::string_view rival = {};     ///< the flag that takes back what this flag says
  Trust trust = Trust::needed;     ///< for a file that nobody has named to set it
  std::string_view heading = {};   ///< the heading in help of the rows from this one on
};

[[nodiscard]] const Option* find_option(std::span<const Option> options, std::string_view name);

/// "; did you mean '--ranks'?" where an option is near, else empty.
[[nodiscard]] std::string did_you_mean_option(std::span<const Option> options,
                                              std::string_view word);

/// Says what is wrong with a value, or nullopt: "'5x' is not a duration: …".
[[nodiscard]] std::optional<std::string> refuse_value(const Option& option, std::string_view value);

/// The words of a choice, each once.
[[nodiscard]] std::vector<std::string_view> words_of(std::string_view choices);

/// The word for the value in help: "DIR", "off|ours", "TIME"; empty for a flag.
[[nodiscard]] std::string_view placeholder(const Option& option);

/// The readers of a table's columns: one per kind of value.
namespace option_value {

bool flag(std::string_view word);
int number(std::string_view word);
Duration duration(std::string_view word);
StallTimeout stall(std::string_view word);
PortWish port(std::string_view word);
std::size_t choice(const Option& option, std::string_view word);
void append(const Option& option, std::string_view word, std::vector<std::string>& words);

/// The form of the values that a member of this type takes.
template <class Value>
constexpr OptionKind kind_of() {
  if constexpr (std::is_same_v<Value, bool>)
    return OptionKind::flag;
  else if constexpr (std::is_same_v<Value, std::optional<int>>)
    return OptionKind::count;
  else if constexpr (std::is_same_v<Value, std::optional<Duration>>)
    return OptionKind::duration;
  else if constexpr (std::is_same_v<Value, std::optional<StallTimeout>>)
    return OptionKind::stall;
  else if constexpr (std::is_same_v<Value, std::vector<std::string>>)
    return OptionKind::texts;
  else if constexpr (std::is_same_v<Value, PortWish>)
    return OptionKind::port;
  else if constexpr (std::is_enum_v<Value>)
    return OptionKind::choice;
  else
    return OptionKind::text;  // also a path
}

template <class Value>
void read(const Option& option, std::string_view word, Value& value) {
  constexpr OptionKind kind = kind_of<Value>();
  if constexpr (kind == OptionKind::flag)
    value = flag(word);
  else if constexpr (kind == OptionKind::count)
    value = number(word);
  else if constexpr (kind == OptionKind::duration)
    value = duration(word);
  else if constexpr (kind == OptionKind::stall)
    value = stall(word);
  else if constexpr (kind == OptionKind::texts)
    append(option, word, value);
  else if constexpr (kind == OptionKind::port)
    value = port(word);
  else if constexpr (kind == OptionKind::choice)
    value = static_cast<Value>(choice(option, word));
  else
    value = word;
}

template <class Struct, class Value>
Struct owner_of(Value Struct::*);
template <class Struct, class Value>
Value value_of(Value Struct::*);

}  // namespace option_value

/// Puts the value into a member: `put_into<&RunOptions::grace>`.
template <auto member>
constexpr PutValue put_into{[](const Option& option, void* target, std::string_view value) {
                              using Struct = decltype(option_value::owner_of(member));
                              option_value::read(option, value,
                                                 static_cast<Struct*>(target)->*member);
                            },
                            option_value::kind_of<decltype(option_value::value_of(member))>()};

/// Puts the opposite of a flag into a member: for one that turns off what is on by default.
template <auto member>
constexpr PutValue put_off{[](const Option&, void* target, std::string_view value) {
  using Struct = decltype(option_value::owner_of(member));
  static_cast<Struct*>(target)->*member = !option_value::flag(value);
}};

}  // namespace safelaunch::settings
