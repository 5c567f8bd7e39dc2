#include "safelaunch/base/environment.h"

#include <unistd.h>

namespace safelaunch {

Environment current_environment() {
  Environment result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    result.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return result;
}

std::string_view value_or(const Environment& environment, std::string_view name,
                          std::string_view otherwise) {
  const auto found = environment.find(name);
  return found == environment.end() ? otherwise : std::string_view(found->second);
}

}  // namespace safelaunch
