#pragma once

#include <map>
#include <span>

#include "safelaunch/base/result.h"
#include "safelaunch/settings/option.h"

namespace safelaunch::settings {

/// The words that may stand behind a verb's options.
enum class Rest {
  words,    ///< words of the verb; options may stand among them
  command,  ///< a command with options of its own: it begins with the first word that is no option
};

/// The meaning of an option that is given twice.
enum class Again { refused, overrides };

/// The options of a verb, and how its words are read.
struct Grammar {
  std::string_view verb;
  std::span<const Option> options;
  Rest rest = Rest::words;
  Again again = Again::refused;
  std::span<const Option> common = {};  ///< options of every verb; a verb's own go before them
  void* common_target = nullptr;        ///< the value that these fill
  /// What a word without its dashes is where it is no option: "; ..."; empty: nothing.
  std::string (*elsewhere)(std::string_view word) = nullptr;
};

/// The rest of the words, besides the values.
struct ReadWords {
  std::vector<std::string> rest;  ///< words that are no options, without the "--"
  /// Names of options, and the word that was said for each; those of a repeated one with commas.
  std::map<std::string, std::string, std::less<>> given;
  bool wants_help = false;  ///< --help or -h, where no option is called so
};

/// Reads a verb's words into `target`, the struct that the table of options fills. Errors
/// (Errc::usage) name the wrong word and the nearest right one.
[[nodiscard]] Result<ReadWords> read_words(const Grammar& grammar,
                                           std::span<const std::string> words, void* target);

}  // namespace safelaunch::settings
