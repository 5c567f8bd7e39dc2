#pragma once

#include <cstddef>
#include <string_view>

namespace safelaunch::redact {

/// The meaning of a name for its value.
enum class NameKind {
  plain,   ///< nothing
  key,     ///< the value is secret if it looks like that: `key`, `tokens`
  token,   ///< the value is secret unless it is a count or a mark: `token`, `MY_KEY`, `auth`
  secret,  ///< the value is secret, except for words like None and true
};

/// Judges by the parts of the name, which -, _, . and capitals separate: `--wandb-key`,
/// `dbPassword`, `spring.datasource.password`. `before` is the word in front of the name: the "API"
/// of "API key".
[[nodiscard]] NameKind kind_of_name(std::string_view name, std::string_view before = {});

/// Whether the name may belong to a secret at all. It is quick, and never false where
/// kind_of_name() is not plain.
[[nodiscard]] bool may_name_a_secret(std::string_view name);

/// Whether `name` having `value` shows a secret.
[[nodiscard]] bool is_secret_value(NameKind kind, std::string_view name, std::string_view value);

/// Whether a value can hardly be a word: keys, hashes, tokens. At least 16 bytes.
[[nodiscard]] bool looks_random(std::string_view value);

/// Whether a person would take it for a password in a sentence: letters with digits or signs.
[[nodiscard]] bool looks_like_password(std::string_view value);

/// Whether a value that its surroundings call secret can be nothing else, so that it may be looked
/// for in every other text.
[[nodiscard]] bool is_worth_learning(std::string_view value);

}  // namespace safelaunch::redact
