#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/process.h"
#include "safelaunch/base/result.h"
#include "safelaunch/base/time.h"
#include "safelaunch/launch/reaper.h"

namespace safelaunch::launch {

/// A small program of ours that runs beside a job, because the driver or library that it asks may
/// hang or crash.
struct HelperSpec {
  std::vector<std::string> argv;
  Environment environment;   ///< all of it
  Duration deadline{5'000};  ///< the time it has from its start on; zero: no limit
};

/// The end of a helper.
struct HelperEnd {
  std::optional<ExitStatus> status;  ///< nullopt: it was killed, and a driver does not let it end
  bool timed_out = false;            ///< its deadline came first
  std::string errors;                ///< the last 16 kB that it wrote to stderr
};

/// "exit status 3", "no answer within its time", with the last line of its stderr.
[[nodiscard]] std::string describe(const HelperEnd& end);

/// One running helper. At its deadline it is killed with its whole process group, by KILL: a
/// process that sits in a driver hears no TERM. A helper that cannot even be killed (state D) is
/// given up a second later, so its end is told whatever a driver does. To destroy the object kills
/// the helper, and nothing is told.
class Helper {
 public:
  using OnLine = std::function<void(std::string_view line)>;
  using OnEnd = std::function<void(const HelperEnd& end)>;

  /// Calls `on_line` for each line of its stdout (cut at 64 kB) and `on_end` once, after the last
  /// line; both through the io_context, and both may destroy the helper.
  /// Errors: not_found, not_executable, os.
  [[nodiscard]] static Result<Helper> start(boost::asio::io_context& io, Reaper& reaper,
                                            const HelperSpec& spec, OnLine on_line, OnEnd on_end);

  Helper(Helper&&) noexcept;
  Helper& operator=(Helper&& other) noexcept;
  ~Helper();

  [[nodiscard]] ProcessId id() const;

  /// Writes a line to its stdin. A helper that does not read its stdin, or has ended, misses the
  /// line.
  void write_line(std::string_view line);

  /// Ends its stdin.
  void close_input();

  /// Kills the helper before its deadline; its end is told as usual, and does not count as timed
  /// out.
  void kill();

 private:
  struct Running;
  explicit Helper(std::shared_ptr<Running> running);

  std::shared_ptr<Running> running_;
};

/// Everything that a helper said.
struct HelperOutput {
  std::vector<std::string> lines;  ///< the first ten thousand lines
  HelperEnd end;
};

/// Runs a helper to its end, for verbs. It makes a Reaper of its own, so there may be no other.
[[nodiscard]] Result<HelperOutput> run_helper(const HelperSpec& spec);

}  // namespace safelaunch::launch
