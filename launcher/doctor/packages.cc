#include "safelaunch/doctor/packages.h"

#include <algorithm>
#include <array>
#include <filesystem>

namespace safelaunch::doctor {

// ---- those installed ----------------------------------------------------------------------------

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

// ---- those that a script imports ----------------------------------------------------------------

namespace {

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t")));
  const auto word = line.substr(0, line.find_first_of(" \t,;"));
  line.remove_prefix(word.size());
  return word;
}

bool is_of(std::string_view name, std::string_view module) {
  return name.starts_with(module) && (name.size() == module.size() || name[module.size()] == '.');
}

}  // namespace

bool imports_module(std::string_view source, std::string_view module) {
  while (!source.empty()) {
    const auto end = source.find_first_of("\n;");
    std::string_view line = source.substr(0, end);
    source.remove_prefix(end == std::string_view::npos ? source.size() : end + 1);
    const auto verb = next_word(line);
    if (verb != "import" && verb != "from") continue;
    if (is_of(next_word(line), module)) return true;
  }
  return false;
}

}  // namespace safelaunch::doctor
