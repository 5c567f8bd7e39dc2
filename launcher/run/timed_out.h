#pragma once

#include "attempt_record.h"

// A job's own timeout may end a wait before safelaunch's does: then it failed by itself, and yet of
// a rank that did not come.
namespace safelaunch::run {

/// Whose timeout ended the job: a rank's, or without one that of a server, which kills all of them.
struct GaveUp {
  std::optional<Rank> rank;
};

/// Who gave up: by an exception that nobody caught, by torch's watchdog, which aborts, or by
/// SGLang's. None where anything had failed before.
[[nodiscard]] std::optional<GaveUp> gave_up(const AttemptRecord& record);

/// The wait that a rank has given up, with the places of those it was for, as they answered. None
/// where all had come: then the way between them is at fault, and what they printed tells more.
[[nodiscard]] std::optional<Failure> as_answered(Failure wait, const ranks::RankAnswers& answers);

/// The record as if the watch had ended the wait of which the job failed; none where it failed of
/// something else.
[[nodiscard]] std::optional<AttemptRecord> as_a_hang(AttemptRecord record);

/// What the ranks' life before this one ended of, where this one has come to nothing.
[[nodiscard]] std::optional<Failure> wait_before(const AttemptRecord& record);

}  // namespace safelaunch::run
