#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace safelaunch::redact {

/// A text with one coat taken off: the escapes of JSON, Python and C (\", \/, \u0022, \x2f, \n), of
/// URLs (%2F), HTML (&quot;) and shells ('"'"'), and the colours of a terminal. It holds only the
/// lines that have a coat, and remembers the place of each byte in the original.
struct DecodedText {
  /// From here on, byte `decoded` of the text stood at `original`.
  struct Step {
    std::size_t decoded = 0;
    std::size_t original = 0;
  };

  std::string text;
  std::vector<Step> steps;  ///< ascending; empty: nothing was coated

  [[nodiscard]] std::size_t original(std::size_t decoded) const;
};

[[nodiscard]] DecodedText decoded(std::string_view text);

/// The place of a secret in a text: [begin, end).
struct SecretPlace {
  std::size_t begin = 0;
  std::size_t end = 0;
};
using SecretPlaces = std::vector<SecretPlace>;

/// All secrets that a text shows by their surroundings or their form, without taking off any coat.
/// They come in no order and may overlap. Linear time.
[[nodiscard]] SecretPlaces secret_places(std::string_view text);

/// The text without its outermost coat, without the next, …; empty where it has none.
[[nodiscard]] std::vector<DecodedText> coats_of(std::string_view text);

/// The lines of base64 that `base64` and openssl break after 64 or 76 characters, each block as one
/// line; empty where the text has none.
[[nodiscard]] DecodedText unwrapped(std::string_view text);

/// Maps a place below these coats to its place in the text that has them.
[[nodiscard]] SecretPlace in_original(std::span<const DecodedText> coats, SecretPlace place);

// Each of these knows one kind of surroundings, takes no coat off, and takes linear time.

/// Private keys of PEM, OpenSSH and PGP, whole or torn.
void find_keys(std::string_view text, SecretPlaces& places);
/// The columns of a table with a line of names above.
void find_in_tables(std::string_view text, SecretPlaces& places);
/// Passwords, signatures and web hooks in URLs.
void find_in_addresses(std::string_view text, SecretPlaces& places);
/// Tokens by their form, and the values behind a secret's name in any notation.
void find_by_names_and_forms(std::string_view text, SecretPlaces& places);
/// What one expression can describe: web hooks, hashes, Bearer, Secrets of Kubernetes, commands, ….
void find_by_surroundings(std::string_view text, SecretPlaces& places);
/// The last command that was looked through.
struct SeenCommand {
  std::string_view program;
  std::size_t until = 0;  ///< the same program's name before that place shows nothing new
};

/// The options of a known program that take a password: `curl -u`, `sshpass -p`.
void find_in_command(std::string_view text, SecretPlace program, SeenCommand& seen,
                     SecretPlaces& places);
/// The names of these programs as alternatives of a regular expression.
[[nodiscard]] std::string known_programs();

/// The length of the token that begins at `at`, by the form that its service gives its tokens
/// (hf_…, ghp_…, a signed eyJ….eyJ….…), or 0. Looks at a bounded number of bytes but for the
/// token's own.
[[nodiscard]] std::size_t token_length(std::string_view text, std::size_t at);

}  // namespace safelaunch::redact
