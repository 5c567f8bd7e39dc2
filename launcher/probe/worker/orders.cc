#include "orders.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <ctime>

#include "safelaunch/base/strings.h"

// Orders are whole lines; text behind the last line end waits for the rest. An abort is final.
namespace safelaunch::probe {

void Orders::listen(std::chrono::microseconds patience) {
  pollfd ready{input_, POLLIN, 0};
  const timespec limit{patience.count() / 1'000'000, patience.count() % 1'000'000 * 1'000};
  if (abort_ || ::ppoll(&ready, 1, &limit, nullptr) <= 0) return;
  std::array<char, 4096> piece{};
  const ssize_t size = ::read(input_, piece.data(), piece.size());
  if (size <= 0) {
    abort_ = true;
    return;
  }
  text_.append(piece.data(), static_cast<std::size_t>(size));
  for (std::size_t end = 0; (end = text_.find('\n')) != std::string::npos;) {
    take(text_.substr(0, end));
    text_.erase(0, end + 1);
  }
}

void Orders::take(const std::string& line) {
  if (line == "abort") abort_ = true;
  if (line == "end") end_ = true;
  if (line.starts_with("id ")) id_ = line.substr(3);
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
