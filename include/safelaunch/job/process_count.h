#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "safelaunch/base/result.h"

namespace safelaunch::job {

/// A number of processes that the host decides: one for each device, or for each CPU.
enum class CountWord {
  gpu,
  xpu,
  cpu,
  automatic,  ///< one for each GPU, or for each CPU where there is no GPU
};

/// How many processes one node runs, as people write it: a number or a word.
using ProcessCount = std::variant<int, CountWord>;

/// Reads "4", "gpu", "xpu", "cpu" or "auto", the words of torchrun's --nproc-per-node.
[[nodiscard]] Result<ProcessCount> parse_process_count(std::string_view text);

/// "4", "gpu", …: the word that reads back as the same.
[[nodiscard]] std::string to_string(const ProcessCount& count);

}  // namespace safelaunch::job
