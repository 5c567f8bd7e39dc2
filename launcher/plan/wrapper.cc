#include "safelaunch/plan/wrapper.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/base/variable_names.h"
#include "safelaunch/host/process_facts.h"
#include "safelaunch/job/command.h"
#include "safelaunch/launch/find_program.h"

// A compiler cache called cc looks for the cc behind itself in PATH, and so does safelaunch for a
// launcher. Of the wrappers that this does not recognise, the third start below each other is
// refused.
namespace safelaunch::plan {
namespace {

constexpr std::string_view kProgram = "safelaunch";
constexpr std::size_t kMostOfScript = 64U << 10;
constexpr int kMostTimes = 2;

// The guardian of this safelaunch, the script's shell where it has not become safelaunch, then both
// halves of the safelaunch that started the script.
constexpr std::size_t kFarthest = 4;

bool may_stand_before(char c) {
  return std::string_view(" \t\"'/(;&|=`[").find(c) != std::string_view::npos;
}

bool may_stand_behind(char c) {
  return std::string_view(" \t\"'),]").find(c) != std::string_view::npos;
}

// What follows the program's name in a line that names it; nullopt where the line does not.
std::optional<std::string_view> behind_name(std::string_view line) {
  if (line.substr(std::min(line.find_first_not_of(" \t"), line.size())).starts_with('#'))
    return std::nullopt;
  for (std::size_t at = line.find(kProgram); at != line.npos; at = line.find(kProgram, at + 1)) {
    const std::size_t end = at + kProgram.size();
    if ((at == 0 || may_stand_before(line[at - 1])) &&
        (end == line.size() || may_stand_behind(line[end])))
      return line.substr(end);
  }
  return std::nullopt;
}

// Whether a script says "safelaunch torchrun" of the name that leads to the script itself.
bool starts_its_own_name(std::string_view script, std::string_view name) {
  while (!script.empty()) {
    std::string_view words = behind_name(take_word(script, '\n')).value_or("");
    words.remove_prefix(std::min(words.find_first_not_of(" \"'"), words.size()));
    if (take_word(words) == name) return true;
  }
  return false;
}

std::string script_at(const std::string& path) {
  std::string text = user_file_text(path, kMostOfScript).value_or("");
  return text.starts_with("#!") ? text : std::string();
}

// Python's own launchers are scripts too, and they start no safelaunch.
bool may_be_wrapper(std::string_view script) {
  const std::string_view first_line = script.substr(0, script.find('\n'));
  const bool is_python = first_line.find("python") != first_line.npos;
  return !script.empty() && (!is_python || starts_safelaunch(script));
}

bool is_launcher(const std::vector<std::string>& command, const Environment& environment) {
  const job::Command recognised = job::recognise(command, environment);
  const bool spawns = recognised.launcher == job::Launcher::torchrun ||
                      recognised.launcher == job::Launcher::deepspeed ||
                      recognised.launcher == job::Launcher::accelerate;
  return spawns && recognised.launcher_word == 0;
}

// The next program of a name in PATH that starts no safelaunch; empty where there is none.
std::string next_in_path(std::string_view name, const Environment& environment) {
  for (const std::string& program : launch::programs_in_path(name, environment))
    if (!starts_safelaunch(script_at(program))) return program;
  return {};
}

bool is_near(int pid) {
  if (pid == getpid()) return true;
  const std::vector<int> above = host::ancestors_of(getpid());
  const auto near = std::span(above).first(std::min(above.size(), kFarthest));
  return std::ranges::find(near, pid) != near.end();
}

Error starts_itself(const std::string& word, const std::string& script) {
  return {Errc::os, fmt::format("{} is {}, which starts safelaunch again and again; name the real "
                                "one: safelaunch /PATH/TO/{}",
                                word, script, word.substr(word.rfind('/') + 1))};
}

}  // namespace

bool starts_safelaunch(std::string_view script) {
  while (!script.empty())
    if (behind_name(take_word(script, '\n'))) return true;
  return false;
}

Result<std::vector<std::string>> behind_wrapper(std::vector<std::string> command,
                                                const Environment& environment) {
  if (command.empty() || command.front().find('/') != std::string::npos) return command;
  const std::string name = command.front();
  const Result<std::string> program = launch::find_program(name, environment);
  if (!program) return command;
  const std::string script = script_at(*program);
  if (!starts_safelaunch(script) || !is_launcher(command, environment)) return command;
  std::string real = next_in_path(name, environment);
  if (real.empty() && starts_its_own_name(script, name)) return starts_itself(name, *program);
  if (!real.empty()) command.front() = std::move(real);
  return command;
}

std::string to_text(const Entered& entered) {
  return fmt::format("{}:{}:{}", entered.times, entered.by, entered.script);
}

std::optional<Entered> parse_entered(std::string_view text) {
  const auto times = to_number(take_word(text, ':'));
  const auto by = to_number(take_word(text, ':'));
  if (!times || !by || text.empty()) return std::nullopt;
  return Entered{*times, *by, std::string(text)};
}

Result<void> enter(const std::vector<std::string>& command, Environment& environment) {
  const Result<std::string> program = launch::find_program(command.front(), environment);
  if (!program || !may_be_wrapper(script_at(*program))) return {};
  std::error_code none;
  const std::string script = std::filesystem::canonical(*program, none).native();
  const auto before = parse_entered(value_or(environment, kEnteredVariable));
  const bool again = before && before->script == script && is_near(before->by);
  const int times = again ? before->times + 1 : 1;
  if (times > kMostTimes) return starts_itself(command.front(), script);
  environment[std::string(kEnteredVariable)] = to_text({times, getpid(), script});
  return {};
}

}  // namespace safelaunch::plan
