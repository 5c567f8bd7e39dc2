#include "safelaunch/profile/apply.h"

namespace safelaunch::profile {
namespace {

using Replacement = std::optional<std::string>;  // none takes the option away

// A negative number begins with '-' too, and is a value.
bool is_value(std::string_view word) {
  if (!word.starts_with("-")) return true;
  return word.size() > 1 && word[1] >= '0' && word[1] <= '9';
}

// One option at `at`; returns how many words of the original it took.
std::size_t replace_one(std::span<const std::string> arguments, std::size_t at,
                        const std::string& option, const Replacement& value,
                        std::vector<std::string>& result) {
  const bool joined = arguments[at].size() > option.size();  // --name=VALUE
  if (value && joined) {
    result.push_back(option + "=" + *value);
  } else if (value) {
    result.push_back(option);
    result.push_back(*value);
  }
  const bool value_follows = !joined && at + 1 < arguments.size() && is_value(arguments[at + 1]);
  return value_follows ? 2 : 1;
}

}  // namespace

std::vector<std::string> changed_arguments(const ArgumentChanges& changes,
                                           std::span<const std::string> arguments) {
  std::vector<std::string> result;
  std::size_t at = 0;
  while (at < arguments.size() && arguments[at] != "--") {
    const std::string option = arguments[at].substr(0, arguments[at].find('='));
    const auto found = changes.replace.find(option);
    if (found == changes.replace.end())
      result.push_back(arguments[at++]);
    else
      at += replace_one(arguments, at, option, found->second, result);
  }
  result.insert(result.end(), changes.append.begin(), changes.append.end());
  result.insert(result.end(), arguments.begin() + static_cast<std::ptrdiff_t>(at), arguments.end());
  return result;
}

}  // namespace safelaunch::profile
