#include "rank_place.h"

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

// A stack that Python itself has told stays; the threads of the kernel stand in only where there is
// none. A store is held by whoever listens at its port here, and a rank is at it if it has a
// connection that neither side has closed.
namespace safelaunch::stacks {
namespace {

std::string threads_in_words(const host::ProcessSample& process) {
  std::string text;
  for (const host::ThreadSample& thread : process.threads)
    if (!host::is_housekeeping(thread.comm) || thread.tid == process.facts.id.pid)
      text += fmt::format("thread {} {}: state {}{}\n", thread.tid, thread.comm, thread.state,
                          thread.waits_in.empty() ? "" : " in " + thread.waits_in);
  return text;
}

std::string holder_among(const std::vector<host::PortHolder>& holders,
                         const std::vector<RankPlace>& ranks) {
  for (const host::PortHolder& holder : holders) {
    if (holder.state != host::SocketState::listening) continue;
    if (holder.pid == 0)
      return fmt::format("a process of user {} that we may not see", holder.user);
    const auto rank =
        std::ranges::find(ranks, holder.pid, [](const RankPlace& one) { return one.process.pid; });
    return rank != ranks.end() && rank->rank
               ? fmt::format("rank {} (pid {})", rank->rank->value, holder.pid)
               : fmt::format("pid {} ({})", holder.pid, holder.command);
  }
  return {};
}

}  // namespace

RankPlace place_of(const KnownRank& known) {
  return {.rank = known.rank,
          .process = known.process,
          .command = {},
          .standing = known.standing,
          .where = known.where,
          .frames = known.frames,
          .teller = known.where.empty()  ? Teller::nobody
                    : known.from_outside ? Teller::safelaunch
                                         : Teller::hook,
          .collectives = known.collectives,
          .doing = {}};
}

void tell_doing(RankPlace& place, const host::TreeSample& before, const host::TreeSample& after) {
  if (before.processes.empty() || after.processes.empty()) {
    place.doing = "has ended";
    return;
  }
  const host::ActivitySeen seen = host::classify(before, after);
  place.doing = seen.doing.empty() ? name(seen.activity)
                                   : fmt::format("{}: {}", name(seen.activity), seen.doing);
  if (place.frames.empty()) place.frames = threads_in_words(after.processes.front());
}

Meeting meeting_at(const std::string& master) {
  const std::size_t colon = master.rfind(':');
  if (colon == std::string::npos) return {master, 0};
  return {master.substr(0, colon),
          to_number<std::uint16_t>(std::string_view(master).substr(colon + 1)).value_or(0)};
}

StorePlace store_of(const std::string& master, const StoreSeen& seen,
                    const std::vector<RankPlace>& ranks) {
  StorePlace store{
      master, seen.leads_here ? holder_among(seen.holders, ranks) : "another host", {}, {}};
  for (const RankPlace& rank : ranks)
    if (rank.rank)
      (seen.connected.contains(rank.process.pid) ? store.connected : store.apart)
          .push_back(*rank.rank);
  return store;
}

}  // namespace safelaunch::stacks
