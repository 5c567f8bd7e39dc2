#include "safelaunch/nodes/mesh.h"

#include <algorithm>
#include <set>
#include <utility>

#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/time.h"

// A finding needs a way that the job will use, and that somebody has tried. The findings are asked
// one after the other: doors that are cut, then routes, then the master's name, then slow ways and
// clocks, which are judged by the middle of all nodes. A remedy names an interface only where every
// node has it and every try on it came through.
namespace safelaunch::nodes {
namespace {

using std::chrono::microseconds;

// All ways between so many nodes are measured.
constexpr int kSmallJob = 16;
// More lines of one kind make the screen no clearer.
constexpr std::size_t kMostLines = 4;
constexpr std::size_t kMostAskers = 3;
// Within a data centre a way takes well below a millisecond.
constexpr microseconds kSlow{5'000};
constexpr int kTimesSlower = 10;
constexpr microseconds kClocksDiffer{1'000'000};

constexpr const char* kMaster = "which leads to the ranks' master";

std::string describe(microseconds time) {
  return time < std::chrono::seconds(1)
             ? fmt::format("{:.1f}ms", static_cast<double>(time.count()) / 1e3)
             : describe_duration(std::chrono::duration_cast<Duration>(time));
}

std::string in_words(Way::End end) {
  switch (end) {
    case Way::End::reached: return "it answers";
    case Way::End::no_answer: return "no answer";
    case Way::End::refused: return "connections are refused";
    case Way::End::no_route: return "no route";
    case Way::End::other_host: return "another host has this address";
    case Way::End::unknown: break;
  }
  return "not tried";
}

bool is_cut(const Way& way) {
  return way.end != Way::End::reached && way.end != Way::End::unknown;
}

const Door* door_at(const NodeDoors& doors, const std::string& interface) {
  const auto found = std::ranges::find(doors.doors, interface, &Door::interface);
  return found == doors.doors.end() ? nullptr : &*found;
}

/// How the job uses an interface of a node; empty: as far as we know it does not.
std::string use_of(const Mesh& mesh, int seat, const std::string& interface) {
  if (interface == kMasterDoor) return "where the ranks meet";
  const NodeDoors& doors = mesh.at(seat).doors;
  if (interface == doors.nccl)
    return doors.nccl_named ? "which NCCL_SOCKET_IFNAME names" : "which NCCL takes by itself";
  if (interface == doors.gloo) return "which GLOO_SOCKET_IFNAME names";
  // All ranks meet at node 0. The others are reached on this interface where nothing else is known.
  const bool meets = seat == 0 || (doors.nccl.empty() && doors.gloo.empty());
  return meets && interface == doors.meets ? kMaster : "";
}

/// Each way that was tried, and is of a node that we know.
void each_way(const Mesh& mesh, auto&& visit) {
  for (const auto& [from, node] : mesh)
    if (node.ways)
      for (const Way& way : *node.ways)
        if (mesh.contains(way.seat) && way.seat != from &&
            door_at(mesh.at(way.seat).doors, way.interface) != nullptr)
          visit(from, way);
}

std::string remedy_with(const std::string& common) {
  return fmt::format(
      "{0} works between all nodes: export NCCL_SOCKET_IFNAME=={0} GLOO_SOCKET_IFNAME={0} on each",
      common);
}

// ---- nodes that are not reached -----------------------------------------------------------------

/// One door that others could not reach, and why.
struct CutDoor {
  int seat = 0;
  std::string interface;
  Way::End end = Way::End::unknown;
  auto operator<=>(const CutDoor&) const = default;
};

std::string some_of(const Mesh& mesh, const std::vector<int>& seats) {
  std::vector<std::string> names;
  for (const int seat : seats)
    if (names.size() < kMostAskers) names.push_back(mesh.at(seat).host);
  if (seats.size() == names.size()) return list_in_words(names);
  return fmt::format("{} and {} more", join(names, ", "), seats.size() - names.size());
}

std::string line_of(const Mesh& mesh, const CutDoor& cut, const std::vector<int>& askers) {
  const MeshNode& node = mesh.at(cut.seat);
  const Door& door = *door_at(node.doors, cut.interface);
  const std::string where =
      cut.interface == kMasterDoor ? fmt::format("port {}", door.port) : cut.interface;
  return fmt::format("{} cannot reach {} on {} ({}), {}: {}", some_of(mesh, askers), node.host,
                     where, door.address, use_of(mesh, cut.seat, cut.interface), in_words(cut.end));
}

/// Whether the same node does not reach the address at all: then its ports are not to blame.
bool is_cut_on_every_port(const Mesh& mesh, int from, const Way& way) {
  const NodeDoors& doors = mesh.at(way.seat).doors;
  const std::string& address = door_at(doors, way.interface)->address;
  return std::ranges::any_of(*mesh.at(from).ways, [&](const Way& other) {
    if (other.seat != way.seat || other.interface == way.interface || !is_cut(other)) return false;
    const Door* door = door_at(doors, other.interface);
    return door != nullptr && door->address == address;
  });
}

/// "; there: sudo ufw allow from 10.0.0.2", where that node's tool is known.
std::string typed_there(const std::string& command) {
  return command.empty() ? "" : "; there: " + command;
}

Finding finding_of(const Mesh& mesh, const CutDoor& cut, int asker, const std::string& common,
                   std::string evidence) {
  const Door& door = *door_at(mesh.at(cut.seat).doors, cut.interface);
  const std::string& address = door.address;
  const host::Firewall firewall = mesh.at(cut.seat).doors.firewall;
  const Door* from = door_at(mesh.at(asker).doors, cut.interface);
  if (cut.interface == kMasterDoor)
    return {cause::kConnectFailed, Severity::risk, std::move(evidence),
            fmt::format("let the firewall of {} pass port {}, or take a port that it passes{}",
                        mesh.at(cut.seat).host, door.port,
                        typed_there(host::command_to_pass(firewall, door.port)))};
  if (common.empty())
    return {cause::kConnectFailed, Severity::risk, std::move(evidence),
            fmt::format("`ip route get {}` on {}; let the firewall of {} pass what comes from the "
                        "other nodes{}",
                        address, mesh.at(asker).host, mesh.at(cut.seat).host,
                        typed_there(from == nullptr
                                        ? ""
                                        : host::command_to_pass_from(firewall, from->address)))};
  const bool master = use_of(mesh, cut.seat, cut.interface) == kMaster;
  return {cause::kWrongInterface, Severity::risk, std::move(evidence),
          master && cut.seat == 0
              ? fmt::format("{} works between all nodes: let the ranks meet at {}", common,
                            door_at(mesh.at(0).doors, common)->address)
              : remedy_with(common)};
}

void add_cut_doors(const Mesh& mesh, const std::string& common, std::vector<Finding>& findings) {
  std::map<CutDoor, std::vector<int>> cut;
  each_way(mesh, [&](int from, const Way& way) {
    const bool is_told = way.interface == kMasterDoor && is_cut_on_every_port(mesh, from, way);
    if (is_cut(way) && !is_told && !use_of(mesh, way.seat, way.interface).empty())
      cut[{way.seat, way.interface, way.end}].push_back(from);
  });
  std::size_t left = cut.size();
  for (const auto& [door, askers] : cut) {
    std::string evidence = line_of(mesh, door, askers);
    const bool last = findings.size() + 1 == kMostLines;
    if (last && left > 1) evidence += fmt::format("; {} such ways more", left - 1);
    --left;
    findings.push_back(finding_of(mesh, door, askers.front(), common, std::move(evidence)));
    if (last) return;
  }
}

// ---- the way to the master ----------------------------------------------------------------------

void add_different_routes(const Mesh& mesh, const std::string& common,
                          std::vector<Finding>& findings) {
  std::map<std::string, std::vector<int>> seats_by_interface;
  bool all_named = true;
  for (const auto& [seat, node] : mesh) {
    if (!node.doors.meets.empty()) seats_by_interface[node.doors.meets].push_back(seat);
    all_named = all_named && node.doors.nccl_named;
  }
  if (seats_by_interface.size() < 2 || common.empty() || all_named || !findings.empty()) return;
  std::string evidence = "the way to the ranks' master leads";
  const char* separator = "";
  for (const auto& [interface, seats] : seats_by_interface) {
    evidence += fmt::format("{} over {} on {}", separator, interface, some_of(mesh, seats));
    separator = ",";
  }
  findings.push_back(
      {cause::kWrongInterface, Severity::risk, std::move(evidence), remedy_with(common)});
}

// ---- the master's name --------------------------------------------------------------------------

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

bool have_one_in_common(const std::vector<std::string>& one,
                        const std::vector<std::string>& other) {
  return std::ranges::any_of(one, [&](const std::string& address) {
    return std::ranges::find(other, address) != other.end();
  });
}

/// Nodes that find the same address for the master's name.
struct Believers {
  std::vector<std::string> addresses;
  std::vector<int> seats;
};

// Node 0 may know itself as the loopback: it listens there, too. And it may have several addresses,
// of which each will do.
std::vector<Believers> believers_in(const Mesh& mesh) {
  std::vector<Believers> groups;
  std::vector<std::string> of_master;
  if (mesh.contains(0))
    for (const Door& door : mesh.at(0).doors.doors) of_master.push_back(door.address);
  for (const auto& [seat, node] : mesh) {
    const std::vector<std::string>& found = node.doors.master;
    if (found.empty() || (seat == 0 && is_loopback(found.front()))) continue;
    const auto alike = std::ranges::find_if(groups, [&](const Believers& one) {
      return have_one_in_common(one.addresses, found) ||
             (have_one_in_common(one.addresses, of_master) && have_one_in_common(found, of_master));
    });
    if (alike == groups.end())
      groups.push_back({found, {seat}});
    else
      alike->seats.push_back(seat);
  }
  return groups;
}

void add_names(const Mesh& mesh, std::vector<Finding>& findings) {
  const std::vector<Believers> groups = believers_in(mesh);
  const bool looped = groups.size() == 1 && is_loopback(groups.front().addresses.front());
  if (groups.size() < 2 && !looped) return;
  std::string evidence = "the name of the ranks' master leads";
  const char* separator = "";
  for (const Believers& one : groups) {
    if (&one - groups.data() == static_cast<std::ptrdiff_t>(kMostLines)) break;
    evidence +=
        fmt::format("{} to {} on {}", separator, one.addresses.front(), some_of(mesh, one.seats));
    separator = ",";
  }
  findings.push_back({cause::kNameResolution, Severity::risk, std::move(evidence),
                      "correct /etc/hosts or DNS there, or name the master by its address"});
}

// ---- slow ways ----------------------------------------------------------------------------------

void add_slow_way(const Mesh& mesh, std::vector<Finding>& findings) {
  // Both directions are one way, and its fastest packet counts: a busy host delays some.
  std::map<std::pair<int, int>, microseconds> ways;
  each_way(mesh, [&](int from, const Way& way) {
    if (way.end != Way::End::reached || way.round_trip.count() == 0 ||
        use_of(mesh, way.seat, way.interface).empty())
      return;
    const auto [known, is_new] = ways.emplace(std::minmax(from, way.seat), way.round_trip);
    if (!is_new) known->second = std::min(known->second, way.round_trip);
  });
  if (ways.size() < 3) return;
  std::vector<microseconds> times;
  for (const auto& [pair, time] : ways) times.push_back(time);
  std::ranges::sort(times);
  const microseconds middle = times[(times.size() - 1) / 2];
  const auto slowest =
      std::ranges::max_element(ways, {}, [](const auto& one) { return one.second; });
  if (slowest->second < kSlow || slowest->second < kTimesSlower * middle) return;
  const auto slow = std::ranges::count_if(
      times, [&](microseconds time) { return time >= kSlow && time >= kTimesSlower * middle; });
  const auto& [one, other] = slowest->first;
  findings.push_back(
      {cause::kSlowWay, Severity::risk,
       fmt::format("a packet from {} to {} and back takes {}, between other nodes "
                   "{}{}",
                   mesh.at(one).host, mesh.at(other).host, describe(slowest->second),
                   describe(middle), slow > 1 ? fmt::format("; {} ways are as slow", slow) : ""),
       ""});
}

// ---- clocks -------------------------------------------------------------------------------------

/// A node's clock, compared with that of the node with which the comparison begins.
struct ClockSeen {
  microseconds ahead{};
  microseconds error{};
};

/// The clocks of all nodes that are tied to the first by ways on which clocks were compared.
std::map<int, ClockSeen> clocks_of(const Mesh& mesh) {
  std::map<int, std::map<int, ClockSeen>> compared;
  const auto note = [&](int from, int to, ClockSeen seen) {
    const auto [known, is_new] = compared[from].emplace(to, seen);
    if (!is_new && seen.error < known->second.error) known->second = seen;
  };
  each_way(mesh, [&](int from, const Way& way) {
    if (!way.ahead) return;
    note(from, way.seat, {*way.ahead, way.error});
    note(way.seat, from, {-*way.ahead, way.error});
  });
  std::map<int, ClockSeen> clocks;
  if (compared.empty()) return clocks;
  std::vector<int> next{compared.begin()->first};
  clocks[next.front()] = {};
  for (std::size_t i = 0; i < next.size(); ++i)
    for (const auto& [seat, seen] : compared[next[i]]) {
      const ClockSeen& from = clocks[next[i]];
      if (clocks.emplace(seat, ClockSeen{from.ahead + seen.ahead, from.error + seen.error}).second)
        next.push_back(seat);
    }
  return clocks;
}

void add_clocks(const Mesh& mesh, std::vector<Finding>& findings) {
  const std::map<int, ClockSeen> clocks = clocks_of(mesh);
  if (clocks.size() < 2) return;
  std::vector<std::pair<microseconds, int>> order;
  for (const auto& [seat, clock] : clocks) order.emplace_back(clock.ahead, seat);
  std::ranges::sort(order);
  const auto [middle, of] = order[(order.size() - 1) / 2];
  std::vector<std::string> off;
  for (const auto& [seat, clock] : clocks) {
    const microseconds apart = clock.ahead - middle;
    const microseconds size = std::chrono::abs(apart);
    if (seat == of || size - clock.error - clocks.at(of).error <= kClocksDiffer) continue;
    off.push_back(fmt::format("{}'s is {} {}", mesh.at(seat).host, describe(size),
                              apart.count() > 0 ? "ahead" : "behind"));
  }
  if (off.empty()) return;
  const std::size_t more = off.size() - std::min(off.size(), kMostLines);
  off.resize(off.size() - more);
  findings.push_back(
      {cause::kClockSkew, Severity::risk,
       fmt::format("the clocks differ from {}'s: {}{}", mesh.at(of).host, join(off, ", "),
                   more > 0 ? fmt::format(" and {} more", more) : ""),
       "NTP or chrony on every node"});
}

}  // namespace

std::vector<int> seats_to_reach(int seat, int nodes) {
  std::vector<int> seats;
  for (int distance = 1; distance<nodes; distance = nodes> kSmallJob ? distance * 2 : distance + 1)
    seats.push_back((seat + distance) % nodes);
  return seats;
}

std::string interface_for_all(const Mesh& mesh) {
  if (mesh.size() < 2) return {};
  std::set<std::string> broken;
  each_way(mesh, [&](int, const Way& way) {
    if (way.end != Way::End::reached) broken.insert(way.interface);
  });
  const auto works = [&](const std::string& interface) {
    return !interface.empty() && !broken.contains(interface) &&
           std::ranges::all_of(mesh, [&](const auto& one) {
             return one.second.ways && door_at(one.second.doors, interface) != nullptr;
           });
  };
  const NodeDoors& first = mesh.begin()->second.doors;
  if (works(first.meets)) return first.meets;
  for (const Door& door : first.doors)
    if (works(door.interface)) return door.interface;
  return {};
}

std::vector<Finding> mesh_findings(const Mesh& mesh) {
  const std::string common = interface_for_all(mesh);
  std::vector<Finding> findings;
  add_cut_doors(mesh, common, findings);
  add_different_routes(mesh, common, findings);
  add_names(mesh, findings);
  add_slow_way(mesh, findings);
  add_clocks(mesh, findings);
  return findings;
}

}  // namespace safelaunch::nodes
