#include "safelaunch/stacks/place.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/base/strings.h"

// Ranks are grouped by their place in the code and their standing; only where no stack is known
// does the kernel's word part them, since ranks at one line may sleep in different calls.
namespace safelaunch::stacks {
namespace {

using Json = nlohmann::ordered_json;

// If many processes stand at one place, a few pids tell which to look at.
constexpr std::size_t kMostPids = 8;

std::string pids_of(const std::vector<const RankPlace*>& places) {
  std::string text = places.size() == 1 ? "pid" : "pids";
  for (std::size_t i = 0; i < std::min(places.size(), kMostPids); ++i)
    text += fmt::format(" {}", places[i]->process.pid);
  if (places.size() > kMostPids) text += fmt::format(" and {} more", places.size() - kMostPids);
  return text;
}

std::string who_stands(const std::vector<const RankPlace*>& places) {
  std::vector<Rank> ranks;
  for (const RankPlace* place : places)
    if (place->rank) ranks.push_back(*place->rank);
  if (ranks.empty()) return fmt::format("{} ({})", pids_of(places), places.front()->command);
  std::ranges::sort(ranks);
  return fmt::format("{} ({})", rank_list(ranks), pids_of(places));
}

// Ranks at one place in their code may be seen asleep in different calls of the kernel.
constexpr std::size_t kMostDoings = 2;

struct Group {
  std::string key;
  std::vector<const RankPlace*> places;
};

/// Ranks with one key stand at the same place: in their code, where that is known. Processes
/// without a rank are told by their commands, so only equal ones stand together.
std::string key_of(const RankPlace& place) {
  const std::string& what = place.where.empty() ? place.doing : place.where;
  return fmt::format("{}\n{}\n{}", what, place.standing, place.rank ? "" : place.command);
}

/// "31 collectives finished", "31 to 32 collectives finished".
std::string collectives_of(const Group& group) {
  std::vector<std::int64_t> counts;
  for (const RankPlace* place : group.places)
    if (place->collectives) counts.push_back(*place->collectives);
  if (counts.empty()) return {};
  const auto [least, most] = std::ranges::minmax(counts);
  const std::string range = least == most ? "" : fmt::format("{} to ", least);
  return fmt::format("{}{} collective{} finished", range, most, most == 1 ? "" : "s");
}

std::string words_of(const Group& group) {
  const RankPlace& first = *group.places.front();
  std::vector<std::string> words;
  if (!first.where.empty()) words.push_back(tr("in {}", first.where));
  if (!first.standing.empty()) words.push_back(tr(first.standing));
  if (const std::string counted = collectives_of(group); !counted.empty())
    words.push_back(tr(counted));
  std::vector<std::string> doings;
  for (const RankPlace* place : group.places)
    if (!place->doing.empty() && std::ranges::find(doings, tr(place->doing)) == doings.end())
      doings.push_back(tr(place->doing));
  if (doings.size() > kMostDoings) doings.resize(kMostDoings);
  if (!doings.empty()) words.push_back(join(doings, tr(" or ")));
  return words.empty() ? tr("nothing is known of it") : join(words, tr("; "));
}

std::vector<Group> together(const std::vector<RankPlace>& ranks) {
  std::vector<Group> groups;
  for (const RankPlace& place : ranks) {
    const std::string key = key_of(place);
    const auto found = std::ranges::find(groups, key, &Group::key);
    if (found == groups.end())
      groups.push_back({key, {&place}});
    else
      found->places.push_back(&place);
  }
  return groups;
}

std::string render_store(const StorePlace& store) {
  std::string text = fmt::format("store {}", store.address);
  text += store.holder.empty() ? ": nobody on this host listens there"
                               : fmt::format(", held by {}", store.holder);
  if (!store.connected.empty()) text += fmt::format("; connected: {}", rank_list(store.connected));
  if (!store.apart.empty()) text += fmt::format("; not connected: {}", rank_list(store.apart));
  return text;
}

/// The ranks of the world that no process here is.
std::string render_absent(const JobPlaces& job) {
  std::set<Rank> here;
  for (const RankPlace& one : job.ranks)
    if (one.rank) here.insert(*one.rank);
  std::vector<Rank> absent;
  for (int rank = 0; rank < job.world; ++rank)
    if (!here.contains(Rank{rank})) absent.push_back(Rank{rank});
  if (absent.empty() || here.empty()) return {};
  return "  " +
         tr(fmt::format("{} of {}: on no process of this host", rank_list(absent), job.world)) +
         "\n";
}

}  // namespace

const char* name(Teller teller) {
  switch (teller) {
    case Teller::nobody: return "nobody";
    case Teller::hook: return "hook";
    case Teller::py_spy: return "py-spy";
    case Teller::safelaunch: return "safelaunch";
  }
  return "nobody";
}

namespace {

std::string render_rest(const JobPlaces& job) {
  std::string text = render_absent(job);
  for (const StorePlace& store : job.stores) text += fmt::format("  {}\n", tr(render_store(store)));
  for (const std::string& note : job.notes) text += fmt::format("  {}\n", tr(note));
  return text;
}

std::string render(const TreeProcess& process, const RankPlace* rank) {
  std::string text = fmt::format("  {:{}}{} {} {:>3} % ", "", 2 * process.depth, process.pid,
                                 process.state, process.cpu);
  if (rank == nullptr) return text + process.command + "\n";
  if (rank->rank) text += fmt::format("rank {} ", rank->rank->value);
  return text + fmt::format("({}): {}\n", process.command, words_of({{}, {rank}}));
}

}  // namespace

std::string render_tree(const JobPlaces& job) {
  std::string text = tr(job.title) + "\n";
  for (const TreeProcess& process : job.tree) {
    const auto rank = std::ranges::find(job.ranks, process.pid,
                                        [](const RankPlace& one) { return one.process.pid; });
    text += render(process, rank == job.ranks.end() ? nullptr : &*rank);
  }
  return text + render_rest(job);
}

std::string render(const JobPlaces& job, bool whole) {
  std::string text = tr(job.title) + "\n";
  for (const Group& group : together(job.ranks)) {
    text += fmt::format("  {}: {}\n", tr(who_stands(group.places)), words_of(group));
    if (!whole) continue;
    for (const RankPlace* place : group.places) {
      if (place->frames.empty()) continue;
      if (group.places.size() > 1) text += fmt::format("    pid {}\n", place->process.pid);
      std::string_view rest = place->frames;
      while (!rest.empty()) text += fmt::format("    {}\n", stack_line(take_word(rest, '\n')));
    }
  }
  return text + render_rest(job);
}

std::string places_json(std::span<const JobPlaces> jobs) {
  const auto numbers = [](const std::vector<Rank>& ranks) {
    Json list = Json::array();
    for (const Rank rank : ranks) list.push_back(rank.value);
    return list;
  };
  Json all = Json::array();
  for (const JobPlaces& job : jobs) {
    Json entry{{"job", job.title}, {"world_size", job.world}, {"ranks", Json::array()}};
    for (const RankPlace& one : job.ranks) {
      Json rank{{"pid", one.process.pid}, {"command", one.command},   {"where", one.where},
                {"doing", one.doing},     {"standing", one.standing}, {"teller", name(one.teller)},
                {"frames", one.frames}};
      if (one.rank) rank["rank"] = one.rank->value;
      if (one.collectives) rank["collectives"] = *one.collectives;
      entry["ranks"].push_back(std::move(rank));
    }
    entry["stores"] = Json::array();
    for (const StorePlace& store : job.stores)
      entry["stores"].push_back({{"address", store.address},
                                 {"holder", store.holder},
                                 {"connected", numbers(store.connected)},
                                 {"not_connected", numbers(store.apart)}});
    entry["notes"] = job.notes;
    for (const TreeProcess& one : job.tree)
      entry["tree"].push_back({{"pid", one.pid},
                               {"depth", one.depth},
                               {"state", std::string(1, one.state)},
                               {"cpu", one.cpu},
                               {"command", one.command}});
    all.push_back(std::move(entry));
  }
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace safelaunch::stacks
