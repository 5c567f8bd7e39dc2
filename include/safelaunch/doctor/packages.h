#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace safelaunch::doctor
