#include "safelaunch/settings/port_range.h"

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

namespace safelaunch::settings {
namespace {

/// A number from 1 to 65535 with nothing around it, else 0.
std::uint16_t parse_port(std::string_view text) {
  return to_number<std::uint16_t>(text).value_or(0);
}

}  // namespace

Result<PortRange> parse_port_range(std::string_view text) {
  const auto dash = text.find('-');
  const auto first = parse_port(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_port(text.substr(dash + 1));
  if (first == 0 || last < first)
    return Error{Errc::usage,
                 fmt::format("'{}' is no port and no range of ports; "
                             "write a number from 1 to 65535, or two as in 20000-25000",
                             text)};
  return PortRange{first, last};
}

}  // namespace safelaunch::settings
