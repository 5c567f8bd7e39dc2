#pragma once

#include <vector>

#include "safelaunch/base/environment.h"

/// Files from which NCCL and DeepSpeed take environment variables behind the user's back.
namespace safelaunch::host {

/// A variable that a file sets.
struct FileVariable {
  std::string name;
  std::string value;
  std::string file;
  int line = 0;
  bool operator==(const FileVariable&) const = default;
};

/// The lines NAME=VALUE of a text; comments (#) and other lines are left out.
[[nodiscard]] std::vector<FileVariable> parse_variable_file(std::string_view text,
                                                            const std::string& file);

/// The settings that NCCL reads at its start: from NCCL_CONF_FILE or ~/.nccl.conf, then from
/// /etc/nccl.conf. The first setting of a variable counts; one of the environment beats them all.
[[nodiscard]] std::vector<FileVariable> nccl_file_variables(const Environment& environment);

/// The variables that DeepSpeed's launcher hands to the ranks of other nodes: from the
/// .deepspeed_env (or what DS_ENV_FILE names) of the working directory, then from that of the home.
/// The first setting of a variable counts, as in DeepSpeed 0.19 (launcher/runner.py).
[[nodiscard]] std::vector<FileVariable> deepspeed_file_variables(const Environment& environment);

}  // namespace safelaunch::host
