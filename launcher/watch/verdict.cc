#include "safelaunch/watch/verdict.h"

#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"

namespace safelaunch {
namespace {

std::string describe(const Suspect& suspect) {
  const std::string rank = fmt::format("rank {}", suspect.rank.value);
  const std::string how = suspect.doing.empty()
                              ? std::string(name(suspect.activity))
                              : fmt::format("{}: {}", name(suspect.activity), suspect.doing);
  return fmt::format("{} {} ({})", rank, suspect.inside ? "does not come through" : "is missing",
                     how);
}

std::string describe_hang(const Verdict& verdict) {
  std::string text = fmt::format("hung in {}: ", name(verdict.stage));
  const std::string further = verdict.nccl.empty() ? "" : "; " + verdict.nccl;
  if (verdict.suspects.empty())
    return text + rank_list(verdict.waiting) + " all wait, and none comes through" + further;
  const char* separator = "";
  for (const Suspect& suspect : verdict.suspects) {
    text += separator + describe(suspect);
    separator = ", ";
  }
  if (verdict.waiting.empty()) return text + further;
  // Whole seconds: a deadline is not met to the millisecond.
  const auto waited =
      std::chrono::duration_cast<std::chrono::seconds>(verdict.suspects.front().waited_for);
  return text +
         fmt::format(" while {} {} for {}", rank_list(verdict.waiting),
                     verdict.waiting.size() == 1 ? "has waited" : "have waited",
                     describe_duration(waited)) +
         further;
}

std::string describe_end(const Verdict& verdict) {
  const Suspect& suspect = verdict.suspects.front();
  std::string text = fmt::format("rank {} ended before {}: {}", suspect.rank.value,
                                 name(verdict.stage), suspect.doing);
  if (verdict.kind == Verdict::Kind::raised) text += ", " + verdict.texts.front();
  return text;
}

}  // namespace

const char* name(Verdict::Kind kind) {
  switch (kind) {
    case Verdict::Kind::hung: return "hung";
    case Verdict::Kind::rank_died: return "rank_died";
    case Verdict::Kind::raised: return "raised";
    case Verdict::Kind::world_size_mismatch: return "world_size_mismatch";
    case Verdict::Kind::duplicate_rank: return "duplicate_rank";
    case Verdict::Kind::stood_still: return "stood_still";
    case Verdict::Kind::driver_silent: return "driver_silent";
    case Verdict::Kind::stalled: return "stalled";
  }
  return "?";
}

bool is_stuck(const Verdict& verdict) {
  return verdict.kind != Verdict::Kind::rank_died && verdict.kind != Verdict::Kind::raised;
}

std::string describe(const Verdict& verdict) {
  switch (verdict.kind) {
    case Verdict::Kind::hung: return describe_hang(verdict);
    case Verdict::Kind::rank_died:
    case Verdict::Kind::raised: return describe_end(verdict);
    case Verdict::Kind::world_size_mismatch:
    case Verdict::Kind::duplicate_rank:
    case Verdict::Kind::stood_still:
    case Verdict::Kind::driver_silent:
    case Verdict::Kind::stalled: return verdict.texts.front();
  }
  return {};
}

}  // namespace safelaunch
