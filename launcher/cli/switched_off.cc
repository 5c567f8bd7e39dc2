#include "switched_off.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/variable_names.h"
#include "safelaunch/launch/find_program.h"
#include "safelaunch/plan/plan.h"
#include "safelaunch/plan/typed_command.h"
#include "safelaunch/plan/wrapper.h"
#include "verb_run.h"

// With SAFELAUNCH=off nobody can suspect safelaunch: the process becomes the command by execve. The
// options of the line are read, since the command stands behind them, and none takes effect; no
// file of settings is read.
namespace safelaunch::cli {
namespace {

bool starts_nothing(const settings::RunOptions& options, const Environment& environment) {
  const std::string_view variable = value_or(environment, "SAFELAUNCH_DRY_RUN");
  return options.dry_run || settings::option_value::flag(variable);
}

Result<std::vector<std::string>> command_of(settings::RunOptions& options,
                                            const Environment& environment) {
  const bool by_variable = !value_or(environment, "SAFELAUNCH_NPROC_PER_NODE").empty();
  if (by_variable || plan::wants_own_workers(options))
    return Error{Errc::usage,
                 "SAFELAUNCH=off starts the command alone, and by --nproc-per-node safelaunch "
                 "would be its launcher; put torchrun before the script"};
  const auto command =
      plan::spelled_out({std::move(options.command), options.module, false}, environment);
  if (!command) return command.error();
  return plan::behind_wrapper(*command, environment);
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// A script without a first line that names its interpreter is the shell's, as execvp has it.
Error become(const std::string& program, std::vector<std::string> words) {
  ::execv(program.c_str(), pointers_to(words).data());
  if (errno == ENOEXEC) {
    words.front() = program;
    words.insert(words.begin(), "sh");
    ::execv("/bin/sh", pointers_to(words).data());
  }
  return {Errc::not_executable, fmt::format("cannot execute {}: {}", program, strerror(errno))};
}

}  // namespace

bool is_switched_off() {
  constexpr std::array<std::string_view, 4> kOff{"off", "0", "false", "no"};
  const char* switched = std::getenv("SAFELAUNCH");
  return switched != nullptr && std::ranges::find(kOff, lower(switched)) != kOff.end();
}

std::optional<int> become_command(const Verb& verb, std::span<const std::string> words) {
  if (&verb == &kNoVerb)
    if (const auto mistaken = taken_for_verb(words)) return refuse(*mistaken);
  Environment environment = current_environment();
  settings::RunOptions options;
  Result<settings::ReadWords> read = read_words_of(kRunVerb, words, &options);
  if (!read) return refuse(read.error());
  if (read->wants_help || starts_nothing(options, environment)) return std::nullopt;
  options.command = std::move(read->rest);
  if (options.command.empty()) return refuse(no_command());
  const auto command = command_of(options, environment);
  if (!command) return refuse(command.error());
  const auto program = launch::find_program(command->front(), environment);
  if (!program) return refuse(program.error());
  if (const Result<void> entered = plan::enter(*command, environment); !entered)
    return refuse(entered.error());
  if (const auto mark = environment.find(kEnteredVariable); mark != environment.end())
    ::setenv(mark->first.c_str(), mark->second.c_str(), 1);
  return refuse(become(*program, *command));
}

}  // namespace safelaunch::cli
