#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/environment.h"

namespace safelaunch {

/// The secrets that a text shows by their surroundings: what stands behind a secret's name in any
/// notation (shell, JSON, YAML, Python, an option, a URL's query), passwords in URLs, authorization
/// headers, private keys, and well-known forms of tokens. Only strong ones (see below).
[[nodiscard]] std::vector<std::string> secrets_shown_in(std::string_view text);

/// Whether a value can be nothing but a secret, so that it may be taken out of every other text.
[[nodiscard]] bool is_strong_secret(std::string_view value);

/// The values of the variables whose names say that they are secret.
[[nodiscard]] std::vector<std::string> secrets_of(const Environment& environment);

/// Takes secrets out of a text before it leaves the run directory: those that their surroundings
/// give away, short or not, and the known values wherever they stand and however a URL or JSON
/// writes them. It would rather take a harmless word too many than leave a secret. Linear time.
class Redactor {
 public:
  explicit Redactor(std::vector<std::string> known_values);
  Redactor(Redactor&&) noexcept;
  Redactor& operator=(Redactor&&) noexcept;
  ~Redactor();

  [[nodiscard]] std::string redact(std::string_view text) const;

 private:
  struct KnownValues;
  std::unique_ptr<const KnownValues> known_;
};

/// Whether the value of this name in a text or a JSON object is a secret; `value` decides where the
/// name alone does not ("max_tokens": 128).
[[nodiscard]] bool is_secret(std::string_view name, std::string_view value);

}  // namespace safelaunch
