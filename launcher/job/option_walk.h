#pragma once

#include <cstddef>
#include <span>

#include "safelaunch/job/command.h"

namespace safelaunch::job {

enum class Takes {
  nothing,
  value,
  rest,  ///< the value is a program, and every word behind that belongs to the program
};

/// One option of a program.
struct OptionSpec {
  std::string_view name;  ///< long name without its dashes; '_' also stands for '-' (see Spelling)
  Takes takes = Takes::value;
  char letter = 0;  ///< the short name, if any
  std::string_view alias = {};
};

/// The way in which a program reads its options. The two differ in options that are not in the
/// table.
enum class Grammar {
  argparse,  ///< behind an unknown option the meaning of the next word is unclear
  getopt,    ///< the table lists only options with a value: an unknown option is a flag
};

enum class Spelling { exact, dashes_too };
enum class Abbreviations { none, unique_prefix };

struct OptionTable {
  std::span<const OptionSpec> options;
  Grammar grammar = Grammar::argparse;
  Spelling spelling = Spelling::exact;
  Abbreviations abbreviations = Abbreviations::unique_prefix;
  /// Every option whose name begins so takes a value, also one that is not listed. Empty: none.
  std::string_view family = {};
};

struct FoundOption {
  const OptionSpec* spec = nullptr;
  std::optional<InWord> value;
};

/// The options at the begin of a list of words.
struct OptionWalk {
  std::vector<FoundOption> found;
  std::size_t end = 0;  ///< the first word that is no option, which is the program's operand
  std::optional<std::size_t> unclear;  ///< the place of an unknown option: `end` means nothing then

  /// The last use of an option, which counts; nullptr where there is none.
  [[nodiscard]] const FoundOption* last(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return last(name) != nullptr; }
};

/// Walks over the options from `words[first]` on, as the program itself would.
[[nodiscard]] OptionWalk walk_options(std::span<const std::string> words, std::size_t first,
                                      const OptionTable& table);

[[nodiscard]] std::string_view text_at(std::span<const std::string> words, const InWord& piece);

}  // namespace safelaunch::job
