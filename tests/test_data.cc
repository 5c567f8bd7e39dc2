#include "test_data.h"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace safelaunch::testing {

std::string data(const std::string& path) {
  std::ifstream file(std::filesystem::path(SAFELAUNCH_TEST_DATA_DIR) / path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::map<std::string, std::string> scenes(const std::string& path) {
  std::map<std::string, std::string> all;
  const std::string text = data(path);
  for (std::size_t at = text.find("### "); at != std::string::npos;) {
    const std::size_t end = text.find("\n### ", at);
    const std::string scene = text.substr(at, end - at);
    all[scene.substr(4, scene.find(':') - 4)] = scene.substr(scene.find('\n') + 1);
    at = end == std::string::npos ? end : end + 1;
  }
  return all;
}

}  // namespace safelaunch::testing
