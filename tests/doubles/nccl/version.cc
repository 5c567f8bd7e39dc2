#include "nccl/version.h"

#include <cstdio>
#include <cstdlib>

namespace safelaunch::testing {

namespace {

// In these words, since the true library's file too tells its version to who looks into it.
constexpr const char* kUnlessTold = "NCCL version 2.29.7+cuda13.0";

}  // namespace

const NcclVersion& played() {
  static const NcclVersion version = [] {
    NcclVersion read;
    std::sscanf(kUnlessTold, "NCCL version %d.%d.%d", &read.major, &read.minor, &read.patch);
    if (const char* text = std::getenv("SAFELAUNCH_DOUBLE_NCCL"))
      std::sscanf(text, "%d.%d.%d", &read.major, &read.minor, &read.patch);
    return read;
  }();
  return version;
}

int code_of(const NcclVersion& version) {
  return version.major * 10000 + version.minor * 100 + version.patch;
}

std::string text_of(const NcclVersion& version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
         std::to_string(version.patch);
}

}  // namespace safelaunch::testing
