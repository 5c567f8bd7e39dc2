#include "pattern.h"

#include <re2/re2.h>

#include <algorithm>

#include "safelaunch/base/format.h"

namespace safelaunch::profile {
namespace {

constexpr std::size_t kLongestPattern = 200;
constexpr std::size_t kLongestText = 300;

RE2::Options options() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_encoding(RE2::Options::EncodingLatin1);  // a host name may be any bytes
  options.set_max_mem(1 << 20);
  return options;
}

RE2 compiled(std::string_view pattern) {
  return RE2(re2::StringPiece(pattern.data(), pattern.size()), options());
}

re2::StringPiece beginning(std::string_view text) {
  return {text.data(), std::min(text.size(), kLongestText)};
}

}  // namespace

std::optional<std::string> refuse_pattern(std::string_view pattern) {
  if (pattern.empty()) return "the pattern is empty";
  if (pattern.size() > kLongestPattern)
    return fmt::format("the pattern is longer than {} characters", kLongestPattern);
  if (const RE2 read(re2::StringPiece(pattern.data(), pattern.size()), options()); !read.ok())
    return fmt::format("'{}' is not a regular expression: {}", pattern, read.error());
  return std::nullopt;
}

bool matches_whole(std::string_view pattern, std::string_view text) {
  return RE2::FullMatch(beginning(text), compiled(pattern));
}

bool occurs_in(std::string_view pattern, std::string_view text) {
  return RE2::PartialMatch(beginning(text), compiled(pattern));
}

}  // namespace safelaunch::profile
