#pragma once

#include <filesystem>

#include "safelaunch/base/result.h"
#include "safelaunch/settings/run_options.h"

namespace safelaunch::plan {

/// The file that `--json=FILE` names; empty where it names none.
[[nodiscard]] std::filesystem::path json_file(const settings::RunOptions& options);

/// Whether write_json() can write there, as far as it can be told without opening the file: asked
/// before the job, which would else have run without its report. No file: it can.
[[nodiscard]] Result<void> check_json_file(const std::filesystem::path& file);

/// Writes the JSON there. A file that holds anything but an earlier report or plan stays as it is.
/// A FIFO that nobody reads is an error. May block all the same, where a reader takes nothing.
[[nodiscard]] Result<void> write_json(const std::filesystem::path& file, std::string_view json);

}  // namespace safelaunch::plan
