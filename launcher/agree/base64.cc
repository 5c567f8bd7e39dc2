#include "base64.h"

#include <array>
#include <cstdint>

namespace safelaunch::agree {
namespace {

constexpr std::string_view kSixBits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::uint8_t, 256> values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(64);  // no digit
  for (std::size_t i = 0; i < kSixBits.size(); ++i)
    values[static_cast<unsigned char>(kSixBits[i])] = static_cast<std::uint8_t>(i);
  return values;
}

constexpr std::array<std::uint8_t, 256> kValues = values();

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto at = [&](std::size_t offset) -> std::uint32_t {
      return i + offset < bytes.size() ? static_cast<unsigned char>(bytes[i + offset]) : 0U;
    };
    const std::uint32_t three = at(0) << 16U | at(1) << 8U | at(2);
    text += kSixBits[three >> 18U];
    text += kSixBits[three >> 12U & 63U];
    text += i + 1 < bytes.size() ? kSixBits[three >> 6U & 63U] : '=';
    text += i + 2 < bytes.size() ? kSixBits[three & 63U] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char digit : text) {
    const std::uint8_t value = kValues[static_cast<unsigned char>(digit)];
    if (value == 64) return std::nullopt;
    bits = bits << 6U | value;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> static_cast<unsigned>(count) & 0xffU);
  }
  return bytes;
}

}  // namespace safelaunch::agree
