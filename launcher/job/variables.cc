#include "variables.h"

#include "text.h"

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
  return it == settings_.end() ? std::nullopt : to_int(it->second.value);
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

}  // namespace safelaunch::job
