#include "status_after_signal.h"

#include <algorithm>
#include <array>
#include <csignal>

namespace safelaunch::diagnose {
namespace {

constexpr int kOfShells = 128;  // a shell adds it to the signal that ended its command

/// The signals that a stop sends, or passes on.
constexpr std::array kStopping{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGKILL};

bool is_stopping(int signal) {
  return std::ranges::find(kStopping, signal) != kStopping.end();
}

/// Whether a stop ended the process, which has chosen no status then.
bool by_the_stop(const ExitStatus& status) {
  if (const auto* killed = std::get_if<Signaled>(&status)) return is_stopping(killed->signal);
  return is_stopping(std::get<Exited>(status).code - kOfShells);
}

bool chosen(const std::optional<ExitStatus>& status) {
  return status && !succeeded(*status) && !by_the_stop(*status);
}

}  // namespace

int status_after_signal(const Evidence& evidence) {
  const int told_to_end = kOfShells + *evidence.signal;
  for (const auto* ends : {&evidence.failure.ended, &evidence.ended_in_stop}) {
    const auto own = std::ranges::find_if(*ends, chosen, &RankExited::status);
    if (own != ends->end()) return shell_code(*own->status);
  }
  if (!evidence.command || by_the_stop(*evidence.command)) return told_to_end;
  const bool says_nothing = evidence.command_hides && !succeeded(*evidence.command);
  return says_nothing ? told_to_end : shell_code(*evidence.command);
}

}  // namespace safelaunch::diagnose
