#pragma once

#include <string>
#include <string_view>

#include "launcher/cli/help.h"

/// The README's tables as the program's own tables make them.
namespace safelaunch::testing {

/// A bar would end the cell.
inline std::string cell(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '|' ? std::string("\\|") : std::string(1, c);
  return result;
}

inline std::string options_as_markdown() {
  std::string text = "| option | default | meaning |\n| --- | --- | --- |\n";
  for (const settings::Option& option : cli::kRunVerb.options)
    text += "| `" + cell(cli::spelling(option)) + "` | " + cell(option.fallback) + " | " +
            cell(option.help) + " |\n";
  return text;
}

inline std::string exit_statuses_as_markdown() {
  std::string text = "| status | means |\n| --- | --- |\n";
  for (const cli::StatusRow& row : cli::exit_statuses())
    text += "| " + std::string(row.status) + " | " + std::string(row.meaning) + " |\n";
  return text;
}

}  // namespace safelaunch::testing
