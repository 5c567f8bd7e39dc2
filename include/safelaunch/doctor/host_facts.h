#pragma once

#include <span>

#include "safelaunch/base/finding.h"
#include "safelaunch/clean/stale.h"
#include "safelaunch/clean/stale_file.h"
#include "safelaunch/doctor/subject.h"
#include "safelaunch/gpu/facts.h"
#include "safelaunch/gpu/libraries.h"
#include "safelaunch/gpu/visible.h"
#include "safelaunch/host/cgroup.h"
#include "safelaunch/host/clock.h"
#include "safelaunch/host/firewall.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/infiniband.h"
#include "safelaunch/host/left_files.h"
#include "safelaunch/host/mounts.h"
#include "safelaunch/host/network.h"
#include "safelaunch/host/platform.h"
#include "safelaunch/host/sockets.h"
#include "safelaunch/host/variable_files.h"

namespace safelaunch::doctor {

/// A Python package, as its wheel was installed.
struct Package {
  std::string name;  ///< "deepspeed", the name in its dist-info folder
  std::string version;
  bool operator==(const Package&) const = default;
};

/// Reads name and version from a folder's name ("deepspeed-0.19.8.dist-info"); gives an empty
/// package for other names.
[[nodiscard]] Package parse_dist_info(std::string_view folder);

/// Lists the installed frameworks (torch, jax, deepspeed, accelerate, lightning, transformers).
/// If several folders hold one, the first folder counts. Reads names of folders alone; no Python
/// is started.
[[nodiscard]] std::vector<Package> frameworks_in(std::span<const std::string> folders);

/// The version of the package with this name; empty where it is not installed.
[[nodiscard]] std::string version_of(std::span<const Package> packages, std::string_view name);

/// True if a line of the Python source imports the module, or something of it.
[[nodiscard]] bool imports_module(std::string_view source, std::string_view module);

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

/// The CUDA toolkit by which torch builds extensions; empty where there is none.
struct Toolkit {
  std::string folder;   ///< "/usr/local/cuda"
  std::string version;  ///< "12.4"
};

/// Finds it where torch.utils.cpp_extension does: CUDA_HOME, CUDA_PATH, the folder of the nvcc in
/// PATH, `usual`. Its header cuda.h tells the version; nothing is started.
[[nodiscard]] Toolkit find_toolkit(const Environment& environment,
                                   const std::filesystem::path& usual = "/usr/local/cuda");

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
  host::NameLookup localhost;  ///< the name `localhost`
  host::NameLookup master_name;
  host::Route to_master;                     ///< the route to the first address of the master
  std::optional<host::Reachability> master;  ///< nullopt where no connection was tried
  host::Firewall firewall =
      host::Firewall::unknown;            ///< that of this host; not looked for before a run
  std::optional<host::ClockState> clock;  ///< not asked for before a run
  host::Infiniband infiniband;

  std::vector<host::FileVariable> nccl_files;
  std::vector<host::FileVariable> deepspeed_files;
  std::optional<MeetingPort> port;
  /// Somebody on this host listens on the port of torchrun's endpoint.
  bool endpoint_served = false;
  std::vector<clean::StaleProcess> processes;

  std::string script;        ///< the beginning of the command's script; empty where none is read
  bool imports_jax = false;  ///< true if the command's script imports jax
  bool has_mpi4py = false;   ///< true if the job's Python has it; not looked for before a run
  std::optional<gpu::JobLibraries> libraries;  ///< nullopt where they were not looked for
  std::vector<Package> packages;
  Toolkit toolkit;  ///< not looked for before a run
  /// NCCL's network plugins, looked for where the adapters need one.
  std::vector<std::string> network_plugins;
  std::vector<host::KernelMessage>
      driver_messages;  ///< messages of the NVIDIA driver, where we may read them

  /// How many GPUs a program finds. Before a run no driver is asked, so the kernel's devices count.
  /// nullopt: there may be some, and the driver does not say how many.
  std::optional<int> gpus = 0;
  gpu::VisibleGpus visible_gpus;      ///< libcuda's account; before a run there is none
  gpu::Facts nvml;                    ///< NVML's account; before a run there is none
  std::vector<Finding> gpu_findings;  ///< those that the room gpu makes of both
};

[[nodiscard]] inline bool may_use_gpus(const HostFacts& facts) {
  return facts.gpus != 0;
}

[[nodiscard]] HostFacts read_facts(Subject subject, Depth depth);

}  // namespace safelaunch::doctor
