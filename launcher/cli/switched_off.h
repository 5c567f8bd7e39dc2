#pragma once

#include <optional>
#include <span>

#include "verbs.h"

namespace safelaunch::cli {

/// Whether SAFELAUNCH=off is in our environment. Allocates nothing.
[[nodiscard]] bool is_switched_off();

/// Becomes the command of a run: no other process, no record, no word. Returns only where it
/// cannot, with the status to exit with; nullopt for words that start nothing (--help, --dry-run),
/// which are answered as always.
[[nodiscard]] std::optional<int> become_command(const Verb& verb,
                                                std::span<const std::string> words);

}  // namespace safelaunch::cli
