#include "safelaunch/plan/port_choice.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/diagnose/diagnosis.h"
#include "safelaunch/host/network.h"

// A port is chosen only where safelaunch may decide it: other nodes know theirs from their own
// command lines, so a job of several nodes keeps its port. A command without a launcher keeps it
// too, until an attempt has failed because it was taken. A port of the user's is taken where it is
// free. Where somebody holds it, the job gets another one, unless the user insists on it. After
// a failed attempt, the process that holds a port is the proof of a port that was taken. A command
// that has no place for a port gets none, and none is held for it.
namespace safelaunch::plan {
namespace {

std::optional<std::uint16_t> users_port(const RunPlan& plan) {
  const std::optional<int> port = plan.spawn ? plan.spawn->master_port : plan.command.port.value;
  if (!port || *port <= 0 || *port > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(*port);
}

// Ranks of our own spawn always need a number; a launcher that was told none finds one itself.
std::optional<std::uint16_t> kept_port(const RunPlan& plan) {
  const auto port = users_port(plan);
  return port || !plan.spawn ? port : std::uint16_t{job::kDefaultMasterPort};
}

// The agents tell the port to every node, so that one of them may choose it: the one where the
// ranks meet.
bool meets_here(const RunPlan& plan) {
  if (!plan.party || plan.party->placement.node != 0) return false;
  return plan.party->address.backend == agree::Address::Backend::tcp ||
         host::is_this_host(plan.party->placement.head);
}

Result<PortChoice> lease(settings::PortRange range) {
  Result<clean::PortLease> leased = clean::lease_port(range);
  if (!leased) return leased.error();
  PortChoice choice;
  choice.lease = std::move(*leased);
  return choice;
}

Result<PortChoice> lease_automatic() {
  return lease(clean::automatic_ports(clean::ephemeral_ports()));
}

Result<PortChoice> lease_or_rotate(std::uint16_t port) {
  Result<clean::PortLease> leased = clean::lease_port({port, port});
  PortChoice choice;
  if (leased) {
    choice.lease = std::move(*leased);
    return choice;
  }
  Result<PortChoice> other = lease_automatic();
  if (!other) return other;
  other->notice = fmt::format("port {} is held by {}; the job uses port {} (--port keep insists)",
                              port, clean::describe_holders(port), other->lease->port());
  return other;
}

void confirm(std::string_view cause, int port, const host::SocketTable& sockets,
             std::vector<diagnose::Confirmation>& facts) {
  std::vector<std::string> holders;
  for (const host::PortHolder& holder :
       host::holders_of(static_cast<std::uint16_t>(port), sockets)) {
    if (holder.pid == getpid()) continue;  // we keep the job's own port bound
    holders.push_back(describe(holder));
  }
  if (holders.empty()) return;
  facts.push_back(
      {std::string(cause), fmt::format("Port {} is held by {}", port, join(holders, ", ")), port});
}

}  // namespace

Result<PortChoice> choose_port(const RunPlan& plan, const profile::Profile& profile,
                               FormerPort former, Agents agents) {
  if (!plan.spawn && !job::takes_port(plan.command)) return PortChoice{};
  const job::PortPolicy policy = plan.port_policy();
  const settings::PortWish wish = options_under(plan.options, profile).port;
  const bool decides = agents == Agents::agree && meets_here(plan);
  if (policy == job::PortPolicy::multi_node && !decides) return PortChoice{};
  if (wish.how == settings::PortWish::How::keep) {
    const auto port = kept_port(plan);
    return port ? lease({*port, *port}) : Result<PortChoice>(PortChoice{});
  }
  if (wish.how == settings::PortWish::How::range) return lease(wish.range);
  if (!plan.spawn && plan.command.port.mistyped) return PortChoice{};  // its launcher refuses it
  if (policy == job::PortPolicy::nothing && former == FormerPort::none) return PortChoice{};
  if (policy == job::PortPolicy::if_taken && former == FormerPort::none)
    return PortChoice{.kept = plan.command.port.value};
  const bool several = policy == job::PortPolicy::multi_node;
  const auto port = several ? kept_port(plan) : users_port(plan);
  const bool users = several || policy == job::PortPolicy::user;
  if (users && port && former == FormerPort::none) return lease_or_rotate(*port);
  return lease_automatic();
}

std::vector<diagnose::Confirmation> port_facts(const diagnose::Evidence& evidence,
                                               const std::map<Rank, std::string>& knocking,
                                               const diagnose::Catalogue& catalogue,
                                               const host::SocketTable& sockets) {
  std::vector<diagnose::Confirmation> facts;
  for (const int port : diagnose::ports_said_taken(evidence, catalogue))
    confirm(cause::kPortTaken, port, sockets, facts);
  if (!is_hang(evidence.failure.kind)) return facts;
  std::set<int> silent;
  for (const auto& [rank, store] : knocking)
    if (const auto port = host::port_at_loopback(store)) silent.insert(*port);
  for (const int port : silent) confirm(cause::kStoreForeign, port, sockets, facts);
  return facts;
}

}  // namespace safelaunch::plan
