#include "safelaunch/ranks/lock_waits.h"

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/ranks/rank_questions.h"
#include "safelaunch/watch/rank_state.h"

// Programs wait for a lock in two ways. Those that ask again and again (filelock, torch's baton)
// are known by a frame of their stack, in which the hook has put the path; those that block, by the
// kernel's own table.
namespace safelaunch::ranks {
namespace {

std::string holder_of(const LockWait& wait) {
  if (wait.holder)
    return fmt::format("which rank {} (pid {}) holds", wait.holder->value,
                       wait.lock.holder.value_or(0));
  if (wait.lock.holder) return fmt::format("which pid {} holds", *wait.lock.holder);
  return "which no process of this host holds";
}

std::string words_of(const LockWait& wait) {
  const std::string age =
      wait.lock.age ? fmt::format(" ({} old)", describe_duration(*wait.lock.age)) : "";
  return fmt::format("the lock {}{}, {}", printable(wait.lock.path), age, holder_of(wait));
}

std::map<Rank, std::string> paths_awaited(const RankAnswers& answers) {
  std::map<Rank, std::string> paths;
  for (const auto& [rank, stack] : answers.stacks)
    if (std::string path = lock_path_in(stack.frames); !path.empty()) paths[rank] = std::move(path);
  return paths;
}

std::vector<int> pids_of(const std::map<Rank, std::string>& waiting,
                         const std::map<Rank, watch::RankState>& ranks) {
  std::vector<int> pids;
  for (const auto& [rank, path] : waiting)
    if (const auto state = ranks.find(rank); state != ranks.end() && state->second.process())
      pids.push_back(state->second.process()->pid);
  return pids;
}

std::optional<Rank> rank_with(int pid, const std::map<Rank, watch::RankState>& ranks) {
  const auto found = std::ranges::find_if(ranks, [&](const auto& one) {
    return one.second.alive() && one.second.process()->is_here() &&
           one.second.process()->pid == pid;
  });
  return found == ranks.end() ? std::nullopt : std::optional(found->first);
}

}  // namespace

std::string lock_path_in(std::string_view frames) {
  constexpr std::string_view kBegin = "(lock=";
  constexpr std::string_view kBlank = "\\040";
  const std::size_t begin = frames.find(kBegin);
  if (begin == std::string_view::npos) return {};
  frames.remove_prefix(begin + kBegin.size());
  std::string path(frames.substr(0, frames.find('\n')));
  if (path.ends_with(')')) path.pop_back();
  for (std::size_t at = path.find(kBlank); at != std::string::npos; at = path.find(kBlank, at))
    path.replace(at, kBlank.size(), " ");
  return path;
}

LockWaits find_lock_waits(const RankAnswers& answers,
                          const std::map<Rank, watch::RankState>& ranks) {
  LockWaits waits;
  const std::map<Rank, std::string> paths = paths_awaited(answers);
  const auto is_here = [](const watch::RankState& rank) {
    return rank.alive() && rank.process()->is_here();
  };
  if (paths.empty() && std::ranges::none_of(ranks, [&](const auto& one) {
        return is_here(one.second) && host::may_wait_for_lock(one.second.process()->pid);
      }))
    return waits;
  const std::vector<host::FileLock> locks = host::read_file_locks();
  for (const auto& [rank, state] : ranks) {
    if (!is_here(state)) continue;
    const auto path = paths.find(rank);
    std::optional<host::AwaitedLock> lock =
        path == paths.end()
            ? host::lock_that_blocks(state.process()->pid, locks)
            : std::optional(host::lock_at(path->second, locks, pids_of(paths, ranks)));
    if (!lock) continue;
    LockWait& wait = waits[rank];
    if (lock->holder) wait.holder = rank_with(*lock->holder, ranks);
    wait.lock = std::move(*lock);
  }
  return waits;
}

std::string describe(const LockWaits& waits) {
  std::vector<AlikeRanks> parts;
  for (const auto& [rank, wait] : waits) add_alike(parts, rank, words_of(wait));
  std::vector<std::string> words;
  for (const AlikeRanks& part : parts)
    words.push_back(fmt::format("{} {} for {}", rank_list(part.ranks),
                                part.ranks.size() == 1 ? "waits" : "wait", part.words));
  return join(words, "; ");
}

}  // namespace safelaunch::ranks
