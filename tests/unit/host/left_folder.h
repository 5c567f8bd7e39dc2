#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace safelaunch::testing {

/// A folder with files as jobs leave them, gone with this object.
class LeftFolder {
 public:
  LeftFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "safelaunch-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  LeftFolder(const LeftFolder&) = delete;
  LeftFolder& operator=(const LeftFolder&) = delete;
  ~LeftFolder() { std::filesystem::remove_all(path_); }

  std::string add(const std::string& name, const std::string& text = "") const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace safelaunch::testing
