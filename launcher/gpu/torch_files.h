#pragma once

#include <string>
#include <vector>

#include "safelaunch/gpu/python_places.h"

namespace safelaunch::gpu {

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

}  // namespace safelaunch::gpu
