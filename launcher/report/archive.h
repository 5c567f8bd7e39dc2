#pragma once

#include <ctime>
#include <string>
#include <string_view>

namespace safelaunch::report {

/// Writes a tar archive (POSIX ustar, which every tar reads) in memory. Its files have mode 0600
/// and no owner, so that the archive does not tell who made it.
class UstarWriter {
 public:
  explicit UstarWriter(std::time_t modified) : modified_(modified) {}

  /// Adds a file. False if its name does not fit into a header (more than 255 bytes, or one part of
  /// it more than 100); the file is then left out.
  [[nodiscard]] bool add(std::string_view name, std::string_view text);

  /// Ends the archive and returns it.
  [[nodiscard]] std::string finish();

 private:
  std::time_t modified_;
  std::string archive_;
};

/// Compresses the bytes into a gzip file.
[[nodiscard]] std::string gzip(std::string_view bytes);

}  // namespace safelaunch::report
