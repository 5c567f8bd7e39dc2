#pragma once

#include <map>
#include <string>

namespace safelaunch::testing {

/// A file of tests/data; empty where there is none.
std::string data(const std::string& path);

/// The scenes of a transcript of NCCL in tests/data: name → text. Each begins with "### name: what
/// was done".
std::map<std::string, std::string> scenes(const std::string& path);

}  // namespace safelaunch::testing
