#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "decoded_text.h"

namespace safelaunch {

/// Where a secret stands in a text: [begin, end).
struct SecretPlace {
  std::size_t begin = 0;
  std::size_t end = 0;
};
using SecretPlaces = std::vector<SecretPlace>;

/// All secrets that a text shows by their surroundings or their form, taken as it stands; in no
/// order, and they may overlap. Linear time.
[[nodiscard]] SecretPlaces secret_places(std::string_view text);

/// The text without its outermost coat, without the next, …; empty where it has none.
[[nodiscard]] std::vector<DecodedText> coats_of(std::string_view text);

/// Where something stands in the text whose coats these are, that stands at `place` below them.
[[nodiscard]] SecretPlace in_original(std::span<const DecodedText> coats, SecretPlace place);

// One kind of surroundings each. The text is taken as it stands; each takes linear time.

/// PEM, OpenSSH, PGP and PuTTY keys, whole or torn; hashes of passwords; vaults.
void find_in_blocks(std::string_view text, SecretPlaces& places);
/// Passwords, signatures and web hooks in URLs.
void find_in_addresses(std::string_view text, SecretPlaces& places);
/// Tokens by their form, and what stands behind a secret's name in any notation.
void find_by_names_and_forms(std::string_view text, SecretPlaces& places);
/// The options of known programs that take a password: `curl -u`, `sshpass -p`.
void find_in_command(std::string_view text, std::size_t program_begin, std::size_t program_end,
                     SecretPlaces& places);

}  // namespace safelaunch
