#pragma once

#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "safelaunch/job/command.h"

namespace safelaunch::testing {

/// The words of a line; there is no quoting.
inline std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> result;
  for (std::string word; stream >> word;) result.push_back(word);
  return result;
}

inline std::string line(const std::vector<std::string>& words) {
  std::string result;
  for (const std::string& word : words) result += (result.empty() ? "" : " ") + word;
  return result;
}

/// Path → text: the files that a command may read; nullopt is a pipe, which nobody reads for it.
using Files = std::map<std::string, std::optional<std::string>>;

inline job::Command command(const std::string& text, const Environment& environment = {},
                            const Files& files = {}) {
  const job::FileReader read = [&](const std::string& path) {
    const auto it = files.find(path);
    return it == files.end() ? job::FileAt{} : job::FileAt{true, it->second};
  };
  return job::recognise(words(text), environment, read);
}

/// The script's own word, or "" where its place is not known.
inline std::string script_of(const job::Command& command) {
  return command.script ? command.argv[command.script->word] : "";
}

inline bool has_warning(const job::Command& command, job::Warning id) {
  for (const job::CommandWarning& warning : command.warnings)
    if (warning.id == id) return true;
  return false;
}

}  // namespace safelaunch::testing
