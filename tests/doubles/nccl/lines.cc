#include "nccl/lines.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "nccl/log.h"
#include "nccl/version.h"

namespace safelaunch::testing {
namespace {

constexpr int kAlways = 0;
constexpr int kNever = 999999;

/// One line of one release after the other. `when` names the truths that must hold or, after `!`,
/// must not.
struct Line {
  Moment moment;
  int since = kAlways;  ///< version code of the first release that prints it
  int until = kNever;   ///< and of the first that no longer does
  const char* text;
  const char* when = "";
  Subsystem subsystem = Subsystem::init;
  Voice voice = Voice::caller;
  bool each_channel = false;
};

// Taken from the transcripts in tests/data/nccl, where all of them can be found.
// clang-format off
constexpr Line kLines[] = {
    {Moment::library, 23000, kNever, "ncclOsDlopen(libnccl-env.so) failed: libnccl-env.so: cannot open shared object file: No such file or directory", "!NCCL_ENV_PLUGIN"},
    {Moment::library, 22807, kNever, "ENV/Plugin: Could not find: libnccl-env.so", "!NCCL_ENV_PLUGIN"},

    {Moment::bootstrap_net, kAlways, kNever, "NCCL_SOCKET_IFNAME set by environment to {NCCL_SOCKET_IFNAME}", "NCCL_SOCKET_IFNAME", Subsystem::env},
    {Moment::bootstrap_net, kAlways, kNever, "NCCL_SOCKET_IFNAME set to {NCCL_SOCKET_IFNAME}", "NCCL_SOCKET_IFNAME", Subsystem::net},
    {Moment::bootstrap_net, kAlways, 22300, "Bootstrap : Using {interface}", "interface"},
    {Moment::bootstrap_net, 22300, kNever, "Bootstrap: Using {interface}", "interface", Subsystem::bootstrap},
    {Moment::bootstrap_net, kAlways, 22000, "NET/Plugin : Plugin load (libnccl-net.so) returned 2 : libnccl-net.so: cannot open shared object file: No such file or directory", "interface"},
    {Moment::bootstrap_net, kAlways, 22000, "NET/Plugin : No plugin found, using internal implementation", "interface"},
    {Moment::bootstrap_net, 22000, 22300, "NET/Plugin: No plugin found (libnccl-net.so)", "interface"},
    {Moment::bootstrap_net, 22000, 22300, "NET/Plugin: Plugin load returned 2 : libnccl-net.so: cannot open shared object file: No such file or directory : when loading libnccl-net.so", "interface"},
    {Moment::bootstrap_net, 22000, 22300, "NET/Plugin: Using internal network plugin.", "interface"},

    {Moment::driver, kAlways, kNever, "cudaDriverVersion {driver}"},
    {Moment::driver, 21800, kNever, "NCCL_CUMEM_ENABLE set by environment to {NCCL_CUMEM_ENABLE}.", "NCCL_CUMEM_ENABLE", Subsystem::env},
    {Moment::driver, 22300, kNever, "NCCL_CUMEM_HOST_ENABLE set by environment to {NCCL_CUMEM_HOST_ENABLE}.", "NCCL_CUMEM_HOST_ENABLE cumem", Subsystem::env},

    {Moment::version, kAlways, 22300, "NCCL version {version}+cuda{cuda}", "rank-0"},
    {Moment::version, 22300, kNever, "NCCL version {version}+cuda{cuda}"},
    {Moment::version, 22900, kNever, "NCCL git version unknown unknown"},

    {Moment::network, 22000, kNever, "NCCL_NET_PLUGIN set by environment to {NCCL_NET_PLUGIN}", "NCCL_NET_PLUGIN", Subsystem::env},
    {Moment::network, 22300, 22500, "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.", "!NCCL_NET_PLUGIN"},
    {Moment::network, 22500, 22700, "NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.", "!NCCL_NET_PLUGIN"},
    {Moment::network, 22700, 22800, "NET/Plugin: Could not find: libnccl-net.so. ", "!NCCL_NET_PLUGIN"},
    {Moment::network, 23000, kNever, "ncclOsDlopen(libnccl-net.so) failed: libnccl-net.so: cannot open shared object file: No such file or directory", "!NCCL_NET_PLUGIN"},
    {Moment::network, 22800, kNever, "NET/Plugin: Could not find: libnccl-net.so", "!NCCL_NET_PLUGIN"},
    {Moment::network, kAlways, kNever, "NCCL_IB_DISABLE set by environment to {NCCL_IB_DISABLE}.", "NCCL_IB_DISABLE !no-ib", Subsystem::env},
    {Moment::network, 23000, kNever, "Count not open libibverbs.so", "!no-ib !ib", Subsystem::net},
    {Moment::network, kAlways, kNever, "NET/IB : No device found.", "!no-ib !ib !ib-off", Subsystem::net},
    {Moment::network, 22300, kNever, "NET/IB : Using [RO]; OOB {interface}", "!no-ib !ib !ib-off", Subsystem::net},
    {Moment::network, kAlways, kNever, "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB {interface}", "ib", Subsystem::net},
    {Moment::network, 22700, kNever, "Initialized NET plugin IB", "ib", Subsystem::net},
    {Moment::network, 22800, kNever, "Failed to initialize NET plugin IB", "!no-ib !ib", Subsystem::net},
    {Moment::network, kAlways, kNever, "NET/Socket : Using [0]{interface}", "!no-socket !ib", Subsystem::net},
    {Moment::network, 22700, kNever, "Initialized NET plugin Socket", "!no-socket !ib", Subsystem::net},

    {Moment::network_known, 22700, kNever, "Assigned NET plugin {network} to comm"},
    {Moment::network_known, 23000, kNever, "ncclOsDlopen(libnccl-rma.so) failed: libnccl-rma.so: cannot open shared object file: No such file or directory"},
    {Moment::network_known, 23000, kNever, "RMA/Plugin: Could not find: libnccl-rma.so"},
    {Moment::network_known, 23000, kNever, "RMA/Plugin: Failed to load external plugin libnccl-rma.so, dlHandle: (nil), ncclRma: (nil)"},
    {Moment::network_known, 23000, kNever, "RMA/Plugin: Failed to initialize any plugin"},
    {Moment::network_known, 23000, kNever, "ncclOsDlopen(libnccl-gin.so) failed: libnccl-gin.so: cannot open shared object file: No such file or directory"},
    {Moment::network_known, 22900, kNever, "GIN/Plugin: Could not find: libnccl-gin.so"},
    {Moment::network_known, 22900, 23000, "Failed to initialize any GIN plugin"},
    {Moment::network_known, 23000, kNever, "GIN/Plugin: Failed to load external plugin libnccl-gin.so, dlHandle: (nil), ncclGin: (nil)"},
    {Moment::network_known, 23000, kNever, "GIN/Plugin: Failed to initialize any GIN plugin"},
    {Moment::network_known, 22300, 22500, "PROFILER/Plugin: Could not find: libnccl-profiler.so.", "!plugin"},
    {Moment::network_known, 22500, 22700, "PROFILER/Plugin: Could not find: libnccl-profiler.so. ", "!plugin"},
    {Moment::network_known, 22000, 22300, "Using non-device net plugin version 0"},
    {Moment::network_known, kAlways, kNever, "Using network {network}"},
    {Moment::network_known, 23000, kNever, "Loaded NVML from libnvidia-ml.so.1"},

    {Moment::start, kAlways, 22000, "{identity} {origin} - Init START"},
    {Moment::start, 22000, 22900, "{function} {identity} {origin} - Init START"},
    {Moment::start, 22900, kNever, "[Rank {rank}] {function} {identity} {origin}{dash}Init START"},
    {Moment::start, 23000, kNever, "NCCL_SOCKET_MAGIC set by environment to {NCCL_SOCKET_MAGIC}", "NCCL_SOCKET_MAGIC", Subsystem::env},
    {Moment::start, 23000, kNever, "Socket handshake magic 0x564ab9f2fc4b9d6c (built-in default)", "!NCCL_SOCKET_MAGIC"},

    {Moment::host_known, kAlways, 22300, "NCCL_HOSTID set by environment to {NCCL_HOSTID}", "NCCL_HOSTID", Subsystem::env},
    {Moment::host_known, 22500, kNever, "NCCL_HOSTID set by environment to {NCCL_HOSTID}", "NCCL_HOSTID", Subsystem::env},
    {Moment::host_known, kAlways, 22300, "NCCL_HOSTID set by environment to {NCCL_HOSTID}", "NCCL_HOSTID", Subsystem::env},

    {Moment::bootstrapped, 22400, kNever, "NCCL_RAS_ENABLE set by environment to {NCCL_RAS_ENABLE}.", "NCCL_RAS_ENABLE", Subsystem::env},
    {Moment::bootstrapped, 22400, kNever, "RAS client listening socket at {ras}", "ras"},
    {Moment::bootstrapped, 22300, kNever, "Bootstrap timings total {seconds} (create 0.000018, send 0.000102, recv 0.002406, ring 0.000120, delay 0.000000)", "", Subsystem::bootstrap},
    {Moment::bootstrapped, 22300, 22500, "NCCL_HOSTID set by environment to {NCCL_HOSTID}", "NCCL_HOSTID", Subsystem::env},

    {Moment::topology, 22100, kNever, "NCCL_MNNVL_ENABLE set by environment to {NCCL_MNNVL_ENABLE}.", "NCCL_MNNVL_ENABLE", Subsystem::env},
    {Moment::topology, 22200, kNever, "NCCL_RUNTIME_CONNECT set by environment to {NCCL_RUNTIME_CONNECT}.", "NCCL_RUNTIME_CONNECT", Subsystem::env},
    {Moment::topology, 23000, kNever, "NCCL_MULTI_RANK_GPU_ENABLE set by environment to {NCCL_MULTI_RANK_GPU_ENABLE}.", "NCCL_MULTI_RANK_GPU_ENABLE", Subsystem::env},
    {Moment::topology, 22700, kNever, "NCCL_P2P_DISABLE set by environment to {NCCL_P2P_DISABLE}", "NCCL_P2P_DISABLE", Subsystem::all},
    {Moment::topology, 22300, 22800, "Topology detection: network path /sys/devices/pci0000:00/0000:00:03.0/virtio2 is not a PCI device (virtio). Attaching to first CPU", "!ib", Subsystem::net},
    {Moment::topology, 22800, kNever, "Topology detection: network path (name = {interface name}) /sys/devices/pci0000:00/0000:00:03.0/virtio2 is not a PCI device (virtio). Attaching to first CPU", "!ib", Subsystem::net},
    {Moment::topology, kAlways, kNever, "NET/Socket : GPU Direct RDMA Disabled for HCA 0 '{interface name}'", "!ib", Subsystem::net},
    {Moment::topology, kAlways, kNever, "NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'", "ib", Subsystem::net},
    {Moment::topology, kAlways, 22300, "NCCL_P2P_LEVEL set by environment to LOC", "p2p-off", Subsystem::all},
    {Moment::topology, 22300, 22700, "NCCL_P2P_DISABLE set by environment to {NCCL_P2P_DISABLE}", "NCCL_P2P_DISABLE", Subsystem::all},
    {Moment::topology, kAlways, kNever, "NCCL_SHM_DISABLE set by environment to {NCCL_SHM_DISABLE}.", "NCCL_SHM_DISABLE", Subsystem::env},
    {Moment::topology, 22800, kNever, "ncclTopoGetCpuAffinity: Affinity for GPU {device} is empty, ignoring. (GPU affinity =  ; CPU affinity = 0-1)."},
    {Moment::topology, kAlways, kNever, "NCCL_NVLS_ENABLE set by environment to {NCCL_NVLS_ENABLE}.", "NCCL_NVLS_ENABLE", Subsystem::env},
    {Moment::topology, 22800, 23000, "NVLS multicast support is not available on dev {device} (NVLS_NCHANNELS 0)", "one-node !nvls"},
    {Moment::topology, 23000, kNever, "NVLS multicast support is not available on dev {device}", "one-node !nvls"},
    {Moment::topology, 22300, kNever, "NVLS multicast support is available on dev {device} (NVLS_NCHANNELS 16)", "nvls"},
    {Moment::topology, 23000, kNever, "Rank {rank}: 1 Net devices"},
    {Moment::topology, 23000, kNever, "Rank {rank}: 0 CollNet devices"},
    {Moment::topology, 23000, kNever, "Local Net device counts across ranks: min 1 max 1", "rank-0"},
    {Moment::topology, 23000, kNever, "Local CollNet device counts across ranks: min 0 max 0", "rank-0"},
    {Moment::topology, 22000, kNever, "comm {comm} rank {rank} nRanks {nranks} nNodes {nodes} localRanks {local ranks} localRank {local rank} MNNVL 0"},
    {Moment::topology, kAlways, kNever, "Channel {channel}/{channels} : {ring}", "rank-0", Subsystem::init, Voice::caller, true},
    {Moment::topology, kAlways, kNever, "Trees {trees}"},
    {Moment::topology, kAlways, kNever, "P2P Chunksize set to 131072"},
    {Moment::topology, 23000, kNever, "Tuning P2P operations with maxP2pPeers = {nranks}", "!one-node"},

    {Moment::profiler, 23000, kNever, "ncclOsDlopen(libnccl-profiler.so) failed: libnccl-profiler.so: cannot open shared object file: No such file or directory"},
    {Moment::profiler, 22700, 22800, "PROFILER/Plugin: Could not find: libnccl-profiler.so. "},
    {Moment::profiler, 22800, kNever, "PROFILER/Plugin: Could not find: libnccl-profiler.so"},

    {Moment::planned, 22300, 22700, "Check P2P Type intraNodeP2pSupport {p2p} directMode 0", "rank-0"},
    {Moment::planned, 22700, 22800, "Check P2P Type isAllDirectP2p {p2p} directMode 0", "rank-0"},
    {Moment::planned, 22800, kNever, "Check P2P Type isAllDirectP2p {direct p2p} directMode 0 isAllCudaP2p 1"},

    {Moment::connecting, 22300, kNever, "[Proxy Service] Device {device} CPU core 0", "", Subsystem::net, Voice::proxy},
    {Moment::connecting, 23000, kNever, "proxy listening socket at {address}", "", Subsystem::net, Voice::proxy},
    {Moment::connecting, 22300, kNever, "[Proxy Service UDS] Device {device} CPU core 1", "", Subsystem::net, Voice::uds},
    {Moment::connecting, kAlways, 23000, "New proxy recv connection {channel} from local rank {local rank}, transport {transport number}", "", Subsystem::net, Voice::proxy, true},
    {Moment::connecting, kAlways, 22000, "Connection to proxy localRank {local rank} -> connection {proxy}", "", Subsystem::net},
    {Moment::connecting, 22000, 23000, "Connected to proxy localRank {local rank} -> connection {proxy}", "", Subsystem::net},

    {Moment::connected, kAlways, kNever, "Channel {channel}/0 : {here} -> {next} via {p2p kind}", "p2p", Subsystem::init, Voice::caller, true},
    {Moment::connected, kAlways, 23000, "Channel {channel} : {here} -> {next} via SHM/direct/direct", "shm", Subsystem::init, Voice::caller, true},
    {Moment::connected, 23000, kNever, "Channel {channel} : {here} -> {next} via SHM/direct", "shm", Subsystem::init, Voice::caller, true},
    {Moment::connected, kAlways, kNever, "Channel {channel}/0 : {previous} -> {here} [receive] via NET/{network}/0", "net", Subsystem::init, Voice::caller, true},
    {Moment::connected, kAlways, kNever, "Channel {channel}/0 : {here} -> {next} [send] via NET/{network}/0", "net", Subsystem::init, Voice::caller, true},
    {Moment::connected, kAlways, 22300, "Connected all rings"},
    {Moment::connected, 22300, kNever, "Connected all rings, use ring PXN 0 GDR {same host}"},
    {Moment::connected, kAlways, kNever, "Connected all trees", "!lazy"},
    {Moment::connected, 22300, kNever, "Connected binomial trees", "!lazy !one-node"},
    {Moment::connected, 22300, kNever, "[Proxy Progress] Device {device} CPU core 0", "!lazy", Subsystem::net, Voice::progress},

    {Moment::tuned, 23000, kNever, "ncclOsDlopen(libnccl-tuner.so) failed: libnccl-tuner.so: cannot open shared object file: No such file or directory"},
    {Moment::tuned, 22800, kNever, "TUNER/Plugin: Could not find: libnccl-tuner.so"},
    {Moment::tuned, kAlways, kNever, "threadThresholds 8/8/64 | {threshold}/8/64 | 512 | 512"},
    {Moment::tuned, kAlways, 22000, "{channels count} coll channels, 0 nvls channels, {channels count} p2p channels, 2 p2p channels per peer"},
    {Moment::tuned, 22000, kNever, "{channels count} coll channels, {channels count} collnet channels, 0 nvls channels, {channels count} p2p channels, {per peer} p2p channels per peer"},
    {Moment::tuned, 22900, 23000, "Symmetric memory is not supported. cuMemEnable 0, globalGinSupport 0, globalNicFused 0 cuMemGdrSupport 0", "!cumem"},
    {Moment::tuned, 23000, kNever, "Symmetric memory is not supported. cuMemEnable 0, globalGinSupport 0, cuMemGdrSupport 0", "!cumem"},
    {Moment::tuned, 22900, 23000, "Symmetric VA size=16GB", "cumem"},
    {Moment::tuned, 22300, kNever, "CC Off, workFifoBytes 1048576", "rank-0"},
    {Moment::tuned, 22000, 22300, "TUNER/Plugin: Plugin load returned 2 : libnccl-net.so: cannot open shared object file: No such file or directory : when loading libnccl-tuner.so"},
    {Moment::tuned, 22000, 22300, "TUNER/Plugin: Using internal tuner plugin."},
    {Moment::tuned, 22300, 22500, "TUNER/Plugin: Could not find: libnccl-tuner.so libnccl-net.so. Using internal tuner plugin."},
    {Moment::tuned, 22500, 22800, "TUNER/Plugin: Could not find: libnccl-tuner.so. Using internal tuner plugin."},

    {Moment::complete, kAlways, 22000, "{identity} {origin} - Init COMPLETE"},
    {Moment::complete, 22000, kNever, "{function} {identity} {origin} - Init COMPLETE"},
    {Moment::complete, 22300, kNever, "Init timings - {function}: rank {rank} nranks {nranks} total 0.03 (kernels 0.00, alloc 0.00, bootstrap 0.00, allgathers 0.00, topo 0.02, graphs 0.00, connections 0.00, rest 0.00)"},

    {Moment::first_call, 22900, kNever, "Symmetric VA size=16GB", "cumem"},

    {Moment::destroyed, kAlways, 23000, "comm {comm} rank {rank} nranks {nranks} cudaDev {device} busId {bus} - Destroy COMPLETE"},
    {Moment::aborted, kAlways, 23000, "comm {comm} rank {rank} nranks {nranks} cudaDev {device} busId {bus} - Abort COMPLETE"},
    {Moment::exit, 22807, 23000, "ENV/Plugin: Closing env plugin ncclEnvDefault"},
};
// clang-format on

bool holds(const char* when, const Facts& facts) {
  std::istringstream names(when);
  for (std::string name; names >> name;) {
    const bool wanted = name.front() != '!';
    if (facts.truths.contains(wanted ? name : name.substr(1)) != wanted) return false;
  }
  return true;
}

}  // namespace

void Facts::add_environment() {
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (!text.starts_with("NCCL_") || equals == std::string_view::npos || equals + 1 == text.size())
      continue;
    words[std::string(text.substr(0, equals))] = text.substr(equals + 1);
    truths.emplace(text.substr(0, equals));
  }
}

std::string fill_in(std::string_view text, const Facts& facts, int channel) {
  std::string filled;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = text[i] == '{' ? text.find('}', i) : std::string_view::npos;
    if (end == std::string_view::npos) {
      filled += text[i++];
      continue;
    }
    const std::string word(text.substr(i + 1, end - i - 1));
    char number[16];
    std::snprintf(number, sizeof number, "%02d", channel);
    const auto found = facts.words.find(word);
    filled += word == "channel" ? number : found == facts.words.end() ? "?" : found->second;
    i = end + 1;
  }
  return filled;
}

void log_moment(Moment moment, const Facts& facts, int device) {
  const int version = code_of(played());
  for (const Line& line : kLines) {
    if (line.moment != moment || version < line.since || version >= line.until ||
        !holds(line.when, facts))
      continue;
    const int channels =
        line.each_channel ? std::atoi(facts.words.at("channels count").c_str()) : 1;
    for (int channel = 0; channel < channels; ++channel)
      log_info(line.subsystem, device, fill_in(line.text, facts, channel), line.voice);
  }
}

}  // namespace safelaunch::testing
