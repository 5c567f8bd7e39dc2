#include "packet.h"

#include <charconv>
#include <ctime>

namespace safelaunch::plugin {
namespace {

constexpr std::size_t kLongestText = 64;

std::uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

bool is_plain(char letter) {
  return letter >= ' ' && letter <= '~' && letter != '"' && letter != '\\';
}

}  // namespace

Packet::Packet(std::string_view event) {
  text_[size_++] = '{';
  text_[size_++] = '}';
  add_text("e", event).add_number("t", monotonic_ns());
}

Packet& Packet::add_number(std::string_view key, std::uint64_t value) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), value).ptr;
  return add_raw(key, {digits.begin(), static_cast<std::size_t>(end - digits.begin())});
}

Packet& Packet::add_text(std::string_view key, std::string_view text) {
  std::array<char, kLongestText + 2> quoted{};
  std::size_t size = 0;
  quoted[size++] = '"';
  for (const char letter : text)
    if (is_plain(letter) && size <= kLongestText) quoted[size++] = letter;
  quoted[size++] = '"';
  return add_raw(key, {quoted.data(), size});
}

Packet& Packet::add_flag(std::string_view key, bool value) {
  return add_raw(key, value ? "true" : "false");
}

Packet& Packet::add_raw(std::string_view key, std::string_view value) {
  const bool first = size_ == 2;
  if (size_ + key.size() + value.size() + 4 > kRoom) return *this;
  const auto put = [this](std::string_view part) {
    for (const char letter : part) text_[size_++] = letter;
  };
  --size_;  // the brace
  put(first ? "\"" : ",\"");
  put(key);
  put("\":");
  put(value);
  put("}");
  return *this;
}

}  // namespace safelaunch::plugin
