#include "safelaunch/base/both_ends.h"

#include <algorithm>
#include <utility>

namespace safelaunch {

void drop_partial_start(std::string& text) {
  constexpr std::string_view kBetweenWords = " \t\r\n\",;";
  const std::string_view head = std::string_view(text).substr(0, text.size() / 4);
  std::size_t end = head.find('\n');
  if (end == std::string::npos) end = head.find_last_of(kBetweenWords);
  if (end == std::string::npos) end = text.find_first_of(kBetweenWords);
  text.erase(0, end == std::string::npos ? head.size() : end + 1);
}

void BothEnds::add(std::string_view bytes) {
  const std::size_t room = std::min(most_of_head_ - head_.size(), bytes.size());
  head_ += bytes.substr(0, room);
  tail_ += bytes.substr(room);
  if (tail_.size() > 2 * most_of_tail_) shorten_tail();  // seldom, since each time moves it all
}

void BothEnds::shorten_tail() {
  const std::size_t more = tail_.size() - std::min(tail_.size(), most_of_tail_);
  tail_.erase(0, more);
  skipped_ += more;
}

std::string BothEnds::take() {
  shorten_tail();
  if (skipped_ > 0) {
    const std::size_t both = head_.size() + tail_.size();
    head_.resize(head_.rfind('\n') + 1);  // npos + 1 is 0: nothing stays
    drop_partial_start(tail_);
    skipped_ += both - head_.size() - tail_.size();
  }
  return std::move(head_) + std::exchange(tail_, {});
}

}  // namespace safelaunch
