#pragma once

#include <filesystem>

namespace safelaunch::run {

/// Gives the files in which torchrun keeps the output of local ranks (`logs`/RUN/attempt_0/3/
/// stdout.log, of the last of its restarts) the names of our own in `directory`, rank-3.out and
/// rank-3.err, as hard links. What is silent has none, and a name that is taken stays as it is.
void link_rank_files(const std::filesystem::path& logs, const std::filesystem::path& directory);

}  // namespace safelaunch::run
