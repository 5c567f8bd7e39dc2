#include "safelaunch/host/owner_mark.h"

#include <unistd.h>

#include <algorithm>

#include "proc_file.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/process_facts.h"

namespace safelaunch {
namespace {

/// A whole, positive number with nothing behind it.
template <class Number>
bool parse_positive(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && number > 0;
}

}  // namespace

std::string to_string(const OwnerMark& mark) {
  return fmt::format("{}:{}:{}:{}", mark.boot_id, mark.pid_namespace, mark.owner.pid,
                     mark.owner.start_ticks);
}

std::optional<OwnerMark> parse_owner_mark(std::string_view text) {
  OwnerMark mark;
  mark.boot_id = take_word(text, ':');
  const bool whole = !mark.boot_id.empty() &&
                     parse_positive(take_word(text, ':'), mark.pid_namespace) &&
                     parse_positive(take_word(text, ':'), mark.owner.pid) &&
                     parse_positive(text, mark.owner.start_ticks);
  if (!whole) return std::nullopt;
  return mark;
}

std::string owner_mark(ProcessId owner) {
  return to_string({read_boot_id(), pid_namespace_of(owner.pid).value_or(0), owner});
}

}  // namespace safelaunch
