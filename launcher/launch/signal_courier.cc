#include "signal_courier.h"

#include <cstdint>

namespace safelaunch::launch::courier {

void send(int supervisor, Letter letter) {
  const auto value = static_cast<std::uint64_t>(static_cast<std::uint32_t>(letter.sender)) << 8 |
                     static_cast<std::uint64_t>(letter.signal);
  sigval carried{};
  carried.sival_ptr = reinterpret_cast<void*>(value);
  if (::sigqueue(supervisor, carrier(), carried) != 0) ::kill(supervisor, letter.signal);
}

Letter open(unsigned long long value) {
  return {static_cast<int>(value & 0xff), static_cast<int>(static_cast<std::uint32_t>(value >> 8))};
}

}  // namespace safelaunch::launch::courier
