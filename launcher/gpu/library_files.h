#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/gpu/python_places.h"

namespace safelaunch::gpu {

/// What the loader reads of a shared library before it maps it. `$ORIGIN` is filled in.
struct ElfFile {
  std::vector<std::string> needed;
  std::vector<std::string> rpath;    ///< searched before LD_LIBRARY_PATH
  std::vector<std::string> runpath;  ///< searched after it; where there is one, rpath is ignored
};

/// nullopt for what is no ELF file of this machine's kind. Reads its headers and a few names,
/// whatever its size.
[[nodiscard]] std::optional<ElfFile> read_elf(const std::string& path);

/// Whether the loader would take the file, or go on to the next folder.
[[nodiscard]] bool is_loadable(const std::string& path);

/// The paths that the bytes of /etc/ld.so.cache give for a library's name, in the loader's order;
/// those for other machines among them. Empty for bytes that make no sense.
[[nodiscard]] std::vector<std::string> cached_paths(std::string_view cache,
                                                    std::string_view soname);

/// What the files of an installed torch tell.
struct TorchFiles {
  std::string version;               ///< "2.13.0+cu130"; empty: there is no torch
  std::string cuda;                  ///< "13.0"; empty: built for the CPU (or ROCm)
  bool holds_nccl = false;           ///< its CUDA library needs no libnccl: NCCL is linked in
  std::vector<std::string> rpath;    ///< of its CUDA library
  std::vector<std::string> runpath;  ///< of its CUDA library
};

/// Those of the torch that `import torch` would take.
[[nodiscard]] TorchFiles read_torch(const PythonPlaces& python);

/// The value that a line `name = 'value'` or `name: type = 'value'` gives in torch/version.py.
[[nodiscard]] std::string python_text(std::string_view source, std::string_view name);

/// "2.28.9" of "libnccl.so.2.28.9", "580.95.05" of "libcuda.so.580.95.05"; empty where the name has
/// fewer than three numbers behind ".so.".
[[nodiscard]] std::string version_in_file_name(std::string_view file);

/// "2.29.7" of "nvidia_nccl_cu13-2.29.7".
[[nodiscard]] std::string version_of_wheel(std::string_view wheel);

/// The names of the NCCL wheels that were installed into a packages folder
/// ("nvidia_nccl_cu13-2.29.7").
[[nodiscard]] std::vector<std::string> nccl_wheels_in(const std::string& packages);

/// What libnccl would print as its version, looked for in its first 32 MiB; empty where it is not
/// there.
[[nodiscard]] std::string nccl_version_inside(const std::string& path);

/// The version of a library, by the cheapest of these that tells it.
[[nodiscard]] std::string version_of_library(const std::string& path);

}  // namespace safelaunch::gpu
