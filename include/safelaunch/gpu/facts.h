#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// The facts that NVML tells of a host's GPUs, as plain values. They are read in a process of their
/// own (reader.h), since a sick driver may hang or crash the process that asks it. A fact that the
/// driver does not tell is empty, nullopt or `unknown`, because old drivers and small GPUs know
/// less.
namespace safelaunch::gpu {

/// A process with a context on a GPU. In a container NVML names the host's pids, or none.
struct Process {
  int pid = 0;
  std::optional<int> mib;  ///< its share of the GPU's memory
  bool operator==(const Process&) const = default;
};

enum class ComputeMode {
  shared,             ///< any number of processes
  exclusive_process,  ///< one process a GPU
  prohibited,         ///< none at all
  unknown,
};

/// The registration of a GPU with the NVLink fabric, which Fabric Manager does on hosts with
/// NVSwitches. Before it is `completed`, cuInit fails there with error 802.
enum class FabricState { unsupported, not_started, in_progress, completed, unknown };

enum class Health {
  well,
  lost,            ///< it has fallen off the bus
  reset_required,  ///< nothing runs on it until it is reset
  failing,         ///< it does not answer, for the reason that `trouble` tells
};

/// One slice of a GPU in MIG mode; a process sees one of them at a time.
struct MigDevice {
  std::string uuid;
  int memory_mib = 0;
  bool operator==(const MigDevice&) const = default;
};

/// One NVLink.
struct Link {
  int number = 0;
  bool active = false;
  std::string peer;  ///< the other end: "switch", or a PCI address
  bool operator==(const Link&) const = default;
};

/// How one GPU reaches another.
struct Path {
  int to = 0;             ///< index of the other GPU
  std::string p2p_read;   ///< "ok", "chipset", "gpu", "topology", "disabled", "unsupported"
  std::string p2p_write;  ///< the same words
  std::string nearest;    ///< the nearest part of the host that both share: "PIX", "PXB", "PHB",
                          ///< "NODE", "SYS"
  bool operator==(const Path&) const = default;
};

/// The memory errors that ECC has found, and the repairs that the driver has made or not.
struct MemoryErrors {
  std::optional<std::int64_t> uncorrected;  ///< counted since the driver was loaded
  bool repair_pending = false;              ///< the next reset takes rows or pages out of use
  bool repair_failed = false;  ///< no spare rows are left, so the GPU has to be replaced
  bool operator==(const MemoryErrors&) const = default;
};

struct Gpu {
  int index = 0;  ///< the number that NVML and nvidia-smi give it, along the PCI bus
  std::string uuid;
  std::string name;        ///< "NVIDIA H100 80GB HBM3"
  std::string pci;         ///< "00000000:1B:00.0"
  std::string capability;  ///< "9.0"
  std::optional<int> numa_node;
  int memory_mib = 0;
  int used_mib = 0;
  /// Per cent of the time in which a kernel ran, over the last moments.
  std::optional<int> busy_percent;
  std::vector<Process> processes;

  Health health = Health::well;
  std::string trouble;  ///< NVML's words, where the GPU is not well
  ComputeMode compute_mode = ComputeMode::unknown;
  bool mig = false;
  std::vector<MigDevice> slices;  ///< the slices; only in MIG mode
  MemoryErrors errors;
  std::string recovery;  ///< the driver's own advice: "none", "reset", "reboot", "drain", …

  FabricState fabric = FabricState::unknown;
  std::string fabric_trouble;  ///< the error of the registration itself
  std::vector<Link> links;
  std::vector<Path> paths;  ///< one to each other GPU
  bool operator==(const Gpu&) const = default;
};

/// The reason why the facts are missing or incomplete.
enum class Trouble {
  none,
  no_driver,        ///< there is no library of the driver here
  driver_mismatch,  ///< the driver was upgraded, and its kernel module is still the old one
  no_permission,    ///< the devices are there and may not be opened: a container that lost them
  no_answer,        ///< the driver did not answer in time
  crashed,          ///< the driver's library ended the process that asked
  failed,           ///< any other error, or an answer that makes no sense
};

struct Facts {
  Trouble trouble = Trouble::none;
  /// Words for a sentence: "the driver does not answer within 3s (asked for GPU 2)".
  std::string why;
  std::string driver;  ///< "580.95.05"
  std::string cuda;    ///< the newest CUDA that the driver runs: "13.0"
  std::vector<Gpu> gpus;
  bool operator==(const Facts&) const = default;
};

/// `safelaunch-probe gpus`: asks NVML about every GPU and prints the lines that facts_json.h reads,
/// each as soon as it is known. May hang or crash with the driver. Gives the exit status: 0, or 69
/// where no driver answers.
[[nodiscard]] int print_gpu_facts();

}  // namespace safelaunch::gpu
