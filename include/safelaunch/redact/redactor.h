#pragma once

#include <memory>
#include <span>
#include <vector>

#include "safelaunch/base/environment.h"

namespace safelaunch::redact {

/// The word that replaces a secret in everything that safelaunch writes.
inline constexpr std::string_view kRedacted = "[redacted]";

/// Whether a variable, option or member of this name holds a secret: *TOKEN*, *SECRET*, DB_PASS,
/// --wandb-key, clientSecret, … (case and - or _ do not matter).
[[nodiscard]] bool is_secret_name(std::string_view name);

/// Whether `name` having `value` shows a secret; `value` decides where the name alone does not
/// ("max_tokens": 128).
[[nodiscard]] bool is_secret(std::string_view name, std::string_view value);

/// Whether a value of this name is no secret, though it stands beside secrets: `user`, `host`,
/// `port`.
[[nodiscard]] bool stands_beside_secrets(std::string_view name);

/// Takes secrets out of everything that safelaunch records, shows or hands on. It finds them by
/// their name, their form or their surroundings, and it finds the values that it has learned
/// wherever they stand, however JSON, URLs, HTML, shells or base64 write them. It would rather take
/// a harmless word too many than leave a secret. It takes linear time, has nothing to set up, and
/// its memory is bounded (KnownSecrets). Each copy has a memory of its own.
class Redactor {
 public:
  Redactor();
  explicit Redactor(const std::vector<std::string>& known_values);
  Redactor(const Redactor& other);
  Redactor(Redactor&&) noexcept;
  Redactor& operator=(Redactor&&) noexcept;
  ~Redactor();

  /// Remembers a value that is secret.
  void learn_value(std::string_view secret);
  /// Remembers a value that a text of any origin shows, if it can be nothing but a secret.
  void learn_seen_value(std::string_view secret);
  /// Remembers the values in a text of any origin that can be nothing but secrets.
  void learn(std::string_view text);
  /// Remembers the values of variables with a secret's name, and the passwords in all others' URLs.
  void learn(const Environment& environment);
  /// Remembers the secrets that a command line shows, across its words.
  void learn(std::span<const std::string> words);
  /// Remembers a value whose name says that it is secret, and any other secret that it shows.
  void learn(std::string_view name, std::string_view value);

  [[nodiscard]] std::string redact(std::string_view text) const;
  /// A command line, in which `--password x` is two words. Returns as many words as it was given.
  [[nodiscard]] std::vector<std::string> redact(std::span<const std::string> words) const;
  /// The value of a variable or a member.
  [[nodiscard]] std::string redact(std::string_view name, std::string_view value) const;

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace safelaunch::redact
