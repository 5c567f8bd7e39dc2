#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>

#include "safelaunch/base/format.h"
#include "safelaunch/clean/port_lease.h"

namespace safelaunch::clean {
namespace {

/// A number from 1 to 65535 with nothing around it, else 0.
std::uint16_t parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, port);
  return read.ec == std::errc{} && read.ptr == end ? port : std::uint16_t{0};
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

PortRange automatic_ports(PortRange ephemeral) {
  constexpr PortRange kWanted{20000, 32767};
  constexpr int kEnough = 1000;  // many jobs of one host find a place in it
  const bool apart = ephemeral.last < kWanted.first || ephemeral.first > kWanted.last;
  if (apart) return kWanted;
  if (ephemeral.first - kWanted.first >= kEnough)
    return {kWanted.first, static_cast<std::uint16_t>(ephemeral.first - 1)};
  if (kWanted.last - ephemeral.last >= kEnough)
    return {static_cast<std::uint16_t>(ephemeral.last + 1), kWanted.last};
  // Below are services that have a name; above 10000 few of them.
  constexpr std::uint16_t kLowest = 10000;
  if (ephemeral.first - kLowest >= kEnough)
    return {kLowest, static_cast<std::uint16_t>(ephemeral.first - 1)};
  return kWanted;
}

PortRange ephemeral_ports() {
  constexpr PortRange kKernelsDefault{32768, 60999};
  const std::unique_ptr<std::FILE, decltype([](std::FILE* file) { std::fclose(file); })> file(
      std::fopen("/proc/sys/net/ipv4/ip_local_port_range", "re"));
  PortRange range;
  const bool read = file && std::fscanf(file.get(), "%hu %hu", &range.first, &range.last) == 2;
  return read ? range : kKernelsDefault;
}

}  // namespace safelaunch::clean
