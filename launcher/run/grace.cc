#include "grace.h"

#include <algorithm>
#include <charconv>

namespace safelaunch::run {
namespace {

constexpr Duration kOfTorchrun{30'000};
constexpr std::string_view kVariable = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT";

// torchrun collects the ranks that it has killed, and ends with a status of its own.
constexpr Duration kTorchrunEnds{5'000};

// Nothing where it makes no sense: torchrun refuses it itself.
std::optional<int> seconds_in(std::string_view text) {
  int seconds = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, seconds);
  if (read.ec != std::errc{} || read.ptr != end || seconds < 0) return std::nullopt;
  return seconds;
}

Duration told_torchrun(const job::Command& command, const Environment& environment) {
  const auto seconds = command.shutdown_timeout ? command.shutdown_timeout
                                                : seconds_in(value_or(environment, kVariable));
  return std::chrono::seconds(seconds.value_or(0));
}

}  // namespace

Grace grace_of(const settings::RunOptions& options, const job::Command& command,
               const Environment& environment) {
  const bool torchrun =
      command.launcher == job::Launcher::torchrun || command.launcher == job::Launcher::accelerate;
  const Duration told = torchrun ? told_torchrun(command, environment) : Duration{};
  const Duration of_ranks = options.grace.value_or(std::max(kOfTorchrun, told));
  return {of_ranks, torchrun ? of_ranks + kTorchrunEnds : of_ranks};
}

void pass_grace_on(const Grace& grace, Environment& environment) {
  if (grace.of_ranks == kOfTorchrun) return;
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(grace.of_ranks);
  environment.try_emplace(std::string(kVariable), std::to_string(seconds.count()));
}

}  // namespace safelaunch::run
