#include "impasse.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "safelaunch/base/format.h"

namespace safelaunch::run {
namespace {

constexpr std::string_view kStopped = "stopped";

// The innermost frame of the main thread: threads come one after the other, frames indented.
std::string_view innermost(std::string_view stack) {
  std::string_view last;
  stack.remove_prefix(std::min(stack.find('\n'), stack.size()));
  while (stack.starts_with("\n  ")) {
    stack.remove_prefix(1);
    last = stack.substr(0, stack.find('\n'));
    stack.remove_prefix(last.size());
  }
  return last;
}

bool is_communication(std::string_view frame) {
  constexpr std::array<std::string_view, 5> kLibraries{"/torch/", "/jax/", "/jaxlib/", "/nccl/",
                                                       "/cupy"};
  return std::ranges::any_of(kLibraries, [&](std::string_view library) {
    return frame.find(library) != std::string_view::npos;
  });
}

// Empty: a profile may change what it does there, or it cannot be seen.
std::string place_of(const MissingRank& missing) {
  if (missing.activity == Activity::stopped) return std::string(kStopped);
  const std::string_view frame = innermost(missing.stack);
  const bool own = !missing.inside && !frame.empty() && !is_communication(frame);
  return own ? missing.where : std::string();
}

}  // namespace

std::optional<Impasse> impasse_of(const diagnose::Evidence& evidence,
                                  const diagnose::Diagnosis& diagnosis) {
  if (!is_hang(evidence.failure.kind) || evidence.failure.missing.empty()) return std::nullopt;
  Impasse impasse{diagnosis.failure.cause, evidence.failure.stage.value_or(Stage::spawned), {}};
  for (const MissingRank& missing : evidence.failure.missing) {
    std::string place = place_of(missing);
    if (place.empty()) return std::nullopt;
    impasse.places[missing.rank] = std::move(place);
  }
  return impasse;
}

std::string describe_again(const Impasse& impasse) {
  const auto& [rank, place] = *impasse.places.begin();
  std::string text = place == kStopped
                         ? fmt::format("rank {} is stopped again", rank.value)
                         : fmt::format("rank {} stands in {} again", rank.value, place);
  if (const std::size_t others = impasse.places.size() - 1; others > 0)
    text += fmt::format(", {} other{} likewise", others, others == 1 ? "" : "s");
  return text;
}

}  // namespace safelaunch::run
