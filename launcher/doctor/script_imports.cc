#include "script_imports.h"

#include <algorithm>

namespace safelaunch::doctor {
namespace {

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t")));
  const auto word = line.substr(0, line.find_first_of(" \t,;"));
  line.remove_prefix(word.size());
  return word;
}

bool is_of(std::string_view name, std::string_view module) {
  return name.starts_with(module) && (name.size() == module.size() || name[module.size()] == '.');
}

}  // namespace

bool imports_module(std::string_view source, std::string_view module) {
  while (!source.empty()) {
    const auto end = source.find_first_of("\n;");
    std::string_view line = source.substr(0, end);
    source.remove_prefix(end == std::string_view::npos ? source.size() : end + 1);
    const auto verb = next_word(line);
    if (verb != "import" && verb != "from") continue;
    if (is_of(next_word(line), module)) return true;
  }
  return false;
}

}  // namespace safelaunch::doctor
