#include "safelaunch/host/variable_files.h"

#include <algorithm>

#include "safelaunch/base/user_file.h"
#include "safelaunch/host/proc.h"

namespace safelaunch::host {
namespace {

std::string in_home(const Environment& environment, const char* name) {
  const auto home = value_or(environment, "HOME");
  return home.empty() ? "" : std::string(home) + "/" + name;
}

void add_file(const std::string& file, std::vector<FileVariable>& variables) {
  const auto text = file.empty() ? std::nullopt : user_file_text(file);
  if (!text) return;
  for (FileVariable& one : parse_variable_file(*text, file))
    if (std::ranges::find(variables, one.name, &FileVariable::name) == variables.end())
      variables.push_back(std::move(one));
}

}  // namespace

std::vector<FileVariable> parse_variable_file(std::string_view text, const std::string& file) {
  std::vector<FileVariable> variables;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = trimmed(take_word(text, '\n'));
    const auto equals = line.find('=');
    if (line.starts_with('#') || equals == std::string_view::npos || equals == 0) continue;
    FileVariable one;
    one.name = trimmed(line.substr(0, equals));
    one.value = trimmed(line.substr(equals + 1));
    one.file = file;
    one.line = number;
    variables.push_back(std::move(one));
  }
  return variables;
}

std::vector<FileVariable> nccl_file_variables(const Environment& environment) {
  std::vector<FileVariable> variables;
  const auto chosen = value_or(environment, "NCCL_CONF_FILE");
  add_file(chosen.empty() ? in_home(environment, ".nccl.conf") : std::string(chosen), variables);
  add_file("/etc/nccl.conf", variables);
  return variables;
}

std::vector<FileVariable> deepspeed_file_variables(const Environment& environment) {
  const auto chosen = value_or(environment, "DS_ENV_FILE");
  const std::string name(chosen.empty() ? ".deepspeed_env" : chosen);
  std::vector<FileVariable> variables;
  add_file(name, variables);
  add_file(in_home(environment, name.c_str()), variables);
  return variables;
}

}  // namespace safelaunch::host
