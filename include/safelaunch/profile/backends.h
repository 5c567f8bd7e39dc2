#pragma once

#include <optional>
#include <string_view>

namespace safelaunch::profile {

/// A library by which ranks communicate: a backend of torch.distributed, or one that takes the
/// place of NCCL on other accelerators.
struct CommunicationLibrary {
  std::string_view backend;  ///< its name for init_process_group; empty: it passes for nccl
  std::string_view prefix;   ///< of its variables; empty: it has none
  std::string_view name;     ///< "HCCL (Huawei Ascend)"
  /// Whether NCCL may work below it, so that NCCL's variables may change something.
  bool over_nccl = false;
};

/// The library that reads variables with such a name; nullopt where none is known.
[[nodiscard]] std::optional<CommunicationLibrary> library_of_variable(std::string_view variable);

/// Whether a backend as given to init_process_group ("hccl", "cpu:gloo,cuda:nccl") may use NCCL.
/// One that nobody knows may.
[[nodiscard]] bool backend_may_use_nccl(std::string_view backend);

/// Whether a part of it is NCCL by name, which the profile key `backend: gloo` turns into gloo.
[[nodiscard]] bool backend_names_nccl(std::string_view backend);

}  // namespace safelaunch::profile
