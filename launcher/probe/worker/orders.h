#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>

namespace safelaunch::probe {

/// The orders of safelaunch to this process, a line each on `input` (stdin): `id HEX`, `end`,
/// `abort`. The end of it is an order to abort too: safelaunch has gone.
class Orders {
 public:
  explicit Orders(int input) : input_(input) {}

  /// Hears what there is to hear, for as long at most; returns earlier when something was said.
  void listen(std::chrono::microseconds patience);

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] bool may_end() const { return end_; }
  [[nodiscard]] bool must_abort() const { return abort_; }

 private:
  void take(const std::string& line);

  int input_;
  std::string text_;
  std::string id_;
  bool end_ = false;
  bool abort_ = false;
};

/// Reads bytes that to_hex() has written. False, and nothing is written, where the text is not that
/// of so many bytes.
[[nodiscard]] bool from_hex(std::string_view text, std::span<char> bytes);

}  // namespace safelaunch::probe
