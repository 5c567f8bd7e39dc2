#include "safelaunch/plan/typed_command.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/launch/find_program.h"

// A module, and a Python file that is no program, run under the job's Python: the one that
// PYTHON_EXEC names, that of the active environment, else the first in PATH. Every other command
// stays as it was typed.
namespace safelaunch::plan {
namespace {

constexpr std::array kPythons = {"python3", "python"};

std::vector<std::string> folders_of_path(const Environment& environment) {
  std::vector<std::string> folders;
  std::string_view rest = value_or(environment, "PATH");
  while (!rest.empty()) folders.emplace_back(take_word(rest, ':'));
  return folders;
}

// The folder's own Python: "python3", "python", or empty.
std::string_view python_in(const std::string& folder, const Environment& environment) {
  for (const std::string_view name : kPythons)
    if (launch::find_program(fmt::format("{}/{}", folder.empty() ? "." : folder, name),
                             environment))
      return name;
  return {};
}

bool is_regular(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

// The kernel executes a file only with an interpreter in its first line. A name without a slash is
// never looked up in the working directory.
bool is_program(const std::string& word, const Environment& environment) {
  const Result<std::string> program = launch::find_program(word, environment);
  return program && user_file_text(*program).value_or("").starts_with("#!");
}

Result<std::vector<std::string>> under_python(const TypedCommand& typed,
                                              const Environment& environment) {
  const Result<std::string> python = python_of(environment);
  if (!python)
    return Error{python.error().code,
                 fmt::format("{} needs Python: {}", typed.words.front(), python.error().message)};
  std::vector<std::string> words{*python};
  if (typed.own_workers) words.emplace_back("-u");
  if (typed.is_module) words.emplace_back("-m");
  words.insert(words.end(), typed.words.begin(), typed.words.end());
  return words;
}

// Whether the command's first word is its launcher or its Python, so that nothing leads elsewhere.
bool begins_by_itself(const job::Command& command) {
  const bool python_first = command.python == command.argv.front();
  return command.launcher_word == 0 || python_first;
}

std::optional<std::string> missing_script(const job::Command& command) {
  if (!command.script || command.script->kind != job::ScriptKind::file) return std::nullopt;
  if (!begins_by_itself(command) || command.descendants == job::Descendants::none)
    return std::nullopt;
  const std::string& path = command.argv[command.script->word];
  std::error_code error;
  const bool is_there = std::filesystem::exists(path, error) || error;
  return is_there ? std::nullopt : std::optional(path);
}

}  // namespace

std::vector<std::string> missing_files(const job::Command& command,
                                       const Environment& environment) {
  if (command.argv.empty()) return {};
  std::vector<std::string> missing;
  const std::string& program = command.argv.front();
  if (const auto found = launch::find_program(program, environment); !found)
    missing.push_back(found.error().message);
  else if (command.python && *command.python != program && command.python->starts_with('/') &&
           !launch::find_program(*command.python, environment))
    missing.push_back(fmt::format("the Python of {}, {}, is not there", program, *command.python));
  if (const auto script = missing_script(command))
    missing.push_back(fmt::format("there is no script {}", *script));
  return missing;
}

Result<std::string> python_of(const Environment& environment) {
  if (const auto named = value_or(environment, "PYTHON_EXEC"); !named.empty())
    return std::string(named);
  const std::vector<std::string> folders = folders_of_path(environment);
  if (const auto active = value_or(environment, "VIRTUAL_ENV"); !active.empty()) {
    const std::string folder = fmt::format("{}/bin", active);
    const bool on_path = std::ranges::find(folders, folder) != folders.end();
    const std::string_view python = on_path ? "" : python_in(folder, environment);
    if (!python.empty()) return fmt::format("{}/{}", folder, python);
  }
  for (const std::string& folder : folders)
    if (const auto python = python_in(folder, environment); !python.empty())
      return std::string(python);
  return Error{Errc::not_found, "there is no python3 and no python in PATH"};
}

Result<std::vector<std::string>> spelled_out(const TypedCommand& typed,
                                             const Environment& environment) {
  if (typed.words.empty()) return typed.words;
  if (typed.is_module) return under_python(typed, environment);
  const std::string& word = typed.words.front();
  if (!word.ends_with(".py") || is_program(word, environment)) return typed.words;
  if (is_regular(word)) return under_python(typed, environment);
  std::error_code ignored;
  if (std::filesystem::exists(word, ignored)) return typed.words;
  return Error{Errc::not_found, fmt::format("there is no file {} in {}", word,
                                            std::filesystem::current_path(ignored).native())};
}

}  // namespace safelaunch::plan
