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
#include "safelaunch/host/cgroup.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/infiniband.h"
#include "safelaunch/host/interfaces.h"
#include "safelaunch/host/kernel_log.h"
#include "safelaunch/host/left_files.h"
#include "safelaunch/host/mounts.h"
#include "safelaunch/host/name_lookup.h"
#include "safelaunch/host/platform.h"
#include "safelaunch/host/reach.h"
#include "safelaunch/host/sockets.h"
#include "safelaunch/host/variable_files.h"

namespace safelaunch::doctor {

/// The doctor looks quickly before a run, and thoroughly when somebody asks it to.
enum class Depth {
  quick,  ///< before each run: takes milliseconds, and asks nothing that a dead server could hold
          ///< up
  full,   ///< for `safelaunch doctor`: also reads names, the master, drivers, libraries, other
          ///< processes
};

/// The port on which the ranks will meet, and the processes that hold it now.
struct MeetingPort {
  std::uint16_t port = 0;
  std::vector<host::PortHolder> holders;  ///< empty where the port is free
};

/// Everything that the doctor's findings rest on, read once. It is a plain value, so a test makes
/// its own.
struct HostFacts {
  Subject subject;
  World world;

  host::HostIdentity host;
  host::Platform platform;
  host::ResourceLimits limits;
  host::Quotas quotas;
  std::vector<host::Mount> mounts;
  host::SharedMemory shared_memory;
  std::vector<clean::StaleFile> segments;  ///< segments that jobs left behind in /dev/shm
  std::vector<clean::StaleFile> locks;     ///< locks that builds of torch's extensions left behind

  std::vector<host::NetworkInterface> interfaces;
  host::NameLookup own_name;
  host::NameLookup master_name;
  host::Route to_master;                     ///< the route to the first address of the master
  std::optional<host::Reachability> master;  ///< nullopt where no connection was tried
  host::Infiniband infiniband;

  std::vector<host::FileVariable> nccl_files;
  std::vector<host::FileVariable> deepspeed_files;
  std::optional<MeetingPort> port;
  std::vector<clean::StaleProcess> processes;

  bool imports_jax = false;                    ///< true if the command's script imports jax
  std::optional<gpu::JobLibraries> libraries;  ///< nullopt where they were not looked for
  std::vector<Package> packages;
  /// NCCL's network plugins, looked for where the adapters need one.
  std::vector<std::string> network_plugins;
  std::vector<host::KernelMessage>
      driver_messages;        ///< messages of the NVIDIA driver, where we may read them
  std::vector<Finding> gpus;  ///< findings that the room gpu makes of the driver's answers
};

[[nodiscard]] HostFacts read_facts(Subject subject, Depth depth);

}  // namespace safelaunch::doctor
