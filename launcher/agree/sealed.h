#pragma once

#include <optional>
#include <string>
#include <string_view>

/// Records that agents leave for each other where others may write too: a shared folder, a server
/// of the cluster's. Each carries a MAC under a key made of the token, over its content and its
/// name, so a record of somebody without the token, or one in another's place, reads as none.
namespace safelaunch::agree {

[[nodiscard]] std::string sealed(std::string_view key, std::string_view name,
                                 std::string_view body);
[[nodiscard]] std::optional<std::string> unsealed(std::string_view key, std::string_view name,
                                                  std::string_view record);

/// A file's name with its MAC behind it, for files that have no content.
[[nodiscard]] std::string sealed_name(std::string_view key, std::string_view name);
[[nodiscard]] std::optional<std::string_view> unsealed_name(std::string_view key,
                                                            std::string_view name);

}  // namespace safelaunch::agree
