#pragma once

#include <cstddef>
#include <string_view>

namespace safelaunch {

/// What a name says of the value that it has.
enum class NameKind {
  plain,   ///< nothing
  key,     ///< a secret if the value looks like one: `key`, `tokens`
  token,   ///< a secret, unless the value is a count or a mark: `token`, `MY_KEY`, `auth`
  secret,  ///< a secret whatever it is, but for words like None and true
};

/// By the parts of the name, which -, _, . and capitals tell apart: `--wandb-key`, `dbPassword`,
/// `spring.datasource.password`. `before` is the word in front of it: the "API" of "API key".
[[nodiscard]] NameKind kind_of_name(std::string_view name, std::string_view before = {});

/// Whether the name may be a secret's at all: quick, and never false where kind_of_name() is not
/// plain.
[[nodiscard]] bool may_name_a_secret(std::string_view name);

/// Whether `name` having `value` shows a secret.
[[nodiscard]] bool is_secret_value(NameKind kind, std::string_view name, std::string_view value);

/// Whether a value can hardly be a word: keys, hashes, tokens. At least 16 bytes.
[[nodiscard]] bool looks_random(std::string_view value);

/// Whether a person would take it for a password in a sentence: letters with digits or signs.
[[nodiscard]] bool looks_like_password(std::string_view value);

/// Whether a value can be nothing but a secret once its surroundings have said so, and may
/// therefore be looked for in every other text.
[[nodiscard]] bool is_worth_learning(std::string_view value);

}  // namespace safelaunch
