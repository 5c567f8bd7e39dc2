#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "safelaunch/report/run_files.h"

namespace safelaunch::testing {

/// A folder of a test's own, gone at its end.
class ScratchFolder {
 public:
  ScratchFolder() {
    char pattern[] = "/tmp/safelaunch-test-XXXXXX";
    path = mkdtemp(pattern);
  }
  ~ScratchFolder() { std::filesystem::remove_all(path); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << text;
  }

  std::filesystem::path path;
};

inline std::string read_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void add(report::RunFiles& files, const std::string& name, const std::string& text) {
  files.files.push_back({name, text, text.size(), 0});
}

/// What a reader sees of markup.
inline std::string without_tags(std::string_view html) {
  std::string text;
  bool in_tag = false;
  for (const char one : html) {
    in_tag |= one == '<';
    if (!in_tag) text += one;
    in_tag &= one != '>';
  }
  return text;
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace safelaunch::testing
