#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace safelaunch {

/// Removes the torn line at the start of a text that begins somewhere in a log: half a secret in it
/// could not be recognised. Of a line that is longer than a quarter of the text, only the words in
/// that quarter go, or the first word.
void drop_partial_start(std::string& text);

/// The beginning and the end of a log of any length, in bounded memory. What failed first stands
/// near the beginning or near the end.
class BothEnds {
 public:
  BothEnds(std::size_t head, std::size_t tail) : most_of_head_(head), most_of_tail_(tail) {}

  void add(std::string_view bytes);
  /// So many bytes follow that are not read.
  void skip(std::uint64_t bytes) { skipped_ += bytes; }
  [[nodiscard]] bool has_head() const { return head_.size() == most_of_head_; }

  /// Whole lines where something is left out between the two.
  [[nodiscard]] std::string take();
  /// How many bytes take() has left out.
  [[nodiscard]] std::uint64_t left_out() const { return skipped_; }

 private:
  void shorten_tail();

  std::size_t most_of_head_;
  std::size_t most_of_tail_;
  std::string head_;
  std::string tail_;
  std::uint64_t skipped_ = 0;
};

}  // namespace safelaunch
