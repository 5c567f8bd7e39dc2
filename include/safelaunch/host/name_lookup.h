#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/time.h"

namespace safelaunch::host {

/// The answer to the question for a host name.
struct NameLookup {
  enum class Outcome {
    found,
    unknown,  ///< there is no such name
    late,     ///< no answer within the deadline
    skipped,  ///< nobody was asked
  };
  Outcome outcome = Outcome::skipped;
  std::string name;
  std::vector<std::string> addresses;  ///< in the resolver's order, each once
  std::string why;                     ///< the resolver's words for an unknown name
  Duration took{};
  bool operator==(const NameLookup&) const = default;
};

/// Asks the resolver as torch and gloo do (getaddrinfo), in a thread of its own: a name server that
/// is gone holds that thread for half a minute. A late thread ends as soon as the resolver lets it.
[[nodiscard]] NameLookup look_up(const std::string& name, Duration deadline);

/// Whether the text is an address already, which needs no resolver.
[[nodiscard]] bool is_address(const std::string& text);

/// The addresses that a text of /etc/hosts gives to a name, in its order.
[[nodiscard]] std::vector<std::string> addresses_in_hosts(std::string_view hosts,
                                                          std::string_view name);

/// Looks the name up in this host's file alone. That takes no time, and finds no name that only a
/// name server knows.
[[nodiscard]] NameLookup look_up_in_hosts_file(const std::string& name);

}  // namespace safelaunch::host
