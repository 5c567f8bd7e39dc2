#pragma once

#include <map>
#include <string>

#include "safelaunch/nccl/job.h"
#include "test_data.h"

namespace safelaunch::testing {

/// The scenes of one version's transcript in tests/data/nccl: name → text.
inline std::map<std::string, std::string> nccl_scenes(const std::string& version) {
  return scenes("nccl/" + version + ".log");
}

/// A log and what reading it made known.
struct ReadLog {
  nccl::Job job;
  std::vector<nccl::News> news;

  explicit ReadLog(std::string_view text) {
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      for (nccl::News& one : job.read(line)) news.push_back(std::move(one));
    }
  }

  template <class News>
  [[nodiscard]] std::vector<News> all() const {
    std::vector<News> found;
    for (const nccl::News& one : news)
      if (const auto* held = std::get_if<News>(&one)) found.push_back(*held);
    return found;
  }
};

}  // namespace safelaunch::testing
