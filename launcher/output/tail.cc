#include "safelaunch/output/tail.h"

#include <algorithm>

namespace safelaunch::output {

void Tail::append(std::string_view bytes) {
  if (bytes.size() > capacity_) bytes.remove_prefix(bytes.size() - capacity_);
  const std::size_t growth = std::min(bytes.size(), capacity_ - ring_.size());
  ring_.append(bytes.substr(0, growth));
  bytes.remove_prefix(growth);
  while (!bytes.empty()) {
    const std::size_t piece = std::min(bytes.size(), capacity_ - oldest_);
    bytes.copy(ring_.data() + oldest_, piece);
    oldest_ = (oldest_ + piece) % capacity_;
    bytes.remove_prefix(piece);
  }
}

std::string Tail::text() const {
  return ring_.substr(oldest_) + ring_.substr(0, oldest_);
}

}  // namespace safelaunch::output
