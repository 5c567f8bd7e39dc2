#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace safelaunch::diagnose {

/// What a log of NCCL tells by where it ends: NCCL writes nothing on the ranks that wait.
/// "1 of 3 ranks never came: rank 1", or "2 processes wait in the bootstrap"; nullopt where all
/// communicators are complete, or failed in words.
[[nodiscard]] std::optional<std::string> nccl_silence(std::string_view log);

}  // namespace safelaunch::diagnose
