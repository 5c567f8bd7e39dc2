#include "safelaunch/base/failure.h"

#include <algorithm>
#include <array>

#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"

/// The kind decides the sentence. A hang is told by who is missing and who waits, a death by the
/// rank's end, a contradiction by its proof; any other kind by its name alone.
namespace safelaunch {
namespace {

constexpr std::array kKinds{FailureKind::failed,         FailureKind::rank_died,
                            FailureKind::raised,         FailureKind::world_size_mismatch,
                            FailureKind::duplicate_rank, FailureKind::different_stores,
                            FailureKind::not_started,    FailureKind::hung,
                            FailureKind::stood_still,    FailureKind::driver_silent,
                            FailureKind::stalled,        FailureKind::interrupted,
                            FailureKind::given_up};

std::string describe(const MissingRank& missing) {
  const std::string rank = fmt::format("rank {}", missing.rank.value);
  const std::string how = missing.doing.empty()
                              ? std::string(name(missing.activity))
                              : fmt::format("{}: {}", name(missing.activity), missing.doing);
  return fmt::format("{} {} ({})", rank, missing.inside ? "does not come through" : "is missing",
                     how);
}

const char* stage_of(const Failure& failure) {
  return name(failure.stage.value_or(Stage::spawned));
}

std::string describe_hang(const Failure& failure) {
  std::string text = fmt::format("hung in {}: ", stage_of(failure));
  const std::string further = failure.nccl.empty() ? "" : "; " + failure.nccl;
  if (failure.missing.empty())
    return text + rank_list(failure.waiting) + " all wait, and none comes through" + further;
  const char* separator = "";
  for (const MissingRank& missing : failure.missing) {
    text += separator + describe(missing);
    separator = ", ";
  }
  if (failure.waiting.empty()) return text + further;
  // Whole seconds: a deadline is not met to the millisecond.
  const auto waited = std::chrono::duration_cast<std::chrono::seconds>(failure.waited);
  return text +
         fmt::format(" while {} {} for {}", rank_list(failure.waiting),
                     failure.waiting.size() == 1 ? "has waited" : "have waited",
                     describe_duration(waited)) +
         further;
}

std::string headline(const RankRaised& raised) {
  if (raised.type.empty() || raised.message.empty()) return raised.type + raised.message;
  return raised.type + ": " + raised.message;
}

std::string describe_end(const Failure& failure) {
  std::string text = fmt::format("a rank ended before {}", stage_of(failure));
  if (!failure.missing.empty()) {
    const MissingRank& ended = failure.missing.front();
    text = fmt::format("rank {} ended before {}: {}", ended.rank.value, stage_of(failure),
                       ended.doing);
  }
  if (failure.kind == FailureKind::raised && !failure.raised.empty())
    text += ", " + headline(failure.raised.front());
  return text;
}

}  // namespace

const char* name(FailureKind kind) {
  switch (kind) {
    case FailureKind::failed: return "failed";
    case FailureKind::rank_died: return "rank_died";
    case FailureKind::raised: return "raised";
    case FailureKind::world_size_mismatch: return "world_size_mismatch";
    case FailureKind::duplicate_rank: return "duplicate_rank";
    case FailureKind::different_stores: return "different_stores";
    case FailureKind::not_started: return "not_started";
    case FailureKind::hung: return "hung";
    case FailureKind::stood_still: return "stood_still";
    case FailureKind::driver_silent: return "driver_silent";
    case FailureKind::stalled: return "stalled";
    case FailureKind::interrupted: return "interrupted";
    case FailureKind::given_up: return "given_up";
  }
  return "?";
}

std::optional<FailureKind> failure_kind_named(std::string_view word) {
  for (const FailureKind kind : kKinds)
    if (word == name(kind)) return kind;
  return std::nullopt;
}

bool is_hang(FailureKind kind) {
  return kind == FailureKind::hung || kind == FailureKind::stood_still ||
         kind == FailureKind::driver_silent;
}

bool is_death(FailureKind kind) {
  return kind == FailureKind::rank_died || kind == FailureKind::raised;
}

bool is_stuck(FailureKind kind) {
  return is_hang(kind) || kind == FailureKind::stalled ||
         kind == FailureKind::world_size_mismatch || kind == FailureKind::duplicate_rank ||
         kind == FailureKind::different_stores || kind == FailureKind::not_started;
}

const char* name(Certainty certainty) {
  switch (certainty) {
    case Certainty::guess: return "guess";
    case Certainty::matched: return "matched";
    case Certainty::confirmed: return "confirmed";
  }
  return "";
}

Certainty certainty_named(std::string_view word) {
  for (const Certainty certainty : {Certainty::matched, Certainty::confirmed})
    if (word == name(certainty)) return certainty;
  return Certainty::guess;
}

// Threads come one after the other, the main thread first, and frames are indented.
std::string_view innermost_frame(std::string_view stack) {
  std::string_view last;
  stack.remove_prefix(std::min(stack.find('\n'), stack.size()));
  while (stack.starts_with("\n  ")) {
    stack.remove_prefix(1);
    last = stack.substr(0, stack.find('\n'));
    stack.remove_prefix(last.size());
  }
  return last;
}

bool is_timeout(const RankRaised& raised) {
  constexpr std::array<std::string_view, 5> kWords{"imed out", "imeout", "DEADLINE_EXCEEDED",
                                                   "clients joined", "failed to pass monitored"};
  return raised.communication && std::ranges::any_of(kWords, [&](std::string_view words) {
           return raised.message.find(words) != std::string::npos;
         });
}

std::vector<Rank> ranks_of(const std::vector<MissingRank>& missing) {
  std::vector<Rank> ranks;
  for (const MissingRank& one : missing) ranks.push_back(one.rank);
  return ranks;
}

std::string describe(const Failure& failure) {
  switch (failure.kind) {
    case FailureKind::hung: return describe_hang(failure);
    case FailureKind::rank_died:
    case FailureKind::raised: return describe_end(failure);
    case FailureKind::world_size_mismatch:
    case FailureKind::duplicate_rank:
    case FailureKind::different_stores:
    case FailureKind::not_started:
    case FailureKind::stood_still:
    case FailureKind::driver_silent:
    case FailureKind::stalled: return failure.proof;
    case FailureKind::failed:
    case FailureKind::interrupted:
    case FailureKind::given_up: break;
  }
  return name(failure.kind);
}

}  // namespace safelaunch
