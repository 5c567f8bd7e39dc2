#pragma once

#include <ctime>
#include <string>
#include <string_view>

namespace safelaunch::report {

/// Writes a tar archive (POSIX ustar) in memory: what every tar reads. Files of mode 0600 that
/// belong to nobody in particular, so that an archive tells nothing of who made it.
class UstarWriter {
 public:
  explicit UstarWriter(std::time_t modified) : modified_(modified) {}

  /// False where the name does not fit into a header (more than 255 bytes, or one part of it more
  /// than 100): the file is then not in the archive.
  [[nodiscard]] bool add(std::string_view name, std::string_view text);

  /// The archive; nothing can be added to it.
  [[nodiscard]] std::string finish();

 private:
  std::time_t modified_;
  std::string archive_;
};

/// The bytes as a gzip file.
[[nodiscard]] std::string gzip(std::string_view bytes);

}  // namespace safelaunch::report
