#pragma once

#include <map>
#include <string>
#include <string_view>

#include "safelaunch/report/run_files.h"

/// The lines of source at which ranks stood, beside their stacks.
namespace safelaunch::report {

/// The name of the file that add_sources() adds: a place and its line of source, a tab between, on
/// each line.
inline constexpr const char* kSources = "sources";

using SourceLines = std::map<std::string, std::string, std::less<>>;

/// Reads it: "/home/ann/train.py:50" -> "    time.sleep(3600)".
[[nodiscard]] SourceLines read_sources(std::string_view text);

/// "  /home/ann/train.py:50 sleep" -> "/home/ann/train.py:50"; empty for a line that is no frame.
[[nodiscard]] std::string_view place_of_frame(std::string_view line);

/// Adds the lines of source that the stacks name, as far as the Python files are there, can be read
/// by us and are older than the stack: a file that was edited since has other lines there.
void add_sources(RunFiles& files);

}  // namespace safelaunch::report
