#include "safelaunch/base/json_fields.h"

namespace safelaunch {

std::size_t json_depth(std::string_view text) {
  std::size_t deepest = 0;
  std::size_t now = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\') ++i;
    if (in_string) continue;
    if (c == '[' || c == '{') deepest = std::max(deepest, ++now);
    if ((c == ']' || c == '}') && now > 0) --now;
  }
  return deepest;
}

}  // namespace safelaunch
