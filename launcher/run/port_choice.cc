#include "port_choice.h"

#include "profile_options.h"
#include "safelaunch/base/format.h"

namespace safelaunch::run {
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

}  // namespace

Result<PortChoice> choose_port(const RunPlan& plan, const profile::Profile& profile,
                               FormerPort former) {
  const job::PortPolicy policy = plan.port_policy();
  const std::string wanted = options_under(plan.options, profile).port;
  if (policy == job::PortPolicy::multi_node) return PortChoice{};
  if (wanted == "keep") {
    const auto port = kept_port(plan);
    return port ? lease({*port, *port}) : Result<PortChoice>(PortChoice{});
  }
  if (wanted != "auto") {
    const Result<settings::PortRange> range = settings::parse_port_range(wanted);
    return range ? lease(*range) : Result<PortChoice>(range.error());
  }
  if (policy == job::PortPolicy::nothing && former == FormerPort::none) return PortChoice{};
  const auto port = users_port(plan);
  if (policy == job::PortPolicy::user && port && former == FormerPort::none)
    return lease_or_rotate(*port);
  return lease_automatic();
}

}  // namespace safelaunch::run
