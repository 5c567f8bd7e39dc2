#include <cstdio>

#include "safelaunch/profile/private_file.h"
#include "safelaunch/profile/remembered.h"
#include "safelaunch/profile/trust.h"

namespace safelaunch::profile {
namespace {

constexpr std::size_t kMostBytes = 1'000'000;

}  // namespace

std::string memory_file(const Environment& environment) {
  return state_file(environment, "worked.json");
}

Memory load_memory(const std::string& path) {
  if (path.empty()) return {};
  const Result<std::optional<std::string>> text = read_trusted_file(path, kMostBytes);
  if (text.has_value() && !*text) return {};
  std::optional<Memory> memory;
  if (text.has_value()) memory = parse_memory(**text);
  if (memory) return std::move(*memory);
  // Where it cannot be moved, the next save replaces it.
  static_cast<void>(::rename(path.c_str(), (path + ".bad").c_str()));
  return {};
}

Result<> save_memory(const std::string& path, const Memory& memory) {
  if (path.empty()) return {};
  return replace_private_file(path, format_memory(memory));
}

}  // namespace safelaunch::profile
