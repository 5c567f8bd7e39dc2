#pragma once

#include <string>
#include <string_view>

#include "launcher/cli/help.h"
#include "safelaunch/base/language.h"

/// The README's tables as the program's own tables make them.
namespace safelaunch::testing {

/// A bar would end the cell.
inline std::string cell(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '|' ? std::string("\\|") : std::string(1, c);
  return result;
}

/// In the language of the process.
inline std::string options_as_markdown() {
  std::string text = "| --- | --- | --- |\n";
  for (const settings::Option& option : cli::kRunVerb.options) {
    const bool is_in_words = option.fallback.find(' ') != std::string_view::npos;
    text += "| `" + cell(cli::spelling(option)) + "` | " +
            cell(is_in_words ? tr(option.fallback) : std::string(option.fallback)) + " | " +
            cell(tr(option.help)) + " |\n";
  }
  return text;
}

inline std::string exit_statuses_as_markdown() {
  std::string text = "| status | means |\n| --- | --- |\n";
  for (const cli::StatusRow& row : cli::exit_statuses())
    text += "| " + std::string(row.status) + " | " + std::string(row.meaning) + " |\n";
  return text;
}

}  // namespace safelaunch::testing
