#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "safelaunch/nccl/job.h"

namespace safelaunch::testing {

/// The scenes of one version's transcript in tests/data/nccl: name → text.
inline std::map<std::string, std::string> nccl_scenes(const std::string& version) {
  const auto root = std::filesystem::path(__FILE__).parent_path() / "../../data/nccl";
  std::ifstream file(root / (version + ".log"));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  std::map<std::string, std::string> all;
  for (std::size_t at = text.find("### "); at != std::string::npos;) {
    const std::size_t end = text.find("\n### ", at);
    const std::string scene = text.substr(at, end - at);
    all[scene.substr(4, scene.find(':') - 4)] = scene.substr(scene.find('\n') + 1);
    at = end == std::string::npos ? end : end + 1;
  }
  return all;
}

/// A log and what reading it made known.
struct ReadLog {
  NcclJob job;
  std::vector<NcclNews> news;

  explicit ReadLog(std::string_view text) {
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      for (NcclNews& one : job.read(line)) news.push_back(std::move(one));
    }
  }

  template <class News>
  [[nodiscard]] std::vector<News> all() const {
    std::vector<News> found;
    for (const NcclNews& one : news)
      if (const auto* held = std::get_if<News>(&one)) found.push_back(*held);
    return found;
  }
};

}  // namespace safelaunch::testing
