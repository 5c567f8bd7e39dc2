#include "hex.h"

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

namespace safelaunch::probe {

std::string to_hex(std::span<const char> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

bool from_hex(std::string_view text, std::span<char> bytes) {
  if (text.size() != bytes.size() * 2) return false;
  if (text.find_first_not_of("0123456789abcdef") != std::string_view::npos) return false;
  for (char& byte : bytes) {
    byte = static_cast<char>(number_in<unsigned>(text.substr(0, 2), 16));
    text.remove_prefix(2);
  }
  return true;
}

}  // namespace safelaunch::probe
