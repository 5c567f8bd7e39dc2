#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

/// Words that other tools have as verbs and safelaunch has not: "watch", "kill", "ps". Many of them
/// are programs of the system, and such a program would run as a job of its own.
namespace safelaunch::cli {

/// What safelaunch has instead of the verb `word`; nullopt where no tool has such a verb.
[[nodiscard]] std::optional<std::string_view> instead_of(std::string_view word);

/// Why the words behind `safelaunch` are refused: the first is such a word, and `program` is the
/// file of the system that it would start. Nobody's own program is refused, and neither are words
/// behind "run" or "--". nullopt: they are a command.
[[nodiscard]] std::optional<std::string> no_verb(std::span<const std::string> words,
                                                 std::string_view program);

}  // namespace safelaunch::cli
