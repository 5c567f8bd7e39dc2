#include "safelaunch/hook/install.h"

#include "safelaunch/base/format.h"
#include "safelaunch/base/variable_names.h"

namespace safelaunch::hook {

namespace fs = std::filesystem;

namespace {

FileSet files_of_hook() {
  return {"hook", "the Python hook", hook_files()};
}

}  // namespace

fs::path place_of_hook(const fs::path& cache_dir) {
  return place_of(files_of_hook(), cache_dir);
}

Result<fs::path> install_hook(const fs::path& cache_dir) {
  if (cache_dir.string().find(':') != std::string::npos) {
    return Error{Errc::os, fmt::format("the Python hook cannot be installed in {}: PYTHONPATH "
                                       "cannot hold a path with a colon",
                                       cache_dir.string())};
  }
  return install(files_of_hook(), cache_dir);
}

void add_hook_to(Environment& environment, const fs::path& directory, std::string_view socket,
                 std::string_view token) {
  const std::string_view before = value_or(environment, "PYTHONPATH");
  environment["PYTHONPATH"] =
      fmt::format("{}:{}{}{}", directory.string(), (directory / "torch_door").string(),
                  before.empty() ? "" : ":", before);
  environment[std::string(kHookVariable)] = socket;
  environment[std::string(kHookTokenVariable)] = token;
}

}  // namespace safelaunch::hook
