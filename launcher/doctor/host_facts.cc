#include "safelaunch/doctor/host_facts.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "checks.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/clean/leftovers_survey.h"
#include "safelaunch/clean/port_lease.h"
#include "safelaunch/gpu/devices.h"
#include "safelaunch/gpu/findings.h"
#include "safelaunch/gpu/memory.h"
#include "safelaunch/gpu/reader.h"

// Reads the facts, and decides only how far to look: before a run nothing that a dead server could
// hold up is touched, `safelaunch doctor` also asks names, the master, the driver and the job's
// Python.
namespace safelaunch::doctor {

// ---- those installed ----------------------------------------------------------------------------

Package parse_dist_info(std::string_view folder) {
  constexpr std::string_view kEnd = ".dist-info";
  if (!folder.ends_with(kEnd)) return {};
  folder.remove_suffix(kEnd.size());
  const auto dash = folder.rfind('-');
  if (dash == std::string_view::npos) return {};
  return {std::string(folder.substr(0, dash)), std::string(folder.substr(dash + 1))};
}

std::vector<Package> frameworks_in(std::span<const std::string> folders) {
  constexpr std::array<std::string_view, 6> kFrameworks{"torch",      "jax",       "deepspeed",
                                                        "accelerate", "lightning", "transformers"};
  std::vector<Package> packages;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      Package package = parse_dist_info(entry.path().filename().native());
      const bool wanted = std::ranges::find(kFrameworks, package.name) != kFrameworks.end();
      if (wanted && version_of(packages, package.name).empty())
        packages.push_back(std::move(package));
    }
  }
  std::ranges::sort(packages, {}, &Package::name);
  return packages;
}

std::string version_of(std::span<const Package> packages, std::string_view name) {
  const auto found = std::ranges::find(packages, name, &Package::name);
  return found == packages.end() ? "" : found->version;
}

// ---- the toolkit --------------------------------------------------------------------------------

namespace {

std::filesystem::path toolkit_folder(const Environment& environment,
                                     const std::filesystem::path& usual) {
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const auto folder = value_or(environment, name); !folder.empty()) return folder;
  for (std::string_view rest = value_or(environment, "PATH"); !rest.empty();) {
    const std::filesystem::path folder = take_word(rest, ':');
    std::error_code none;
    if (std::filesystem::exists(folder / "nvcc", none)) return folder.parent_path();
  }
  return usual;
}

}  // namespace

// "#define CUDA_VERSION 12040" is CUDA 12.4.
Toolkit find_toolkit(const Environment& environment, const std::filesystem::path& usual) {
  constexpr std::size_t kMostOfHeader = 64U << 10;
  constexpr std::string_view kDefine = "#define CUDA_VERSION ";
  const std::filesystem::path folder = toolkit_folder(environment, usual);
  const std::string header =
      user_file_text(folder / "include" / "cuda.h", kMostOfHeader).value_or("");
  const std::size_t at = header.find(kDefine);
  if (at == std::string::npos) return {};
  std::string_view rest = std::string_view(header).substr(at + kDefine.size());
  const int number = take_number<int>(rest).value_or(0);
  if (number <= 0) return {};
  return {folder.native(), fmt::format("{}.{}", number / 1'000, number % 1'000 / 10)};
}

// ---- those that a script imports ----------------------------------------------------------------

namespace {

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t")));
  const auto word = line.substr(0, line.find_first_of(" \t\r,;#"));
  line.remove_prefix(word.size());
  return word;
}

bool is_of(std::string_view name, std::string_view module) {
  return name.starts_with(module) && (name.size() == module.size() || name[module.size()] == '.');
}

/// Whether the module stands behind a comma: "import os, jax".
bool names_later(std::string_view line, std::string_view module) {
  (void)take_word(line, ',');
  while (!line.empty()) {
    std::string_view name = take_word(line, ',');
    if (is_of(next_word(name), module)) return true;
  }
  return false;
}

}  // namespace

bool imports_module(std::string_view source, std::string_view module) {
  while (!source.empty()) {
    const auto end = source.find_first_of("\n;");
    std::string_view line = source.substr(0, end);
    source.remove_prefix(end == std::string_view::npos ? source.size() : end + 1);
    const auto verb = next_word(line);
    if (verb != "import" && verb != "from") continue;
    if (is_of(next_word(line), module)) return true;
    if (verb == "import" && names_later(line.substr(0, line.find('#')), module)) return true;
  }
  return false;
}

