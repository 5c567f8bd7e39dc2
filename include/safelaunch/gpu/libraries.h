#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/finding.h"
#include "safelaunch/gpu/python_places.h"

/// Which NCCL, CUDA driver and NVML a job will load, found as the loader finds them, from files
/// alone: nothing is opened with dlopen and no Python is started.
namespace safelaunch::gpu {

/// Why a library would be found. In this order they win, but for torch_late.
enum class LibraryOrigin {
  preload,       ///< LD_PRELOAD names it
  torch,         ///< the RPATH of torch's CUDA library, which beats LD_LIBRARY_PATH
  python,        ///< the RPATH of the interpreter (conda's lib)
  jax,           ///< JAX's CUDA plug-in loads its wheel by path
  library_path,  ///< LD_LIBRARY_PATH
  torch_late,    ///< the RUNPATH of torch's CUDA library, which LD_LIBRARY_PATH beats
  packages,      ///< a wheel in site-packages that no framework there is linked with
  system,        ///< the loader's cache and folders
};

/// "LD_PRELOAD", "torch's RPATH", …: for a sentence.
[[nodiscard]] const char* describe(LibraryOrigin origin);

/// One copy of a library in reach of the job.
struct FoundLibrary {
  std::string path;  ///< links kept, as dlopen should be given it
  LibraryOrigin origin = LibraryOrigin::system;
  std::string version;  ///< "2.28.9", "580.95.05"; empty where no file tells it
  bool operator==(const FoundLibrary&) const = default;
};

/// What the loader looks through when nothing else names a library.
struct SystemPlaces {
  std::string loader_cache = "/etc/ld.so.cache";
  std::vector<std::string> folders = {"/usr/lib/x86_64-linux-gnu",
                                      "/usr/lib/aarch64-linux-gnu",
                                      "/lib64",
                                      "/usr/lib64",
                                      "/lib",
                                      "/usr/lib",
                                      "/usr/lib/wsl/lib",
                                      "/usr/local/nvidia/lib64"};
};

/// A command's libraries. Each list is in the order in which the loader would take them: the first
/// is what the job uses, the rest is in reach.
struct JobLibraries {
  PythonPlaces python;
  std::string torch_version;       ///< "2.13.0+cu130"; empty: no torch there
  std::string torch_cuda;          ///< the CUDA that torch was built for, "13.0"; empty: none
  bool nccl_inside_torch = false;  ///< torch has NCCL linked in: no libnccl is loaded for it
  /// "nvidia_nccl_cu13-2.29.7": those of the first packages folder that has any. Two of them
  /// overwrite each other's library.
  std::vector<std::string> nccl_wheels;
  std::vector<FoundLibrary> nccl;    ///< libnccl.so.2
  std::vector<FoundLibrary> driver;  ///< libcuda.so.1
  std::vector<FoundLibrary> nvml;    ///< libnvidia-ml.so.1
};

/// Looks for the libraries of a command whose Python is `python` (a word that exec would
/// understand; empty: the command has none). Costs a few milliseconds; where no file name and no
/// wheel tells NCCL's version, up to 32 MiB of the library are searched for it.
[[nodiscard]] JobLibraries find_job_libraries(std::string_view python,
                                              const Environment& environment,
                                              const SystemPlaces& system = {});

/// The copies of one library alone, without a Python: "libnvidia-ml.so.1".
[[nodiscard]] std::vector<FoundLibrary> find_library(std::string_view soname,
                                                     const Environment& environment,
                                                     const SystemPlaces& system = {});

/// Two versions of NCCL in reach (F19), and wheels that overwrote each other.
[[nodiscard]] std::vector<Finding> library_findings(const JobLibraries& libraries);

}  // namespace safelaunch::gpu
