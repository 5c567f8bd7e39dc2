#pragma once

#include "safelaunch/base/environment.h"
#include "safelaunch/base/finding.h"
#include "safelaunch/gpu/python_places.h"

/// Finds the NCCL, the CUDA driver and the NVML that a job will load, as the loader would find
/// them. It reads files alone: nothing is opened with dlopen and no Python is started.
namespace safelaunch::gpu {

/// The reason why the loader would find a library. An earlier reason beats a later one.
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

/// Names the origin for a sentence: "LD_PRELOAD", "torch's RPATH", ….
[[nodiscard]] const char* describe(LibraryOrigin origin);

/// One copy of a library that the job could load.
struct FoundLibrary {
  std::string path;  ///< the path with its links kept, as dlopen should be given it
  LibraryOrigin origin = LibraryOrigin::system;
  std::string version;  ///< "2.28.9", "580.95.05"; empty where no file tells it
  bool operator==(const FoundLibrary&) const = default;
};

/// The places that the loader searches when nothing else names a library.
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

/// A command's libraries. Each list is in the loader's order: the job uses the first copy, the
/// others are in reach.
struct JobLibraries {
  PythonPlaces python;
  std::string torch_version;  ///< "2.13.0+cu130"; empty where there is no torch
  /// The CUDA that torch was built for, "13.0"; empty where it was built for none.
  std::string torch_cuda;
  bool nccl_inside_torch = false;  ///< torch has NCCL linked in, so it loads no libnccl
  /// The NCCL wheels of the first packages folder that has any ("nvidia_nccl_cu13-2.29.7"). Two of
  /// them overwrite each other's library.
  std::vector<std::string> nccl_wheels;
  std::vector<FoundLibrary> nccl;    ///< libnccl.so.2
  std::vector<FoundLibrary> driver;  ///< libcuda.so.1
  std::vector<FoundLibrary> nvml;    ///< libnvidia-ml.so.1
};

/// Looks for the libraries of a command whose Python is `python`: a word that exec would
/// understand, or empty where the command has no Python. Costs a few milliseconds. Where no file
/// name and no wheel tells NCCL's version, up to 32 MiB of the library are searched for it.
[[nodiscard]] JobLibraries find_job_libraries(std::string_view python,
                                              const Environment& environment,
                                              const SystemPlaces& system = {});

/// Lists the copies of one library ("libnvidia-ml.so.1") for a command without a Python.
[[nodiscard]] std::vector<FoundLibrary> find_library(std::string_view soname,
                                                     const Environment& environment,
                                                     const SystemPlaces& system = {});

/// Warns of two versions of NCCL in reach (F19), and of wheels that overwrote each other.
[[nodiscard]] std::vector<Finding> library_findings(const JobLibraries& libraries);

}  // namespace safelaunch::gpu
