#include <cstdio>

#include "verbs.h"

namespace safelaunch::cli {

int verb_version(std::span<const std::string>) {
  std::puts("safelaunch " SAFELAUNCH_VERSION);
  return 0;
}

int verb_help(std::span<const std::string>) {
  std::fputs(general_help().c_str(), stdout);
  return 0;
}

}  // namespace safelaunch::cli
