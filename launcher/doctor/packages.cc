#include "safelaunch/doctor/packages.h"

#include <algorithm>
#include <array>
#include <filesystem>

namespace safelaunch::doctor {

Package parse_dist_info(std::string_view folder) {
  constexpr std::string_view kEnd = ".dist-info";
  if (!folder.ends_with(kEnd)) return {};
  folder.remove_suffix(kEnd.size());
  const auto dash = folder.rfind('-');
  if (dash == std::string_view::npos) return {};
  return {std::string(folder.substr(0, dash)), std::string(folder.substr(dash + 1))};
}

std::vector<Package> frameworks_in(std::span<const std::string> folders) {
  constexpr std::array<std::string_view, 6> kFrameworks{"torch",      "jax",       "deepspeed",
                                                        "accelerate", "lightning", "transformers"};
  std::vector<Package> packages;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      Package package = parse_dist_info(entry.path().filename().native());
      const bool wanted = std::ranges::find(kFrameworks, package.name) != kFrameworks.end();
      if (wanted && version_of(packages, package.name).empty())
        packages.push_back(std::move(package));
    }
  }
  std::ranges::sort(packages, {}, &Package::name);
  return packages;
}

std::string version_of(std::span<const Package> packages, std::string_view name) {
  const auto found = std::ranges::find(packages, name, &Package::name);
  return found == packages.end() ? "" : found->version;
}

}  // namespace safelaunch::doctor
