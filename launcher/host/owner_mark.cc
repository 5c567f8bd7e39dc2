#include "safelaunch/host/owner_mark.h"

#include <unistd.h>

#include <algorithm>

#include "safelaunch/host/identity.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/host/process_facts.h"

namespace safelaunch::host {
namespace {

/// Reads a whole number with nothing behind it; false for any other text.
template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const auto read = to_number<Number>(text);
  if (read) number = *read;
  return read.has_value();
}

template <class Number>
bool parse_positive(std::string_view text, Number& number) {
  return parse_number(text, number) && number > 0;
}

/// Reads "1.3,71.4711"; the text is empty for an owner whose parents were hidden.
bool parse_processes(std::string_view text, std::vector<ProcessId>& processes) {
  while (!text.empty()) {
    auto word = take_word(text, ',');
    ProcessId process;
    const bool whole = parse_positive(take_word(word, '.'), process.pid) &&
                       parse_number(word, process.start_ticks);
    if (!whole) return false;
    processes.push_back(process);
  }
  return true;
}

}  // namespace

std::uint64_t cgroups_key(std::string_view lines) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char c : lines) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash == 0 ? 1 : hash;
}

std::string to_string(const OwnerMark& mark) {
  std::string text = fmt::format("{}:{}:{}:{}:{}:", mark.boot_id, mark.pid_namespace,
                                 mark.owner.pid, mark.owner.start_ticks, mark.cgroups);
  for (const ProcessId& process : mark.above)
    text +=
        fmt::format("{}{}.{}", text.ends_with(':') ? "" : ",", process.pid, process.start_ticks);
  return text;
}

std::optional<OwnerMark> parse_owner_mark(std::string_view text) {
  OwnerMark mark;
  mark.boot_id = take_word(text, ':');
  const bool whole =
      !mark.boot_id.empty() && parse_positive(take_word(text, ':'), mark.pid_namespace) &&
      parse_positive(take_word(text, ':'), mark.owner.pid) &&
      parse_positive(take_word(text, ':'), mark.owner.start_ticks) &&
      parse_positive(take_word(text, ':'), mark.cgroups) && parse_processes(text, mark.above);
  if (!whole) return std::nullopt;
  return mark;
}

std::string owner_mark(ProcessId owner) {
  OwnerMark mark{read_boot_id(),
                 pid_namespace_of(owner.pid).value_or(0),
                 owner,
                 cgroups_key(cgroup_of(owner.pid)),
                 {}};
  for (const int pid : ancestors_of(owner.pid))
    if (const auto facts = facts_of(pid)) mark.above.push_back(facts->id);
  return to_string(mark);
}

}  // namespace safelaunch::host
