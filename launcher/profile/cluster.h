#pragma once

#include <optional>
#include <string>
#include <string_view>

/// The words of a cluster rule's conditions (ClusterMatch, config.h).
namespace safelaunch::profile {

/// Says what is wrong with a network such as "10.8.0.0/16" or "fd00::/8", or nullopt.
[[nodiscard]] std::optional<std::string> refuse_network(std::string_view network);

/// Whether an address lies in a network that was not refused. False for what is no address.
[[nodiscard]] bool is_in_network(std::string_view address, std::string_view network);

/// Says what is wrong with a regular expression (RE2's syntax: no back-references, no look-around), or
/// nullopt. Long ones are refused, so that none takes noticeable time.
[[nodiscard]] std::optional<std::string> refuse_pattern(std::string_view pattern);

/// Whether a pattern that was not refused matches all of a text, or some part of it. Time is linear
/// in the text, whatever the pattern; of a text, the first 300 bytes count.
[[nodiscard]] bool matches_whole(std::string_view pattern, std::string_view text);
[[nodiscard]] bool occurs_in(std::string_view pattern, std::string_view text);

}  // namespace safelaunch::profile
