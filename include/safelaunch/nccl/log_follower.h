#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace safelaunch::nccl {

/// The files into which NCCL_DEBUG_FILE sends the log: a folder, and a name in which each %h stands
/// for the host and each %p for the pid.
struct LogFile {
  std::string directory;  ///< "." for a bare name
  std::string name;       ///< "nccl.%h.%p"
};

/// Takes a value of NCCL_DEBUG_FILE apart. nullopt for stdout and stderr, which are no files to
/// read, and where %h or %p stand in the folder.
[[nodiscard]] std::optional<LogFile> parse_nccl_log_file(std::string_view value);

/// Writes a folder as a part of NCCL_DEBUG_FILE: NCCL reads '%%' as '%'.
[[nodiscard]] std::string escape_for_nccl(std::string_view directory);

/// True if NCCL can have made a file called `file` from the pattern `name`.
[[nodiscard]] bool is_nccl_log(std::string_view file, std::string_view name);

/// Reads the files of a folder that other processes write line by line, as they grow. The kernel
/// wakes us when something is written; where it cannot (no inotify left), read_now() alone reads.
/// It listens from a fifth of a second on; where no file is expected, only once there is one, and
/// the looks for it become ever rarer. Text that stood in a file before is left out.
///
/// Files that are not ours, or no files, are left alone. Memory is bounded: 64 KiB a file, and a
/// line that does not end in 64 KiB is cut. Use it on the io_context's thread; destroying it ends
/// all reading.
class LogFollower {
 public:
  struct Observer {
    std::function<bool(std::string_view name)> wanted;  ///< whether a file is followed
    /// Whether a file may come at all; asked once, after that fifth of a second.
    std::function<bool()> expects;
    std::function<void(const std::string& name, std::string_view line)> on_line;
  };
  /// The end of a file, as far as it was read.
  struct Ending {
    std::string name;
    std::string text;
  };

  LogFollower(boost::asio::io_context& io, std::filesystem::path directory, Observer observer);
  LogFollower(const LogFollower&) = delete;
  LogFollower& operator=(const LogFollower&) = delete;
  ~LogFollower();

  /// Hands over at once what was written until now.
  void read_now();
  /// Reads nothing any more.
  void stop();
  [[nodiscard]] std::vector<Ending> endings() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace safelaunch::nccl
