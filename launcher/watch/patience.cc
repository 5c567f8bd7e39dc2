#include "safelaunch/watch/patience.h"

// The rank's activity decides first, and the stage only where the activity leaves the answer open.
// A calm state counts from when it began, or from the clock's start if that is later, so nobody is
// blamed for rest before anybody waited. A rank that is out of sight in NCCL is never called quiet.
namespace safelaunch::watch {
namespace {

// torchrun looks at its workers ten times a second, deepspeed once.
constexpr Duration kLauncherEndsTheJob{2'500};

std::optional<TimePoint> after(TimePoint since, Duration limit) {
  if (limit == Duration::zero()) return std::nullopt;
  return since + limit;
}

std::optional<TimePoint> earlier(std::optional<TimePoint> a, std::optional<TimePoint> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// Nothing tells what a rank without a hook does in these stages: it may stand in the collective
// like the others.
bool out_of_sight(const RankState& rank, Stage stage) {
  return rank.blind() && stage >= Stage::communicator;
}

Patience patience_with_dead(const RankState& rank, Stage stage, TimePoint since,
                            const StageLimits& limits) {
  const TimePoint ended = std::max(since, rank.ended_at().value_or(since));
  if (rank.failed())
    return {limits.reaction == Duration::zero() ? since : ended + limits.reaction, true};
  // It ended in order and may have done its part where nobody could see it: ranks that come through
  // together end one after the other, however long they had waited for each other before.
  if (rank.blind()) return {after(ended, limits.quiet), true};
  // The rank entered the stage and its status is unknown. It may have succeeded, and the other
  // ranks' reports may still be on their way.
  if (rank.entered(stage)) return {after(ended, limits.news), true};
  // The world's group needs every rank. A group of some ranks does not: a rank at work outside it
  // may have nothing to do with it.
  if (stage >= Stage::communicator) return {after(since, limit_of(stage, limits)), false};
  // A launcher whose rank has failed ends the job by itself, and knows the rank's status.
  if (!rank.status()) return {ended + kLauncherEndsTheJob, true};
  return {since, true};
}

}  // namespace

Duration limit_of(Stage stage, const StageLimits& limits) {
  return stage == Stage::collective ? limits.collective : limits.init;
}

Patience patience_with(const RankState& rank, Stage stage, TimePoint since, TimePoint now,
                       const StageLimits& limits) {
  const Duration limit = limit_of(stage, limits);
  const auto calm = [&](Activity activity) {
    return std::max(since, rank.calm_since(activity).value_or(since));
  };
  switch (rank.activity(now)) {
    case Activity::dead: return patience_with_dead(rank, stage, since, limits);
    case Activity::stopped: return {after(calm(Activity::stopped), limits.stopped), true};
    case Activity::quiet:
      if (out_of_sight(rank, stage)) return {after(calm(Activity::idling), limit), false};
      // A quiet rank is idle as well, perhaps for longer.
      return {
          earlier(after(calm(Activity::quiet), limits.quiet), after(calm(Activity::idling), limit)),
          false};
    case Activity::idling: return {after(calm(Activity::idling), limit), false};
    case Activity::working: return {after(since, limits.work), false};
    case Activity::attended: return {std::nullopt, false};
    // It may be at work for all that can be known here.
    case Activity::unseen: return {after(since, limits.work), false};
  }
  return {};
}

}  // namespace safelaunch::watch
