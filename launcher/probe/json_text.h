#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace safelaunch::probe {

/// The text at `key` of what a probe's process has said; empty where there is none. It is cut,
/// since a longer one is no name and no error message but garbage.
inline std::string text(const nlohmann::json& object, const char* key) {
  constexpr std::size_t kLongestText = 2000;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return {};
  return found->get_ref<const std::string&>().substr(0, kLongestText);
}

}  // namespace safelaunch::probe
