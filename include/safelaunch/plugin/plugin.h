#pragma once

#include <filesystem>
#include <optional>
#include <span>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/installed_files.h"
#include "safelaunch/base/result.h"

/// Our profiler plugin for NCCL, libsafelaunch-nccl.so, and its way into a job; see docs/plugin.md.
namespace safelaunch::plugin {

/// The library, as it was compiled in.
[[nodiscard]] std::span<const EmbeddedFile> plugin_files();

/// Puts the library under `cache_dir` as base/installed_files.h says, and returns its path.
[[nodiscard]] Result<std::filesystem::path> install_plugin(const std::filesystem::path& cache_dir);

/// The path at which install_plugin() puts it; nothing is made.
[[nodiscard]] std::filesystem::path place_of_plugin(const std::filesystem::path& cache_dir);

/// Names the profiler plugin that NCCL would load without us, and the place that says so: "nsys, by
/// NCCL_PROFILER_PLUGIN", "x.so, by /etc/nccl.conf", "/opt/lib/libnccl-profiler.so, on
/// LD_LIBRARY_PATH". NCCL loads only one, so ours has to stay away then. Reads NCCL's configuration
/// files; `system_file` is the machine's.
[[nodiscard]] std::optional<std::string> users_profiler(
    const Environment& environment, const std::filesystem::path& system_file = "/etc/nccl.conf");

/// Adds the variables that make NCCL load the library, and that tell the library the address of
/// safelaunch: `socket` is a path, or `@name`; see docs/hook-protocol.md.
void add_plugin_to(Environment& environment, const std::filesystem::path& library,
                   std::string_view socket, std::string_view token);

}  // namespace safelaunch::plugin
