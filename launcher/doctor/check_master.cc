#include <algorithm>

#include "checks.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

// Every rank has to find the master by its name, and gloo finds this host by its own. A name that
// leads nowhere, a resolver that is slow, an address without a route and a port that refuses are
// told, from the look-ups and the one connection that facts.cc has tried.
namespace safelaunch::doctor {
namespace {

constexpr Duration kSlow{1'000};  // a healthy resolver answers within a few milliseconds

bool leads_to_loopback(const host::NameLookup& lookup) {
  return lookup.outcome == host::NameLookup::Outcome::found &&
         std::ranges::all_of(lookup.addresses, host::is_loopback_address);
}

bool spans_nodes(const HostFacts& facts) {
  return facts.world.nodes > 1;
}

std::string addresses_of(const host::NameLookup& lookup) {
  return join(lookup.addresses, ", ");
}

std::string endpoint_of(const HostFacts& facts) {
  const World& world = facts.world;
  return world.master_port ? fmt::format("{}:{}", world.master_address, *world.master_port)
                           : world.master_address;
}

void check_master_name(const HostFacts& facts, Advices& advices) {
  const host::NameLookup& lookup = facts.master_name;
  switch (lookup.outcome) {
    case host::NameLookup::Outcome::unknown:
      return advise(
          advices, Severity::blocks, cause::kNameResolution,
          fmt::format("the master's name {} cannot be resolved: {}", lookup.name, lookup.why),
          fmt::format("getent ahosts {}; on one node MASTER_ADDR=127.0.0.1", lookup.name));
    case host::NameLookup::Outcome::late:
      return advise(advices, Severity::risk, cause::kNameResolution,
                    fmt::format("no answer for the master's name {} within {}", lookup.name,
                                describe_duration(lookup.took)),
                    "cat /etc/resolv.conf; the name server does not answer");
    case host::NameLookup::Outcome::found: break;
    case host::NameLookup::Outcome::skipped: return;
  }
  if (lookup.took >= kSlow)
    advise(
        advices, Severity::risk, cause::kNameResolution,
        fmt::format("the name server took {} for {}", describe_duration(lookup.took), lookup.name),
        "cat /etc/resolv.conf; the first server there may be gone");
  if (!spans_nodes(facts) || !leads_to_loopback(lookup) || facts.world.node_rank == 0) return;
  // Whoever tries several nodes starts them all on one host, where this is right.
  advise(advices, Severity::risk, cause::kNameResolution,
         fmt::format("the master {} of {} nodes leads to this host itself ({})", lookup.name,
                     facts.world.nodes, addresses_of(lookup)),
         "name an address of node 0 that the others reach, unless it is on this host; see "
         "/etc/hosts");
}

bool is_ours(const HostFacts& facts, const std::string& address) {
  if (host::is_loopback_address(address)) return true;
  return std::ranges::any_of(facts.interfaces, [&](const host::NetworkInterface& one) {
    return std::ranges::find(one.addresses, address) != one.addresses.end();
  });
}

/// Says what is wrong with this host's own name; empty where nothing is.
std::string trouble_with_own_name(const HostFacts& facts) {
  const host::NameLookup& lookup = facts.own_name;
  switch (lookup.outcome) {
    case host::NameLookup::Outcome::skipped: return {};
    case host::NameLookup::Outcome::unknown:
      return fmt::format("cannot be resolved: {}", lookup.why);
    case host::NameLookup::Outcome::late:
      return fmt::format("gets no answer within {}", describe_duration(lookup.took));
    case host::NameLookup::Outcome::found: break;
  }
  const auto ours = [&](const std::string& address) { return is_ours(facts, address); };
  if (std::ranges::none_of(lookup.addresses, ours))
    return fmt::format("leads to {}, which is no address of this host", addresses_of(lookup));
  if (spans_nodes(facts) && leads_to_loopback(lookup))
    return fmt::format("leads to {}, which gloo then gives to the other nodes",
                       addresses_of(lookup));
  return {};
}

/// True if the command is torchrun, or a launcher that is torchrun inside. On one node it gives the
/// ranks this host's name as MASTER_ADDR, and itself meets at localhost.
bool meets_by_name(const HostFacts& facts) {
  if (!facts.subject.command || spans_nodes(facts)) return false;
  const job::Launcher launcher = facts.subject.command->launcher;
  return launcher == job::Launcher::torchrun || launcher == job::Launcher::accelerate;
}

bool is_unknown(const host::NameLookup& lookup) {
  return lookup.outcome == host::NameLookup::Outcome::unknown;
}

bool says_where_it_is(const HostFacts& facts) {
  return !job::launcher_option(*facts.subject.command, {"--local-addr"}).empty() ||
         facts.subject.environment.contains("PET_LOCAL_ADDR");
}

/// torchrun asks for such a name again and again, for minutes, and no profile changes that. It is a
/// risk and blocks nothing, because an option of torchrun's may name another address.
bool check_local_names(const HostFacts& facts, Advices& advices) {
  if (!meets_by_name(facts)) return false;
  std::vector<std::string> unknown;
  if (is_unknown(facts.localhost)) unknown.emplace_back("localhost");
  if (is_unknown(facts.own_name)) unknown.push_back(facts.own_name.name);
  if (unknown.empty()) return false;
  const bool is_own_alone = !is_unknown(facts.localhost);
  if (is_own_alone && says_where_it_is(facts)) return false;
  advise(
      advices, Severity::risk, is_own_alone ? cause::kOwnNameUnknown : cause::kNameResolution,
      fmt::format("{} cannot be resolved on this host; torchrun's ranks meet by {}, and wait for "
                  "minutes",
                  list_in_words(unknown), unknown.size() == 1 ? "this name" : "these names"),
      fmt::format("as root: echo 127.0.0.1 localhost {} >> /etc/hosts", facts.host.hostname));
  return true;
}

/// gloo uses the address that the host's own name leads to, unless it is given an interface. If the
/// name leads nowhere, gloo takes the loopback, which is enough on one node.
void check_own_name(const HostFacts& facts, Advices& advices) {
  const std::string trouble = trouble_with_own_name(facts);
  if (trouble.empty() || facts.subject.environment.contains("GLOO_SOCKET_IFNAME")) return;
  advise(advices, spans_nodes(facts) ? Severity::risk : Severity::note, cause::kNameResolution,
         fmt::format("this host's name {} {}", facts.own_name.name, trouble),
         "correct /etc/hosts, or set GLOO_SOCKET_IFNAME to the interface to the other nodes");
}

/// Only this host's own loopback can lead to a loopback address.
std::string remedy_without_route(const HostFacts& facts) {
  const std::string& address = facts.master_name.addresses.empty()
                                   ? facts.world.master_address
                                   : facts.master_name.addresses.front();
  if (host::is_loopback_address(address))
    return "bring the loopback interface up, as root: ip link set lo up";
  return fmt::format("ip route get {}", address);
}

/// The master's host is another one, so this host's tool is only an example.
std::string to_open_there(const HostFacts& facts) {
  const std::string typed =
      host::command_to_pass(facts.firewall, facts.world.master_port.value_or(0));
  return fmt::format("open the port on the master's host{}",
                     typed.empty() ? "" : fmt::format(" (with the tool of this host: {})", typed));
}

void check_reach(const HostFacts& facts, Advices& advices) {
  if (!facts.master) return;
  const std::string endpoint = endpoint_of(facts);
  const host::Reachability& master = *facts.master;
  switch (master.reach) {
    case host::Reach::connected: return;
    case host::Reach::refused:
      return advise(
          advices, Severity::note, cause::kConnectFailed,
          fmt::format("nothing listens on {} yet (connection refused)", endpoint),
          "none until rank 0 is started; if it runs, MASTER_ADDR or MASTER_PORT is wrong");
    case host::Reach::timed_out:
      return advise(advices, Severity::blocks, cause::kConnectFailed,
                    fmt::format("{} does not answer within {}: the host is down, or a firewall "
                                "drops the packets",
                                endpoint, describe_duration(master.took)),
                    to_open_there(facts) + ", and ip_local_port_range for NCCL's connections");
    case host::Reach::no_route:
    case host::Reach::failed:
      return advise(advices, Severity::blocks, cause::kConnectFailed,
                    fmt::format("there is no route to {}: {}", endpoint, master.why),
                    remedy_without_route(facts) +
                        (facts.to_master.kind == host::Route::Kind::out
                             ? "; a firewall that rejects looks the same: " + to_open_there(facts)
                             : ""));
  }
}

/// Judges the routing table alone, where no connection was tried.
void check_route(const HostFacts& facts, Advices& advices) {
  if (facts.master || facts.to_master.kind != host::Route::Kind::none) return;
  advise(advices, Severity::blocks, cause::kConnectFailed,
         fmt::format("there is no route to {}: {}", endpoint_of(facts), facts.to_master.why),
         remedy_without_route(facts));
}

/// Rank 0 listens on this host. An address of a service or of another router's may lead back here,
/// so this is a note.
void check_address_of_rank_0(const HostFacts& facts, Advices& advices) {
  const host::NameLookup& lookup = facts.master_name;
  if (facts.world.rank != 0 || facts.world.size.value_or(1) < 2) return;
  if (lookup.outcome != host::NameLookup::Outcome::found) return;
  const auto ours = [&](const std::string& address) { return is_ours(facts, address); };
  if (facts.interfaces.empty() || std::ranges::any_of(lookup.addresses, ours)) return;
  const std::string& name = facts.world.master_address;
  const std::string addresses = addresses_of(lookup);
  advise(advices, Severity::note, cause::kConnectFailed,
         fmt::format("RANK=0 listens on this host, and MASTER_ADDR={}{} is no address of it", name,
                     addresses == name ? "" : " (" + addresses + ")"),
         "MASTER_ADDR is an address of rank 0's host, on one node 127.0.0.1; unless something "
         "forwards the port to this host");
}

/// True where torchrun is told itself whether this host serves the endpoint.
bool says_who_serves(const HostFacts& facts) {
  const auto says = [](std::string_view text) { return text.find("is_host") != std::string::npos; };
  return std::ranges::any_of(facts.subject.command->argv, says) ||
         says(value_or(facts.subject.environment, "PET_RDZV_CONF"));
}

/// torchrun serves the endpoint itself where its host is "localhost", a loopback address, this
/// host's name, or one of the addresses that this name leads to. Where it does not, and nobody else
/// listens there, every agent knocks at a door that nobody opens.
void check_endpoint_is_own(const HostFacts& facts, Advices& advices) {
  const auto& command = facts.subject.command;
  if (!command || command->rendezvous != "c10d" || command->standalone || facts.endpoint_served)
    return;
  const std::string& name = facts.world.master_address;
  const auto is_outside = [&](const std::string& address) {
    return is_ours(facts, address) && !host::is_loopback_address(address);
  };
  const std::vector<std::string>& known = facts.own_name.addresses;
  const auto is_known = [&](const std::string& address) {
    return std::ranges::find(known, address) != known.end();
  };
  const std::vector<std::string>& addresses = facts.master_name.addresses;
  if (name.empty() || name == facts.host.hostname || known.empty() || addresses.empty() ||
      !std::ranges::all_of(addresses, is_outside) || std::ranges::any_of(addresses, is_known) ||
      says_who_serves(facts))
    return;
  advise(advices, Severity::risk, cause::kEndpointNotOwn,
         fmt::format("{} is an address of this host, nobody listens there, and torchrun will not: "
                     "this host's name {} leads to {}",
                     endpoint_of(facts), facts.own_name.name, addresses_of(facts.own_name)),
         "--rdzv-conf is_host=1 on this node, or the hostname as endpoint");
}

/// A clock matters to those who meet clocks of other hosts; a job of several nodes compares them
/// itself when it starts.
void check_clock(const HostFacts& facts, Advices& advices) {
  if (!spans_nodes(facts) || !facts.clock || facts.clock->kept) return;
  advise(advices, Severity::risk, cause::kClockSkew,
         "the kernel says that no time service keeps this host's clock",
         "timedatectl, or chronyc tracking; all is well where the host of this virtual machine "
         "keeps the time, or chrony without rtcsync");
}

}  // namespace

void check_master(const HostFacts& facts, Advices& advices) {
  check_endpoint_is_own(facts, advices);
  check_master_name(facts, advices);
  check_address_of_rank_0(facts, advices);
  if (!check_local_names(facts, advices)) check_own_name(facts, advices);
  check_reach(facts, advices);
  check_route(facts, advices);
  check_clock(facts, advices);
}

}  // namespace safelaunch::doctor
