#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace safelaunch::report {

/// A file in which a job's output is recorded.
struct OutputFile {
  std::string name;  ///< "attempt-1-basic/rank-0.err"
  std::filesystem::path path;
  bool operator==(const OutputFile&) const = default;
};

/// The files of a run's output in the order in which people read them: attempt after attempt, in
/// each the launcher's, then the ranks'. With a rank, those of that rank alone. `log_dir` is the
/// folder of --log-dir, or empty.
[[nodiscard]] std::vector<OutputFile> output_files(const std::filesystem::path& directory,
                                                   const std::filesystem::path& log_dir,
                                                   std::optional<int> rank);

/// Reads one file as it grows. Text comes in whole lines, but for the last words of a file that is
/// `complete`, and may be shown on any screen (plain_text()).
class OutputReader {
 public:
  explicit OutputReader(std::filesystem::path path) : path_(std::move(path)) {}

  /// The next part of the file, at most a mebibyte of it; empty where there is no more.
  [[nodiscard]] std::string more(bool complete);

 private:
  std::filesystem::path path_;
  std::uint64_t read_ = 0;
  std::string rest_;  ///< the beginning of a line whose end is not written yet
};

}  // namespace safelaunch::report
