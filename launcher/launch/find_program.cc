#include "safelaunch/launch/find_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include "safelaunch/base/format.h"

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

/// What execvp(3) searches where PATH is not set.
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
  return Error{Errc::not_found,
               is_path ? fmt::format("no such file: {}", word)
                       : fmt::format("command not found: '{}' (looked in PATH)", word)};
}

}  // namespace safelaunch::launch
