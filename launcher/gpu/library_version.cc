#include "library_version.h"

#include <algorithm>
#include <filesystem>

#include "safelaunch/base/user_file.h"

namespace safelaunch::gpu {
namespace {

/// The digits and dots that `text` begins with.
std::string_view numbers_at(std::string_view text) {
  return text.substr(0, text.find_first_not_of("0123456789."));
}

bool is_version(std::string_view numbers) {
  return !numbers.ends_with('.') && std::ranges::count(numbers, '.') >= 2;
}

/// The wheels that may have brought PACKAGES/nvidia/nccl/lib/libnccl.so.2.
std::vector<std::string> wheels_of(const std::filesystem::path& library) {
  const auto folder = library.parent_path();
  if (!folder.string().ends_with("/nvidia/nccl/lib")) return {};
  return nccl_wheels_in(folder.parent_path().parent_path().parent_path().string());
}

}  // namespace

std::string version_in_file_name(std::string_view file) {
  constexpr std::string_view kBefore = ".so.";
  const auto found = file.rfind(kBefore);
  if (found == std::string_view::npos) return {};
  const auto numbers = file.substr(found + kBefore.size());
  return numbers_at(numbers) == numbers && is_version(numbers) ? std::string(numbers)
                                                               : std::string();
}

std::string version_of_wheel(std::string_view wheel) {
  const auto dash = wheel.rfind('-');
  return dash == std::string_view::npos ? std::string() : std::string(wheel.substr(dash + 1));
}

std::vector<std::string> nccl_wheels_in(const std::string& packages) {
  constexpr std::string_view kBegin = "nvidia_nccl_cu";
  constexpr std::string_view kEnd = ".dist-info";
  std::vector<std::string> wheels;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(packages, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kBegin) && name.ends_with(kEnd))
      wheels.push_back(name.substr(0, name.size() - kEnd.size()));
  }
  std::ranges::sort(wheels);
  return wheels;
}

std::string nccl_version_inside(const std::string& path) {
  // The words stand among the library's constants, before its hundreds of megabytes for GPUs: at
  // 4 MB in 2.32.3.
  constexpr std::size_t kSearched = std::size_t{32} << 20;
  constexpr std::string_view kBefore = "NCCL version ";
  const std::string bytes = user_file_text(path, kSearched).value_or("");
  const std::string_view all = bytes;
  for (auto at = all.find(kBefore); at != std::string_view::npos; at = all.find(kBefore, at + 1)) {
    const auto numbers = numbers_at(all.substr(at + kBefore.size(), 32));
    if (is_version(numbers)) return std::string(numbers);
  }
  return {};
}

std::string version_of_library(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (auto version = version_in_file_name(real.filename().string()); !version.empty())
    return version;
  if (!real.filename().string().starts_with("libnccl.")) return {};
  // Two wheels have overwritten each other's library: then only the library knows.
  if (const auto wheels = wheels_of(real); wheels.size() == 1) return version_of_wheel(wheels[0]);
  return nccl_version_inside(path);
}

}  // namespace safelaunch::gpu
