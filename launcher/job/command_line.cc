#include "command_line.h"

#include <algorithm>
#include <cctype>

#include "safelaunch/base/strings.h"

namespace safelaunch::job {

Variables::Variables(const Environment& outer) {
  for (const auto& [name, value] : outer)
    settings_.emplace(name, LauncherVariable{value, InVariable{name, value, 0, value.size()}});
}

std::optional<LauncherVariable> Variables::find(std::string_view name) const {
  const auto it = settings_.find(name);
  return it == settings_.end() ? std::nullopt : std::optional(it->second);
}

std::optional<int> Variables::number(std::string_view name) const {
  const auto it = settings_.find(name);
  return it == settings_.end() ? std::nullopt : to_number(it->second.value);
}

void Variables::assign(std::size_t word, std::string_view assignment) {
  const std::size_t value = assignment.find('=') + 1;
  settings_.insert_or_assign(std::string(assignment.substr(0, value - 1)),
                             LauncherVariable{std::string(assignment.substr(value)),
                                              InWord{word, value, assignment.size() - value}});
}

void Variables::unset(std::string_view name) {
  if (const auto it = settings_.find(name); it != settings_.end()) settings_.erase(it);
}

namespace {

/// The same place, narrowed to a piece of the value that stands there.
PortPlace narrowed(PortPlace place, std::size_t offset, std::size_t length) {
  if (auto* word = std::get_if<InWord>(&place)) {
    word->offset += offset;
    word->length = length;
  } else if (auto* variable = std::get_if<InVariable>(&place)) {
    variable->offset += offset;
    variable->length = length;
  }
  return place;
}

bool plain_in_shell(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_-./:=,+@%").find(c) != std::string_view::npos;
}

std::string quoted(const std::string& word) {
  if (!word.empty() && std::ranges::all_of(word, plain_in_shell)) return word;
  std::string result = "'";
  for (const char c : word) c == '\'' ? result += "'\\''" : result += c;
  return result + "'";
}

}  // namespace

std::optional<LauncherVariable> CommandLine::setting(const OptionWalk& walk,
                                                     std::string_view name) const {
  const FoundOption* option = walk.last(name);
  if (option == nullptr || !option->value) return std::nullopt;
  return LauncherVariable{std::string(text_at(argv, *option->value)), *option->value};
}

void find_script(const CommandLine& line, const OptionWalk& walk, ScriptKind kind,
                 Command& command) {
  if (walk.unclear) {
    command.warnings.push_back(
        {Warning::unknown_option, std::string(name(command.launcher)) + " option " +
                                      line.argv[*walk.unclear] +
                                      " is not known here, so the begin of the script is not "
                                      "either; write it as --option=value"});
  } else if (walk.end < line.argv.size()) {
    command.script = Script{walk.end, kind};
  }
}

CommandPort port_in(const LauncherVariable& number) {
  return {number.place, to_number(number.value), {}};
}

CommandPort port_in_endpoint(const LauncherVariable& endpoint) {
  const std::size_t size = endpoint.value.size();
  const std::size_t colon = endpoint.value.rfind(':');
  const auto port = colon == std::string::npos
                        ? std::nullopt
                        : to_number(std::string_view(endpoint.value).substr(colon + 1));
  if (!port) return {narrowed(endpoint.place, size, 0), std::nullopt, {}};
  return {narrowed(endpoint.place, colon + 1, size - colon - 1), port, {}};
}

std::string shell_line(std::span<const std::string> words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    line += quoted(word);
  }
  return line;
}

}  // namespace safelaunch::job
