#pragma once

#include <optional>
#include <string>
#include <vector>

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

}  // namespace safelaunch::gpu
