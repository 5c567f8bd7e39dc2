#include "safelaunch/host/open_gpus.h"

#include <algorithm>
#include <filesystem>

#include "proc_file.h"

namespace safelaunch::host {
namespace {

/// -1 for every other path.
int gpu_at(std::string_view path) {
  constexpr std::string_view kPrefix = "/dev/nvidia";
  const bool is_gpu = path.starts_with(kPrefix) && path.size() > kPrefix.size() &&
                      path.find_first_not_of("0123456789", kPrefix.size()) == path.npos;
  return is_gpu ? number_in<int>(path.substr(kPrefix.size())) : -1;
}

}  // namespace

std::vector<int> gpus_opened_by(int pid) {
  std::vector<int> gpus;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(ProcPath(pid, "fd").c_str(), error)) {
    const int gpu = gpu_at(std::filesystem::read_symlink(entry.path(), error).native());
    if (gpu >= 0 && std::ranges::find(gpus, gpu) == gpus.end()) gpus.push_back(gpu);
  }
  return gpus;
}

}  // namespace safelaunch::host
