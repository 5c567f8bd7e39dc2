#include "interpreter.h"

#include <algorithm>

#include "safelaunch/base/strings.h"

namespace safelaunch::job {
namespace {

/// Takes the next word off a line, without the quotes that pip puts around a path.
std::string_view next_word(std::string_view& line) {
  const std::size_t first = std::min(line.find_first_not_of(" \t\"'"), line.size());
  line.remove_prefix(first);
  const std::size_t end = std::min(line.find_first_of(" \t\"'\r\n"), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

/// The first word behind env that is no option: `/usr/bin/env -S python3`.
std::string_view behind_env(std::string_view line) {
  std::string_view word = next_word(line);
  while (word.starts_with('-')) word = next_word(line);
  return word;
}

/// The interpreter of the first line, or of the second: pip and conda write `#!/bin/sh` and then
/// `'''exec' /path/python …` where the path is too long for a shebang.
std::optional<std::string> interpreter_in(std::string_view text) {
  if (!text.starts_with("#!")) return std::nullopt;
  std::string_view line = text.substr(2, text.find('\n') - 2);
  std::string_view word = next_word(line);
  if (base_name(word) == "env") word = behind_env(line);
  if (base_name(word) == "sh" && text.find('\n') != std::string_view::npos) {
    line = text.substr(text.find('\n') + 1);
    line = line.substr(0, line.find('\n'));
    if (next_word(line) != "exec") return std::nullopt;
    word = next_word(line);
  }
  return is_python(word) ? std::optional<std::string>(word) : std::nullopt;
}

}  // namespace

bool is_python(std::string_view word) {
  const std::string_view name = base_name(word);
  const auto version_after = [&](std::string_view stem) {
    return name.starts_with(stem) &&
           name.find_first_not_of("0123456789.", stem.size()) == std::string_view::npos;
  };
  return version_after("python") || version_after("pypy");
}

std::optional<std::string> interpreter_of(const std::string& program, const Variables& variables,
                                          const FileReader& read_file) {
  if (program.find('/') != std::string::npos) {
    const auto text = read_file(program);
    return text ? interpreter_in(*text) : std::nullopt;
  }
  const auto path = variables.find("PATH");
  std::string_view rest = path ? std::string_view(path->value) : std::string_view();
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string folder(rest.substr(0, end));
    if (const auto text = read_file((folder.empty() ? "." : folder) + "/" + program))
      return interpreter_in(*text);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return std::nullopt;
}

}  // namespace safelaunch::job
