#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace safelaunch {

/// Fills `bytes` with random ones of the kernel (getrandom(2)), which nobody can guess. Where the
/// kernel has none at all the process aborts: a secret that somebody could guess is worse than no
/// run.
void fill_with_random(std::span<std::byte> bytes);

[[nodiscard]] std::uint64_t random_number();

/// Random bytes as hexadecimal digits, two a byte.
[[nodiscard]] std::string random_word(std::size_t bytes);

}  // namespace safelaunch
