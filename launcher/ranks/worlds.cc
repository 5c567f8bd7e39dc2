#include "safelaunch/ranks/worlds.h"

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

// The place where a world meets decides. A rank that has entered a world has shown its own; of one
// that has entered none yet, MASTER_PORT of its environment is what its launcher gave it. Hosts are
// spelled in many ways, so of an address the port alone is compared.
namespace safelaunch::ranks {
namespace {

// A rank tells some dozen events until it trains.
constexpr std::size_t kMostHeld = 64;

// Worlds come and go in a search of a thousand trials; a hostile job must not fill the memory.
constexpr std::size_t kMostWorlds = 4096;

int port_of(const std::string& place) {
  if (place.starts_with("file:")) return 0;
  const auto colon = place.rfind(':');
  return colon == std::string::npos ? 0 : to_number(place.substr(colon + 1)).value_or(0);
}

// ":29500" of whatever host, or "file:/shared/init".
std::string without_host(const std::string& place) {
  return port_of(place) == 0 ? place : fmt::format(":{}", port_of(place));
}

std::string place_in(const StageEntered& event) {
  return without_host(event.stage == Stage::rendezvous ? event.detail : event.meets);
}

bool begins_to_meet(const StageEntered* event) {
  return event != nullptr && event->source == Source::hook &&
         (event->stage == Stage::group || event->stage == Stage::rendezvous);
}

bool has_entered(ProcessId process, const watch::Stages& stages) {
  const auto rank = stages.rank_of(process);
  return rank && stages.ranks().at(*rank).evidence() == watch::RankEvidence::entered;
}

}  // namespace

bool Worlds::wants_line(ProcessId process, const Event& event, const watch::Stages& stages) {
  if (const auto* started = std::get_if<RankStarted>(&event)) return started->anew;
  return begins_to_meet(std::get_if<StageEntered>(&event)) && !has_entered(process, stages);
}

std::vector<Event> Worlds::sort(ProcessId process, const Event& event,
                                std::span<const watch::ProcessOfRank> line,
                                const watch::Stages& stages) {
  const auto* started = std::get_if<RankStarted>(&event);
  const auto* entered = std::get_if<StageEntered>(&event);
  std::optional<Below> place;
  if (started != nullptr && started->anew) {
    below_.erase(process);
    place = place_of(*started, line);
  } else if (begins_to_meet(entered) && !has_entered(process, stages)) {
    // A process is in one world at a time.
    if (entered->stage == Stage::group) below_.erase(process);
    if (!below_.contains(process)) place = place_of(*entered, line, stages);
  }
  if (place) below_.emplace(process, *place);
  const auto known = below_.find(process);
  if (known == below_.end()) return {event};
  follow(known->second, event);
  if (place) judge(known->second);
  const auto kind = kinds_.find(known->second.meets);
  if (kind == kinds_.end() || kind->second != Kind::launchers) return {};
  return release(kind->first);
}

// The topmost process that was made a rank inside the job.
const watch::ProcessOfRank* Worlds::rank_above(std::span<const watch::ProcessOfRank> line) const {
  const watch::ProcessOfRank* found = nullptr;
  for (const watch::ProcessOfRank& one : line.subspan(std::min<std::size_t>(1, line.size())))
    if (one.identity && one.identity != outer_) found = &one;
  return found;
}

std::optional<Worlds::Below> Worlds::place_of(const StageEntered& event,
                                              std::span<const watch::ProcessOfRank> line,
                                              const watch::Stages& stages) const {
  const std::string meets = place_in(event);
  Below below{.number = event.rank, .meets = meets, .world_size = event.world_size};
  for (const watch::ProcessOfRank& one : line) {
    if (one.process == event.process || !has_entered(one.process, stages)) continue;
    below.rank = *stages.rank_of(one.process);
    below.above = one.process;
    below.above_has_met = true;
    const std::string store = without_host(stages.ranks().at(below.rank).store);
    const bool meets_with_it = meets.empty() || store.empty() || store == meets;
    // Another number at the same place is another rank of the same world; the same number is a
    // child that has inherited it.
    if (meets_with_it && below.number != below.rank) return std::nullopt;
    return below;
  }
  const watch::ProcessOfRank* above = rank_above(line);
  if (above == nullptr || meets.empty() || above->store_port == 0) return std::nullopt;
  if (port_of(meets) == above->store_port) return std::nullopt;
  below.above = above->process;
  below.rank = above->identity->rank;
  return below;
}

// Before it meets anybody a process below a rank may be its helper, or what a wrapper has started.
// One that was given another number, and another store, is in a world of its own.
std::optional<Worlds::Below> Worlds::place_of(const RankStarted& event,
                                              std::span<const watch::ProcessOfRank> line) const {
  const watch::ProcessOfRank* above = rank_above(line);
  if (above == nullptr || above->store_port == 0 || line.front().store_port == 0 ||
      above->store_port == line.front().store_port || above->identity == line.front().identity)
    return std::nullopt;
  return Below{.above = above->process,
               .rank = above->identity->rank,
               .number = event.rank,
               .meets = fmt::format(":{}", line.front().store_port),
               .world_size = event.world_size};
}

// The launcher's world has one process below each of its ranks, with the rank's number; but a rank
// that has met the others itself needs none there.
void Worlds::judge(const Below& newest) {
  if (kinds_.size() >= kMostWorlds && !kinds_.contains(newest.meets)) return;
  Kind& kind = kinds_[newest.meets];
  if (kind != Kind::open) return;
  if (newest.number != newest.rank || newest.above_has_met) kind = Kind::below;
  for (const auto& [process, other] : below_) {
    if (&other == &newest || other.meets != newest.meets || kind == Kind::below) continue;
    kind = other.above == newest.above ? Kind::below : Kind::launchers;
  }
  if (kind != Kind::below) return;
  for (auto& [process, one] : below_)
    if (one.meets == newest.meets) one.held.clear();
}

std::vector<Event> Worlds::release(const std::string& meets) {
  std::vector<Event> events;
  std::erase_if(below_, [&](auto& one) {
    if (one.second.meets != meets) return false;
    std::ranges::move(one.second.held, std::back_inserter(events));
    return true;
  });
  return events;
}

void Worlds::follow(Below& one, const Event& event) {
  if (const auto* entered = std::get_if<StageEntered>(&event)) one.waits.insert(entered->stage);
  if (const auto* reached = std::get_if<StageReached>(&event)) {
    std::erase_if(one.waits, [&](Stage stage) { return stage <= reached->stage; });
    trained_ = trained_ || reached->stage == Stage::collective;
  }
  const auto kind = kinds_.find(one.meets);
  const bool is_open = kind == kinds_.end() || kind->second != Kind::below;
  if (is_open && one.held.size() < kMostHeld) one.held.push_back(event);
}

void Worlds::ended(ProcessId process) {
  below_.erase(process);
}

std::string Worlds::words(Rank rank) const {
  std::map<std::string, std::vector<const Below*>> worlds;
  std::map<const Below*, int> pids;
  for (const auto& [process, one] : below_) {
    if (one.rank != rank) continue;
    worlds[one.meets].push_back(&one);
    pids[&one] = process.pid;
  }
  std::string text;
  for (const auto& [place, members] : worlds) {
    const auto waits = [](const Below* one) { return !one->waits.empty(); };
    if (std::ranges::none_of(members, waits)) continue;
    text += fmt::format("{}in a world below it", text.empty() ? "" : "; ");
    for (const Below* one : members)
      text +=
          fmt::format("{} rank {} (pid {}) {}", one == members.front() ? "" : " and",
                      one->number.value, pids[one],
                      one->waits.empty() ? "has not come"
                                         : fmt::format("waits in {}", name(*one->waits.rbegin())));
  }
  return text;
}

}  // namespace safelaunch::ranks
