#include "safelaunch/report/run_directory.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include <array>
#include <cstring>

#include "safelaunch/base/format.h"
#include "safelaunch/base/unique_fd.h"

namespace safelaunch {
namespace {

namespace fs = std::filesystem;

// mkdir -p with mode 0700 for what is new. Nothing is said of a folder that is there already.
bool make_directories(const fs::path& path) {
  if (mkdir(path.c_str(), 0700) == 0) return true;
  if (errno == EEXIST) return access(path.c_str(), W_OK | X_OK) == 0;
  if (errno != ENOENT || !path.has_parent_path() || path.parent_path() == path) return false;
  return make_directories(path.parent_path()) && mkdir(path.c_str(), 0700) == 0;
}

}  // namespace

fs::path runs_directory(const Environment& environment) {
  if (const auto state = value_or(environment, "XDG_STATE_HOME"); !state.empty())
    return fs::path(state) / "safelaunch/runs";
  if (const auto home = value_or(environment, "HOME"); !home.empty())
    return fs::path(home) / ".local/state/safelaunch/runs";
  return {};
}

fs::path temporary_runs_directory(const Environment& environment) {
  const std::string_view named = value_or(environment, "TMPDIR", "/tmp");
  return fs::path(named) / fmt::format("safelaunch-{}", getuid()) / "runs";
}

std::string new_run_id() {
  const time_t now = time(nullptr);
  tm parts{};
  localtime_r(&now, &parts);
  std::array<char, 32> stamp{};
  const std::size_t used = strftime(stamp.data(), stamp.size(), "%Y%m%d-%H%M%S", &parts);
  std::uint32_t noise = static_cast<std::uint32_t>(getpid());
  // Without entropy (very early boot) the pid has to do: the folder's mkdir still excludes twins.
  (void)!getrandom(&noise, sizeof noise, GRND_NONBLOCK);
  return fmt::format("{}-{:06x}", std::string_view(stamp.data(), used), noise & 0xffffffU);
}

Result<RunDirectory> RunDirectory::create(const fs::path& wanted, const std::string& run_id,
                                          const Environment& environment) {
  RunDirectory result;
  if (!wanted.empty()) {
    if (!make_directories(wanted))
      return Error{Errc::os, fmt::format("--run-dir {}: cannot be made or written: {}",
                                         wanted.native(), std::strerror(errno))};
    result.path_ = wanted;
    return result;
  }
  const fs::path usual = runs_directory(environment);
  if (!usual.empty() && make_directories(usual / run_id)) {
    result.path_ = usual / run_id;
    return result;
  }
  const std::string reason = usual.empty() ? "HOME is not set" : std::strerror(errno);
  const fs::path temporary = temporary_runs_directory(environment) / run_id;
  if (make_directories(temporary)) {
    result.path_ = temporary;
    return result;
  }
  result.trouble_ = fmt::format("nothing is recorded: neither {} ({}) nor {} ({}) can be written",
                                usual.empty() ? "~/.local/state" : usual.native(), reason,
                                temporary.native(), std::strerror(errno));
  return result;
}

fs::path RunDirectory::attempt(int number, std::string_view profile) const {
  if (path_.empty()) return {};
  const fs::path made = path_ / fmt::format("attempt-{}-{}", number, profile);
  return make_directories(made) ? made : fs::path{};
}

bool write_atomically(const fs::path& file, std::string_view text) {
  const fs::path temporary = file.native() + ".new";
  const UniqueFd fd(
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return false;
  const bool written =
      write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (written && rename(temporary.c_str(), file.c_str()) == 0) return true;
  unlink(temporary.c_str());
  return false;
}

}  // namespace safelaunch
