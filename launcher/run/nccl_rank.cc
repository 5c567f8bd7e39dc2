#include "nccl_rank.h"

#include <charconv>

#include "safelaunch/host/process_facts.h"

namespace safelaunch::run {
namespace {

// RANK of a process that was started with this value of NCCL_DEBUG_FILE.
std::optional<Rank> rank_by_environment(int pid, std::string_view log_file) {
  const auto environment = host::environment_of(pid);
  if (!environment || value_or(*environment, "NCCL_DEBUG_FILE") != log_file) return std::nullopt;
  const std::string_view word = value_or(*environment, "RANK");
  int rank = 0;
  const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), rank);
  if (error != std::errc() || stop != word.data() + word.size() || rank < 0) return std::nullopt;
  return Rank{rank};
}

std::optional<Rank> rank_by_process(const ProcessId& process, const KnownRanks& known) {
  for (const auto* told : {&known.hooked, &known.plugged})
    if (const auto found = told->find(process); found != told->end()) return found->second;
  for (const auto& [rank, state] : known.stages.ranks())
    if (state.process() == process) return rank;
  return std::nullopt;
}

std::optional<RankStarted> rank_by_part(const ProcessId& process, const nccl::Part& part,
                                        const watch::Stages& stages) {
  const int world = stages.world_size();
  if (world > 0 && world != part.ranks) return std::nullopt;
  RankStarted found{Rank{part.rank}, process, part.ranks, Source::nccl_log};
  const auto known = stages.ranks().find(found.rank);
  if (known != stages.ranks().end() && known->second.alive())
    found.process = *known->second.process();
  return found;
}

}  // namespace

std::optional<RankStarted> rank_of(const nccl::ProcessName& who,
                                   const std::optional<nccl::Part>& part, const KnownRanks& known) {
  const auto facts = host::facts_of(who.pid);
  const ProcessId process = facts ? facts->id : ProcessId{who.pid, 0};
  auto rank = rank_by_process(process, known);
  if (!rank) rank = rank_by_environment(who.pid, known.log_file);
  if (rank) return RankStarted{*rank, process, std::nullopt, Source::nccl_log};
  return part ? rank_by_part(process, *part, known.stages) : std::nullopt;
}

}  // namespace safelaunch::run
