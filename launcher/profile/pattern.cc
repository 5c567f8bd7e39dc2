#include "safelaunch/profile/pattern.h"

#include <regex>

#include "safelaunch/base/format.h"

namespace safelaunch {
namespace {

constexpr std::size_t kLongestPattern = 200;
constexpr std::size_t kLongestText = 300;

// libstdc++'s matcher that goes breadth first: "(a+)+$" would take it for ever otherwise, and a
// deep recursion could end us.
constexpr auto kSyntax = std::regex::ECMAScript | std::regex_constants::__polynomial;

std::regex compiled(std::string_view pattern) {
  return std::regex(pattern.begin(), pattern.end(), kSyntax);
}

// Counted repeats multiply: (x{99}){99} is ten thousand states, so a pattern may have one.
bool has_nested_counts(std::string_view pattern) {
  const std::size_t first = pattern.find('{');
  return first != std::string_view::npos &&
         pattern.find('{', first + 1) != std::string_view::npos &&
         pattern.find('(') != std::string_view::npos;
}

}  // namespace

std::optional<std::string> refuse_pattern(std::string_view pattern) {
  if (pattern.empty()) return "the pattern is empty";
  if (pattern.size() > kLongestPattern)
    return fmt::format("the pattern is longer than {} characters", kLongestPattern);
  if (has_nested_counts(pattern)) return "a pattern with ( ) may have one {count} only";
  try {
    static_cast<void>(compiled(pattern));
  } catch (const std::regex_error& error) {
    return fmt::format("'{}' is not a regular expression: {}", pattern, error.what());
  }
  return std::nullopt;
}

bool matches_whole(std::string_view pattern, std::string_view text) {
  text = text.substr(0, kLongestText);
  return std::regex_match(text.begin(), text.end(), compiled(pattern));
}

bool occurs_in(std::string_view pattern, std::string_view text) {
  text = text.substr(0, kLongestText);
  return std::regex_search(text.begin(), text.end(), compiled(pattern));
}

}  // namespace safelaunch
