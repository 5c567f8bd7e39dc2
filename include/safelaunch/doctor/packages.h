#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace safelaunch::doctor {

/// A Python package as its wheel was installed.
struct Package {
  std::string name;  ///< "deepspeed", as in the name of its dist-info
  std::string version;
  bool operator==(const Package&) const = default;
};

/// What the name of a folder "deepspeed-0.19.8.dist-info" says; empty for other names.
[[nodiscard]] Package parse_dist_info(std::string_view folder);

/// The frameworks that are installed in the first of the folders that holds each: torch, jax,
/// deepspeed, accelerate, lightning. Reads names of folders alone; no Python is started.
[[nodiscard]] std::vector<Package> frameworks_in(std::span<const std::string> folders);

/// The version of a package, empty where it is not there.
[[nodiscard]] std::string version_of(std::span<const Package> packages, std::string_view name);

/// Whether a Python source has a line that imports the module, or something of it.
[[nodiscard]] bool imports_module(std::string_view source, std::string_view module);

}  // namespace safelaunch::doctor
