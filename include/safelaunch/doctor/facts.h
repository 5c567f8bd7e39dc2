#pragma once

#include <optional>
#include <string>
#include <vector>

#include "safelaunch/base/finding.h"
#include "safelaunch/clean/stale.h"
#include "safelaunch/clean/stale_file.h"
#include "safelaunch/doctor/packages.h"
#include "safelaunch/doctor/subject.h"
#include "safelaunch/gpu/libraries.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/infiniband.h"
#include "safelaunch/host/interfaces.h"
#include "safelaunch/host/kernel_log.h"
#include "safelaunch/host/left_files.h"
#include "safelaunch/host/limits.h"
#include "safelaunch/host/mounts.h"
#include "safelaunch/host/name_lookup.h"
#include "safelaunch/host/platform.h"
#include "safelaunch/host/quotas.h"
#include "safelaunch/host/reach.h"
#include "safelaunch/host/route.h"
#include "safelaunch/host/sockets.h"
#include "safelaunch/host/variable_files.h"

namespace safelaunch::doctor {

/// How far the doctor looks.
enum class Depth {
  quick,  ///< before each run: milliseconds, and nothing that a dead server could hold up
  full,   ///< `safelaunch doctor`: also names, the master, drivers, libraries, other processes
};

/// Who holds the port on which the ranks are to meet.
struct MeetingPort {
  std::uint16_t port = 0;
  std::vector<host::PortHolder> holders;  ///< empty: it is free
};

/// Everything that the doctor's findings rest on, read once. A plain value: a test makes its own.
struct HostFacts {
  Subject subject;
  World world;

  host::HostIdentity host;
  host::Platform platform;
  host::ResourceLimits limits;
  host::Quotas quotas;
  std::vector<host::Mount> mounts;
  host::SharedMemory shared_memory;
  std::vector<clean::StaleFile> segments;  ///< of /dev/shm, left behind
  std::vector<clean::StaleFile> locks;     ///< of extensions, left behind

  std::vector<host::NetworkInterface> interfaces;
  host::NameLookup own_name;
  host::NameLookup master_name;
  host::Route to_master;                     ///< to the first address of the master
  std::optional<host::Reachability> master;  ///< nullopt: it was not tried
  host::Infiniband infiniband;

  std::vector<host::FileVariable> nccl_files;
  std::vector<host::FileVariable> deepspeed_files;
  std::optional<MeetingPort> port;
  std::vector<clean::StaleProcess> processes;

  bool imports_jax = false;                    ///< the command's script does
  std::optional<gpu::JobLibraries> libraries;  ///< nullopt: nobody looked
  std::vector<Package> packages;
  std::vector<std::string> network_plugins;  ///< NCCL's, looked for where the adapters need one
  std::vector<host::KernelMessage>
      driver_messages;        ///< of the NVIDIA driver, where we may read them
  std::vector<Finding> gpus;  ///< what the driver's answers mean (room gpu)
};

[[nodiscard]] HostFacts read_facts(Subject subject, Depth depth);

}  // namespace safelaunch::doctor
