#pragma once

#include <map>

#include "safelaunch/stacks/place.h"
#include "safelaunch/stacks/question.h"

/// A look at the ranks of a job that runs now. It reads /proc, the socket table and, by py-spy,
/// Pythons; it stops, signals and changes nothing.
namespace safelaunch::stacks {

/// The job that `safelaunch` runs as this process. `answer` is the word of that safelaunch, whose
/// ranks and stacks are then taken; without it the ranks are those that the environments below it
/// name.
[[nodiscard]] JobPlaces look_at_run(std::string title, ProcessId safelaunch,
                                    const std::optional<SupervisorAnswer>& answer);

/// The processes of the ranks below a process, as their environments name them.
[[nodiscard]] std::map<Rank, ProcessId> ranks_below(ProcessId root);

/// The job of a process, be it a launcher, or a rank (then all ranks that meet at the same place).
/// Nothing is told of a process that is gone or another user's.
[[nodiscard]] JobPlaces look_at_process(int pid);

/// All jobs of this user: the processes with RANK in their environment, by the place at which they
/// meet.
[[nodiscard]] std::vector<JobPlaces> look_at_all();

}  // namespace safelaunch::stacks
