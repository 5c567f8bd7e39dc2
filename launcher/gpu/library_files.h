#pragma once

#include <optional>

#include "safelaunch/gpu/python_places.h"

namespace safelaunch::gpu {

/// The parts of a shared library that the loader reads before it maps it. `$ORIGIN` is filled in.
struct ElfFile {
  std::vector<std::string> needed;
  std::vector<std::string> rpath;  ///< searched before LD_LIBRARY_PATH
  /// Searched after LD_LIBRARY_PATH; where there is one, rpath is ignored.
  std::vector<std::string> runpath;
};

/// Reads an ELF file's headers and a few names, whatever its size; nullopt where it is no ELF file
/// of this machine's kind.
[[nodiscard]] std::optional<ElfFile> read_elf(const std::string& path);

/// True if the loader would take the file, false if it would go on to the next folder.
[[nodiscard]] bool is_loadable(const std::string& path);

/// Lists the paths that the bytes of /etc/ld.so.cache give for a library's name, in the loader's
/// order, those for other machines among them. Bytes that make no sense give no path.
[[nodiscard]] std::vector<std::string> cached_paths(std::string_view cache,
                                                    std::string_view soname);

/// The facts that the files of an installed torch tell.
struct TorchFiles {
  std::string version;               ///< "2.13.0+cu130"; empty where there is no torch
  std::string cuda;                  ///< "13.0"; empty where it was built for the CPU (or ROCm)
  bool holds_nccl = false;           ///< its CUDA library needs no libnccl, so NCCL is linked in
  std::vector<std::string> rpath;    ///< the RPATH of its CUDA library
  std::vector<std::string> runpath;  ///< the RUNPATH of its CUDA library
};

/// Reads the torch that `import torch` would take.
[[nodiscard]] TorchFiles read_torch(const PythonPlaces& python);

/// Finds the value that a line `name = 'value'` or `name: type = 'value'` gives in
/// torch/version.py.
[[nodiscard]] std::string python_text(std::string_view source, std::string_view name);

/// Reads the version in a file name: "2.28.9" of "libnccl.so.2.28.9", "580.95.05" of
/// "libcuda.so.580.95.05". Empty where fewer than three numbers stand behind ".so.".
[[nodiscard]] std::string version_in_file_name(std::string_view file);

/// Reads the version in a wheel's name: "2.29.7" of "nvidia_nccl_cu13-2.29.7".
[[nodiscard]] std::string version_of_wheel(std::string_view wheel);

/// Lists the NCCL wheels that are installed in a packages folder ("nvidia_nccl_cu13-2.29.7").
[[nodiscard]] std::vector<std::string> nccl_wheels_in(const std::string& packages);

/// Searches the first 32 MiB of libnccl for the version that it would print; empty where they do
/// not hold it.
[[nodiscard]] std::string nccl_version_inside(const std::string& path);

/// Finds the version of a library by the cheapest of these ways that tells it.
[[nodiscard]] std::string version_of_library(const std::string& path);

}  // namespace safelaunch::gpu
