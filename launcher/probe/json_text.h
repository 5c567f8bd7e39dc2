#pragma once

#include <nlohmann/json.hpp>

#include "safelaunch/base/json_fields.h"

namespace safelaunch::probe {

/// A text that a probe's process has told; empty where there is none. It is cut, since a longer one
/// is no name and no error message but garbage.
inline std::string text(const nlohmann::json& object, const char* key) {
  constexpr std::size_t kLongestText = 2000;
  return text_of(object, key, kLongestText);
}

}  // namespace safelaunch::probe
