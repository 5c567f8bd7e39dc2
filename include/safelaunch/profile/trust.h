#pragma once

#include <cstddef>

#include "safelaunch/base/result.h"
#include "safelaunch/profile/yaml_file.h"

namespace safelaunch::profile {

/// The facts from fstat(2) on which trust in a file depends.
struct FileFacts {
  enum class Type { regular, directory, fifo, socket, device };
  Type type = Type::regular;
  unsigned owner = 0;  ///< uid
  unsigned mode = 0;   ///< permission bits
};

/// Why a file must not decide what we run, and how to mend it: "writable by its group (mode 0664);
/// run `chmod go-w FILE`". nullopt where it may: it is of the wanted type, belongs to `user` or to
/// root, and nobody else can write to it.
[[nodiscard]] std::optional<std::string> distrust(const FileFacts& facts, FileFacts::Type wanted,
                                                  unsigned user, const std::string& path);

/// The content of a file that decides what we run; nullopt where there is none at that path. The
/// file is opened once and judged by its descriptor, so that nobody can swap it in between; it is
/// never waited for (a FIFO would block) and never followed (a link can be turned by who owns its
/// folder). Errors: distrust(), more than `most` bytes, what open and read report.
[[nodiscard]] Result<std::optional<std::string>> read_trusted_file(const std::string& path,
                                                                   std::size_t most = 1'000'000);

/// Whether a folder may decide which of its files we read: distrust() of the folder itself.
/// nullopt also where there is no such folder.
[[nodiscard]] std::optional<std::string> distrust_folder(const std::string& path);

/// Whether a file that merely lies in the working directory may set this variable: it tunes a
/// library and names no file, folder or plugin. Somebody may unpack a data set that holds such a
/// file, and start a script of their own there.
[[nodiscard]] bool is_harmless_variable(std::string_view name);

/// Names what in a config or a profile runs code, writes or deletes elsewhere: "sets LD_PRELOAD",
/// "changes the script's arguments". nullopt where it says nothing of that kind.
[[nodiscard]] std::optional<std::string> what_needs_trust(const YamlNode& root);

/// The same of a file's text; a text that is no YAML needs none, since its reader refuses it.
[[nodiscard]] std::optional<std::string> what_needs_trust(std::string_view text);

}  // namespace safelaunch::profile
