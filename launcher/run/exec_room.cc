#include "exec_room.h"

#include <unistd.h>

#include <algorithm>

namespace safelaunch::run {
namespace {

constexpr std::size_t kMost = 6U << 20;       // of the kernel, however large the stack may be
constexpr std::size_t kFirstLine = 4U << 10;  // the program's path, its interpreter and arguments

}  // namespace

std::size_t exec_limit() {
  const long limit = ::sysconf(_SC_ARG_MAX);
  return limit > 0 ? std::min(static_cast<std::size_t>(limit), kMost) : kMost;
}

bool fits_exec(const std::vector<std::string>& argv, const Environment& environment,
               std::size_t limit) {
  constexpr std::size_t kEach = sizeof(char*) + 1;  // the pointer to a text, and its end
  std::size_t taken = kFirstLine;
  for (const std::string& word : argv) taken += word.size() + kEach;
  for (const auto& [name, value] : environment) taken += name.size() + 1 + value.size() + kEach;
  return taken <= limit;
}

}  // namespace safelaunch::run
