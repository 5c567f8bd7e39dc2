#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/exit_status.h"
#include "safelaunch/base/process_id.h"
#include "safelaunch/base/result.h"
#include "safelaunch/base/time.h"
#include "safelaunch/launch/reaper.h"

namespace safelaunch::launch {

/// A small program of ours to be run beside a job, because what it asks (a driver, a library of
/// somebody else) may hang or crash.
struct HelperSpec {
  std::vector<std::string> argv;
  Environment environment;   ///< all of it
  Duration deadline{5'000};  ///< from the start on; zero: none yet
};

/// How a helper ended.
struct HelperEnd {
  std::optional<ExitStatus> status;  ///< nullopt: it was killed, and its driver does not let it end
  bool timed_out = false;            ///< the deadline came first
  std::string errors;                ///< the end of what it wrote to stderr, 16 kB at most
};

/// "exit status 3", "no answer within its time", with the last line of its stderr.
[[nodiscard]] std::string describe(const HelperEnd& end);

/// One running helper. Past its deadline it is killed with all of its process group, by KILL: who
/// sits in a driver hears no TERM. One that cannot even be killed (state D) is given up a second
/// later, so the end is told whatever a driver does. Destroying it kills it, and nothing is told.
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

  /// A line for its stdin. One that does not read its stdin, or has ended, misses it.
  void write_line(std::string_view line);

  /// A new deadline, from now on; zero takes it back.
  void move_deadline(Duration from_now);

  /// Now, not at the deadline; the end is told as usual, as one that was not timed out.
  void kill();

 private:
  struct Running;
  explicit Helper(std::shared_ptr<Running> running);

  std::shared_ptr<Running> running_;
};

/// All that a helper had to say.
struct HelperOutput {
  std::vector<std::string> lines;  ///< the first ten thousand
  HelperEnd end;
};

/// Runs a helper to its end, for verbs: with a Reaper of its own, so not while there is another.
[[nodiscard]] Result<HelperOutput> run_helper(const HelperSpec& spec);

}  // namespace safelaunch::launch
