#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace safelaunch::testing {

/// A file of tests/data.
inline std::string data(const std::string& path) {
  const auto root = std::filesystem::path(__FILE__).parent_path() / "../../data";
  std::ifstream file(root / path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The scenes of a transcript of NCCL: name → text. Each begins with "### name: what was done".
inline std::map<std::string, std::string> scenes(const std::string& path) {
  std::map<std::string, std::string> all;
  std::string text = data(path);
  for (std::size_t at = text.find("### "); at != std::string::npos;) {
    const std::size_t end = text.find("\n### ", at);
    const std::string scene = text.substr(at, end - at);
    all[scene.substr(4, scene.find(':') - 4)] = scene.substr(scene.find('\n') + 1);
    at = end == std::string::npos ? end : end + 1;
  }
  return all;
}

}  // namespace safelaunch::testing
