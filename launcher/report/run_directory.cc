#include "safelaunch/report/run_directory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/log.h"
#include "safelaunch/base/random.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/trusted_path.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/base/user_file.h"

// A run takes the first place in which it can make a folder of its own: the state directory, then
// the temporary one. The run that makes job.json owns the folder, so two runs never share one. A
// folder that the user named and that cannot be used is an error; without any folder the run goes
// on unrecorded.
namespace safelaunch::report {
namespace {

namespace fs = std::filesystem;

// Whether files can be made there. Permissions do not tell: root has them all, also in /proc. A
// disk that is full now may have room later.
bool takes_files(const fs::path& folder) {
  std::string name = folder / "safelaunch-XXXXXX";
  const UniqueFd made(mkostemp(name.data(), O_CLOEXEC));
  return made ? unlink(name.c_str()) == 0 : errno == ENOSPC || errno == EDQUOT;
}

/// Claims a folder by making its job.json, which only one run can. False if another run has.
bool claim(const fs::path& folder) {
  const UniqueFd made(open((folder / "job.json").c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  return made || errno != EEXIST;
}

/// Makes a link in the usual place to a run that is kept elsewhere. If that fails, only the list of
/// runs lacks it.
void list_among_runs(const fs::path& directory, const std::string& run_id,
                     const Environment& environment) {
  const fs::path usual = runs_directory(environment);
  std::error_code error;
  if (!usual.empty() && make_private_folder(usual))
    fs::create_directory_symlink(directory, usual / run_id, error);
}

}  // namespace

fs::path runs_directory(const Environment& environment) {
  return state_file(environment, "runs");
}

fs::path temporary_runs_directory(const Environment& environment) {
  const std::string_view named = value_or(environment, "TMPDIR");
  return fs::path(named.starts_with('/') ? named : "/tmp") /
         fmt::format("safelaunch-{}", getuid()) / "runs";
}

std::vector<fs::path> places_of_runs(const Environment& environment) {
  return {runs_directory(environment), temporary_runs_directory(environment)};
}

std::string new_run_id() {
  const time_t now = time(nullptr);
  tm parts{};
  localtime_r(&now, &parts);
  std::array<char, 32> stamp{};
  const std::size_t used = strftime(stamp.data(), stamp.size(), "%Y%m%d-%H%M%S", &parts);
  return fmt::format("{}-{}", std::string_view(stamp.data(), used), random_word(3));
}

Result<void> make_named_folder(std::string_view option, const fs::path& folder) {
  if (make_folder(folder) && takes_files(folder)) return {};
  return Error{Errc::os, fmt::format("{} {}: cannot be made or written: {}", option,
                                     folder.native(), std::strerror(errno))};
}

Result<RunDirectory> RunDirectory::create(const fs::path& wanted, const std::string& run_id,
                                          const Environment& environment) {
  RunDirectory result;
  if (!wanted.empty()) {
    if (const Result<void> made = make_named_folder("--run-dir", wanted); !made)
      return made.error();
    // The user's team may be able to write there too: there is a warning, and the folder is used.
    if (const auto why = distrust_path(wanted))
      result.trouble_ = fmt::format("--run-dir: {}, and so change what is recorded there", *why);
    if (auto moved = result.settle_in(fs::absolute(wanted), run_id)) return *moved;
    list_among_runs(result.path_, run_id, environment);
    return result;
  }
  std::vector<std::string> reasons;
  for (const fs::path& place : places_of_runs(environment)) {
    const Result<void> made =
        place.empty() ? Error{Errc::os, "HOME is not set"} : make_private_folder(place / run_id);
    if (made) {
      result.path_ = place / run_id;
      return result;
    }
    reasons.push_back(made.error().message);
  }
  result.trouble_ = "nothing is recorded: " + join(reasons, "; ");
  return result;
}

std::optional<Error> RunDirectory::settle_in(const fs::path& wanted, const std::string& run_id) {
  path_ = wanted;
  if (claim(wanted)) return std::nullopt;
  path_ = wanted / run_id;
  if (!make_folder(path_) || !claim(path_))
    return Error{Errc::os,
                 fmt::format("--run-dir {}: holds another run, and no folder for this one "
                             "can be made in it: {}",
                             wanted.native(), std::strerror(errno))};
  if (!trouble_.empty()) trouble_ += "; ";
  trouble_ += fmt::format("--run-dir {} holds another run already; this one is kept in {}",
                          wanted.native(), path_.native());
  return std::nullopt;
}

fs::path RunDirectory::attempt(int number, std::string_view profile) const {
  if (path_.empty()) return {};
  const fs::path made = path_ / fmt::format("attempt-{}-{}", number, profile);
  const bool ours = mkdir(made.c_str(), 0700) == 0 || is_folder_of_ours(made);
  return ours ? made : fs::path{};
}

bool is_folder_of_ours(const fs::path& path) {
  struct stat facts {};
  return lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid();
}

void write_later(DiskQueue& disk, fs::path file, std::string text) {
  const std::size_t size = text.size();
  const std::string name = file.filename();
  const auto write = [path = std::move(file), whole = std::move(text)] {
    mkdir(path.parent_path().c_str(), 0700);  // it is there already but for the evidence's
    (void)replace_file(path, whole);
  };
  if (!disk.post(size, write))
    log_warning(fmt::format("the disk is too slow: {} is not recorded", name));
}

}  // namespace safelaunch::report
