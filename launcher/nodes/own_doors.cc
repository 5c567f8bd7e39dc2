#include "safelaunch/nodes/own_doors.h"

#include <algorithm>

#include "safelaunch/base/random.h"
#include "safelaunch/doctor/interface_choice.h"
#include "safelaunch/gpu/visible.h"
#include "safelaunch/host/network.h"
#include "safelaunch/host/variable_files.h"

// The interfaces that the job will use are found as NCCL and gloo find theirs: the variable that
// the ranks will be given, NCCL's own files, else NCCL's order. They get their doors first, and the
// other interfaces share the rest of four doors.
namespace safelaunch::nodes {
namespace {

constexpr std::size_t kMostInterfaces = 4;
constexpr Duration kMasterWithin{500};

bool holds_everywhere(const std::string& address) {
  return !address.starts_with("169.254.") && !address.starts_with("fe80:");
}

// IPv4 first, as NCCL and gloo do.
std::string address_of(const host::NetworkInterface& interface) {
  std::string found;
  for (const std::string& address : interface.addresses) {
    if (!holds_everywhere(address)) continue;
    if (address.find(':') == std::string::npos) return address;
    if (found.empty()) found = address;
  }
  return found;
}

/// The value of a variable in the ranks, as far as it is known before the first attempt.
std::string variable_of_job(const plan::RunPlan& plan, const std::string& name) {
  if (const auto set = plan.overrides.env.find(name); set != plan.overrides.env.end())
    return set->second.value;
  if (const auto own = value_or(plan.environment, name); !own.empty()) return std::string(own);
  if (const auto set = plan.chain.front().env.find(name); set != plan.chain.front().env.end())
    return set->second.value;
  return {};
}

std::string nccl_variable_of_job(const plan::RunPlan& plan, const std::string& name) {
  std::string value = variable_of_job(plan, name);
  if (!value.empty()) return value;
  for (const host::FileVariable& one : host::nccl_file_variables(plan.environment))
    if (one.name == name) return one.value;
  return {};
}

/// The addresses that this node finds for a host's name; none for what is an address already.
std::vector<std::string> addresses_of_name(const std::string& head) {
  if (head.empty() || host::is_address(head)) return {};
  host::NameLookup found = host::look_up_in_hosts_file(head);
  if (found.addresses.empty()) found = host::look_up(head, kMasterWithin);
  return found.addresses;
}

std::string interface_towards(const std::string& address,
                              std::span<const host::NetworkInterface> interfaces) {
  if (address.empty()) return {};
  for (const host::NetworkInterface& one : interfaces)
    if (std::ranges::find(one.addresses, address) != one.addresses.end())
      return one.loopback ? "" : one.name;
  const host::Route route = host::route_to(address);
  return route.kind == host::Route::Kind::out ? route.interface : "";
}

}  // namespace

std::vector<Door> doors_to_open(std::span<const host::NetworkInterface> interfaces,
                                const NodeDoors& used) {
  const auto is_used = [&](const std::string& name) {
    return name == used.nccl || name == used.gloo || name == used.meets;
  };
  std::vector<Door> doors;
  const auto add = [&](bool of_the_job) {
    for (const host::NetworkInterface& one : interfaces) {
      std::string address = one.up && !one.loopback ? address_of(one) : "";
      if (address.empty() || is_used(one.name) != of_the_job) continue;
      if (!of_the_job && doctor::is_virtual(one.name)) continue;
      if (doors.size() < kMostInterfaces) doors.push_back({one.name, std::move(address), 0});
    }
  };
  add(true);
  add(false);
  return doors;
}

std::optional<Door> master_door(const plan::RunPlan& plan, const NodeDoors& doors) {
  const job::Placement& placement = plan.party->placement;
  const std::string& backend = plan.command.rendezvous;
  const bool is_static = plan.spawn || backend.empty() || backend == "static";
  const bool keeps_port = plan.options.port.how != settings::PortWish::How::range;
  if (placement.node != 0 || !placement.port || !is_static || !keeps_port) return std::nullopt;
  for (const Door& door : doors.doors)
    if (door.address == placement.head ||
        std::ranges::find(doors.master, door.address) != doors.master.end())
      return Door{kMasterDoor, door.address, *placement.port};
  return std::nullopt;
}

NodeDoors own_doors(const plan::RunPlan& plan) {
  const auto interfaces = host::network_interfaces();
  NodeDoors doors;
  doors.name = random_word(8);
  doors.firewall = host::find_firewall();
  const std::string pattern = nccl_variable_of_job(plan, "NCCL_SOCKET_IFNAME");
  doors.nccl_named = !pattern.empty();
  if (gpu::may_find_gpu(plan.environment)) {
    const auto picked = doctor::picked_by_nccl(pattern, interfaces);
    doors.nccl =
        pattern.empty() ? doctor::nccl_default(interfaces) : (picked.empty() ? "" : picked.front());
  }
  const std::string gloo = variable_of_job(plan, "GLOO_SOCKET_IFNAME");
  doors.gloo = gloo.substr(0, gloo.find(','));
  const std::string& head = plan.party->placement.head;
  doors.master = addresses_of_name(head);
  doors.meets = interface_towards(doors.master.empty() ? head : doors.master.front(), interfaces);
  doors.doors = doors_to_open(interfaces, doors);
  if (auto master = master_door(plan, doors)) doors.doors.push_back(*std::move(master));
  return doors;
}

}  // namespace safelaunch::nodes
