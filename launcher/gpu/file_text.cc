#include "file_text.h"

#include <algorithm>
#include <fstream>

namespace safelaunch {

std::string file_text(const std::string& path, std::size_t limit) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::string text;
  if (!file || file.tellg() <= 0) return text;
  text.resize(std::min(limit, static_cast<std::size_t>(file.tellg())));
  file.seekg(0);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace safelaunch
