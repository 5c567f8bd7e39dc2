#include <cstdio>
#include <memory>

#include "safelaunch/clean/port_lease.h"

namespace safelaunch::clean {
settings::PortRange automatic_ports(settings::PortRange ephemeral) {
  constexpr settings::PortRange kWanted{20000, 32767};
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

settings::PortRange ephemeral_ports() {
  constexpr settings::PortRange kKernelsDefault{32768, 60999};
  const std::unique_ptr<std::FILE, decltype([](std::FILE* file) { std::fclose(file); })> file(
      std::fopen("/proc/sys/net/ipv4/ip_local_port_range", "re"));
  settings::PortRange range;
  const bool read = file && std::fscanf(file.get(), "%hu %hu", &range.first, &range.last) == 2;
  return read ? range : kKernelsDefault;
}

}  // namespace safelaunch::clean
