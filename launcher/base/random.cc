#include "safelaunch/base/random.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdlib>

#include "safelaunch/base/strings.h"

namespace safelaunch {

void fill_with_random(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
    if (got > 0)
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    else if (errno != EINTR)
      std::abort();
  }
}

std::uint64_t random_number() {
  std::uint64_t number = 0;
  fill_with_random(std::as_writable_bytes(std::span(&number, 1)));
  return number;
}

std::string random_word(std::size_t bytes) {
  std::string random(bytes, '\0');
  fill_with_random(std::as_writable_bytes(std::span(random)));
  return to_hex(random);
}

}  // namespace safelaunch
