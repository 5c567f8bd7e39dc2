#include "safelaunch/launch/find_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <vector>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/trusted_path.h"

// A program is looked for as a shell does it: a file that cannot be executed is passed over as long
// as PATH has more to offer, and is named only where nothing else is found. Our own probe program
// is executed only if nobody but its installer could have put it where it is.
namespace safelaunch::launch {
namespace {

enum class Candidate { missing, forbidden, good };

Candidate examine(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return Candidate::missing;
  return S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0 ? Candidate::good
                                                                    : Candidate::forbidden;
}

Error cannot_execute(std::string_view path) {
  return Error{Errc::not_executable,
               fmt::format("cannot execute {}: it is a directory or not marked executable", path)};
}

/// `HF_TOKEN=… python train.py`, as only a shell reads it. Its value may be a secret.
std::optional<std::string> taken_for_variable(std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  const bool is_name = std::ranges::all_of(name, [](char c) {
    return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || is_digit(c);
  });
  if (name.empty() || name.size() == word.size() || !is_name || is_digit(name.front()))
    return std::nullopt;
  return fmt::format(
      "command not found: '{0}=…': a variable stands before safelaunch (`{0}=… safelaunch …`), or "
      "behind env",
      name);
}

/// The folders that execvp(3) searches where PATH is not set.
constexpr std::string_view kDefaultPath = "/bin:/usr/bin";

}  // namespace

Result<std::string> find_program(std::string_view word, const Environment& environment) {
  const bool is_path = word.find('/') != std::string_view::npos;
  std::string_view rest = is_path ? "" : value_or(environment, "PATH", kDefaultPath);
  std::string forbidden;
  for (bool more = !word.empty(); more;) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);  // an empty one is the present directory
    std::string path = folder.empty() ? std::string(word) : fmt::format("{}/{}", folder, word);
    const Candidate candidate = examine(path);
    if (candidate == Candidate::good) return path;
    if (candidate == Candidate::forbidden && forbidden.empty()) forbidden = path;
    more = colon != std::string_view::npos;
    if (more) rest.remove_prefix(colon + 1);
  }
  if (!forbidden.empty()) return cannot_execute(forbidden);
  if (const auto variable = taken_for_variable(word)) return Error{Errc::not_found, *variable};
  return Error{Errc::not_found,
               is_path ? fmt::format("no such file: {}", word)
                       : fmt::format("command not found: '{}' (looked in PATH)", word)};
}

std::vector<std::string> programs_in_path(std::string_view name, const Environment& environment) {
  std::vector<std::string> programs;
  for (std::string_view rest = value_or(environment, "PATH", kDefaultPath); !rest.empty();) {
    const std::string_view folder = take_word(rest, ':');
    std::string path = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    if (examine(path) == Candidate::good) programs.push_back(std::move(path));
  }
  return programs;
}

namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

// The places of the probe for a program of ours in `folder`. The build's own place counts for the
// build's own program alone: beside a copy of it, ../probe may be a neighbour's.
std::vector<fs::path> places_beside(const fs::path& folder) {
  std::vector<fs::path> places{folder / "safelaunch-probe",
                               folder / "../libexec/safelaunch/safelaunch-probe"};
  if (folder.parent_path().filename() == "launcher" && folder.filename() == "cli")
    places.push_back(folder / "../probe/safelaunch-probe");
  return places;
}

// Whether the probe belongs to the owner of our own program. The owner could have changed our
// program as well, so a probe of theirs beside it is trusted as it is.
bool came_with(const fs::path& path, const fs::path& program) {
  struct stat its {};
  struct stat ours {};
  return path.parent_path() == program.parent_path() && ::lstat(path.c_str(), &its) == 0 &&
         ::stat(program.c_str(), &ours) == 0 && S_ISREG(its.st_mode) && its.st_uid == ours.st_uid;
}

}  // namespace

Result<std::string> find_probe_program(const Environment& environment) {
  if (const auto named = value_or(environment, "SAFELAUNCH_PROBE_PROGRAM"); !named.empty()) {
    if (is_program(named)) return std::string(named);
    return Error{Errc::not_found, fmt::format("SAFELAUNCH_PROBE_PROGRAM={} is no program", named)};
  }
  std::error_code error;
  return find_probe_program_of(fs::read_symlink("/proc/self/exe", error));
}

Result<std::string> find_probe_program_of(const fs::path& program) {
  for (const fs::path& place : places_beside(program.parent_path())) {
    const fs::path path = place.lexically_normal();
    if (!is_program(path)) continue;
    const auto why = came_with(path, program) ? std::nullopt : distrust_path(path);
    if (!why) return path.string();
    return Error{Errc::not_found,
                 fmt::format("{} is not used: {}; SAFELAUNCH_PROBE_PROGRAM can name it",
                             path.string(), *why)};
  }
  return Error{Errc::not_found,
               fmt::format("there is no safelaunch-probe beside {}; install safelaunch whole, or "
                           "name it in SAFELAUNCH_PROBE_PROGRAM",
                           program.parent_path().string())};
}

}  // namespace safelaunch::launch