namespace {

// A resolver that takes longer than this makes every start of the job slow.
constexpr Duration kLookup{3'000};
// A run waits no longer than this for the name of this host.
constexpr Duration kQuickLookup{300};
// The kernel sends two SYN packets within this time.
constexpr Duration kConnect{2'000};

std::optional<std::uint16_t> port_of(const World& world) {
  if (!world.master_port || *world.master_port <= 0 || *world.master_port > 65535)
    return std::nullopt;
  return static_cast<std::uint16_t>(*world.master_port);
}

std::string script_of(const Subject& subject) {
  const auto& command = subject.command;
  if (!command || !command->script || command->script->word >= command->argv.size()) return {};
  const std::string& word = command->argv[command->script->word];
  if (command->script->kind == job::ScriptKind::code) return word;
  if (command->script->kind != job::ScriptKind::file) return {};
  constexpr std::size_t kLargest = 1 << 18;  // imports stand at the beginning of a script
  return user_file_text(word, kLargest).value_or("");
}

/// The name of this host, or `localhost`. /etc/hosts holds them nearly everywhere; only where it
/// does not, a quick look asks the resolver, and only as long as a run may wait.
host::NameLookup look_up_nearby(Depth depth, const std::string& name) {
  if (depth == Depth::full) return host::look_up(name, kLookup);
  host::NameLookup lookup = host::look_up_in_hosts_file(name);
  if (lookup.outcome == host::NameLookup::Outcome::skipped)
    lookup = host::look_up(name, kQuickLookup);
  // A slow answer is an answer; the ranks wait for it.
  if (lookup.outcome == host::NameLookup::Outcome::late)
    lookup.outcome = host::NameLookup::Outcome::skipped;
  return lookup;
}

// Reads the names and the way to the master. A quick look asks no resolver for the master, so only
// /etc/hosts and the routing table speak.
void read_network(Depth depth, HostFacts& facts) {
  const auto lookup = [&](const std::string& name) {
    return depth == Depth::full ? host::look_up(name, kLookup) : host::look_up_in_hosts_file(name);
  };
  facts.interfaces = host::network_interfaces();
  facts.own_name = look_up_nearby(depth, facts.host.hostname);
  facts.localhost = look_up_nearby(depth, "localhost");
  const auto& command = facts.subject.command;
  if (const auto port = port_of(facts.world); port && command && command->rendezvous == "c10d")
    facts.endpoint_served = std::ranges::any_of(
        host::KernelSockets().on_port(*port),
        [](const host::Socket& one) { return one.state == host::SocketState::listening; });
  if (facts.world.master_address.empty()) return;
  facts.master_name = lookup(facts.world.master_address);
  if (facts.master_name.addresses.empty()) return;
  facts.to_master = host::route_to(facts.master_name.addresses.front());
}

// Tries to connect to the master, for those who join it: they want to know whether it can be
// reached. For rank 0 and the first node it is enough whether the port is free.
void try_master(HostFacts& facts) {
  const auto port = port_of(facts.world);
  if (!port || facts.master_name.addresses.empty() || facts.world.rank == 0) return;
  if (facts.world.nodes > 1 && facts.world.node_rank == 0) return;
  const bool joins = facts.world.rank || facts.world.nodes > 1;
  if (joins)
    facts.master = host::try_to_reach(facts.master_name.addresses.front(), *port, kConnect);
}

void read_port(HostFacts& facts) {
  const auto port = port_of(facts.world);
  if (!port) return;
  facts.port = MeetingPort{*port, {}};
  if (!clean::is_free(*port)) facts.port->holders = host::holders_of(*port, host::KernelSockets());
}

// Before a run the locks of extensions are told of those jobs alone that are certain to build some:
// any other job may never ask for them, and one that hangs behind a lock is told so.
bool builds_extensions(const Subject& subject) {
  return subject.command && subject.command->launcher == job::Launcher::deepspeed;
}

// Finds files that jobs left. Before a run, segments count only where they leave little room, and
// no file server is asked for locks.
void read_left_files(Depth depth, HostFacts& facts) {
  clean::FoundFiles found;
  found.runs = facts.subject.runs;
  const host::SharedMemory& memory = facts.shared_memory;
  if (depth == Depth::full || memory.available < memory.bytes / 4) found.segments = memory.files;
  const std::string folder = host::extensions_folder(facts.subject.environment);
  const host::Mount* mount = host::mount_of(facts.mounts, folder);
  const bool is_near = mount != nullptr && !host::is_network(*mount);
  if (depth == Depth::full || (is_near && builds_extensions(facts.subject)))
    found.locks = host::extension_locks(folder);
  clean::StaleFiles stale = clean::survey_files(std::move(found), facts.host, facts.mounts);
  facts.segments = std::move(stale.segments);
  facts.locks = std::move(stale.locks);
}

// Looks for NCCL's network plugin, without which Amazon's adapters are of no use to NCCL.
void read_network_plugins(HostFacts& facts) {
  if (!has_efa(facts.infiniband)) return;
  const Environment& environment = facts.subject.environment;
  for (const std::string& name : network_plugin_names(environment))
    for (gpu::FoundLibrary& found : gpu::find_library(name, environment))
      facts.network_plugins.push_back(std::move(found.path));
}

bool has_package_mpi4py(const std::string& folder) {
  std::error_code none;
  return std::filesystem::exists(std::filesystem::path(folder) / "mpi4py", none);
}

void read_python(HostFacts& facts) {
  const auto& command = facts.subject.command;
  const std::string python = command && command->python ? *command->python : "python3";
  facts.libraries = gpu::find_job_libraries(python, facts.subject.environment);
  facts.packages = frameworks_in(facts.libraries->python.packages);
  facts.toolkit = find_toolkit(facts.subject.environment);
  facts.has_mpi4py = std::ranges::any_of(facts.libraries->python.packages, has_package_mpi4py);
  read_network_plugins(facts);
}

// Counts what the kernel shows. A run is not held up by a driver.
void look_for_gpus(HostFacts& facts) {
  facts.gpus = facts.host.gpu_devices;
  if (facts.gpus == 0 && host::has_gpu_device()) facts.gpus = std::nullopt;
}

// Asks the driver for its GPUs, where there is one. A driver that did not answer NVML is not asked
// again.
void ask_driver(HostFacts& facts) {
  const Environment& environment = facts.subject.environment;
  if (!gpu::may_find_gpu(environment)) return;
  facts.driver_messages = host::kernel_messages_with("NVRM: Xid");
  facts.nvml = gpu::read_gpu_facts({environment});
  if (facts.nvml.trouble == gpu::Trouble::no_answer)
    facts.visible_gpus = {gpu::Trouble::no_answer, facts.nvml.why, {}, {}};
  else
    facts.visible_gpus = gpu::find_visible_gpus(environment);
  facts.gpus = gpu::count_gpus(facts.visible_gpus, facts.nvml, facts.host.gpu_devices);
  gpu::Use use;
  use.devices = gpu::visible_devices(facts.nvml, environment);
  use.gpus =
      facts.nvml.gpus.empty() ? facts.host.gpu_devices : static_cast<int>(use.devices->size());
  use.ranks = processes_here(facts.subject).value_or(0);
  if (facts.libraries) use.cuda = facts.libraries->torch_cuda;
  facts.gpu_findings = gpu::gpu_findings(facts.nvml, use);
  gpu::add_visible_findings(facts.visible_gpus, facts.nvml, use, facts.gpu_findings);
}

void read_processes(HostFacts& facts) {
  clean::Needs needs;
  for (gpu::MemoryHolding& held : gpu::memory_holdings(facts.nvml))
    needs.held.push_back({held.pid, std::move(held.what)});
  if (const auto port = port_of(facts.world)) needs.ports.push_back(*port);
  if (may_use_gpus(facts)) needs.gpus = std::nullopt;
  needs.inventory = true;
  facts.processes = clean::survey(needs, clean::read_surroundings(facts.subject.runs));
}

}  // namespace

HostFacts read_facts(Subject subject, Depth depth) {
  HostFacts facts;
  facts.subject = std::move(subject);
  facts.world = world_of(facts.subject);
  facts.host = host::read_identity();
  facts.platform = host::read_platform();
  facts.limits = host::read_limits();
  facts.quotas = host::read_quotas();
  facts.mounts = host::read_mounts();
  facts.shared_memory = host::read_shared_memory();
  facts.infiniband = host::read_infiniband();
  facts.nccl_files = host::nccl_file_variables(facts.subject.environment);
  facts.script = script_of(facts.subject);
  facts.imports_jax = imports_module(facts.script, "jax");
  read_network(depth, facts);
  read_left_files(depth, facts);
  look_for_gpus(facts);
  if (depth == Depth::quick) return facts;
  facts.deepspeed_files = host::deepspeed_file_variables(facts.subject.environment);
  try_master(facts);
  facts.firewall = host::find_firewall();
  facts.clock = host::read_clock_state();
  read_port(facts);
  read_python(facts);
  ask_driver(facts);
  read_processes(facts);
  return facts;
}

}  // namespace safelaunch::doctor
