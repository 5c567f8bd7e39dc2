#include "safelaunch/host/gpus.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "safelaunch/host/proc.h"

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

std::vector<std::string> gpu_models() {
  namespace fs = std::filesystem;
  std::vector<std::string> result;
  std::error_code none;
  for (const auto& gpu : fs::directory_iterator("/proc/driver/nvidia/gpus", none)) {
    std::ifstream file(gpu.path() / "information");
    for (std::string line; std::getline(file, line);) {
      constexpr std::string_view kModel = "Model:";
      if (!line.starts_with(kModel)) continue;
      const std::size_t begin = line.find_first_not_of(" \t", kModel.size());
      if (begin != std::string::npos) result.push_back(line.substr(begin));
    }
  }
  return result;
}

}  // namespace safelaunch::host
