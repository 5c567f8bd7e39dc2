#include "safelaunch/host/network.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace safelaunch::host {
namespace {

std::string text_of(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (address.sa_family == AF_INET)
    bytes = &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
  else if (address.sa_family == AF_INET6)
    bytes = &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  if (bytes == nullptr) return {};
  return inet_ntop(address.sa_family, bytes, text.data(), text.size()) != nullptr ? text.data()
                                                                                  : "";
}

}  // namespace

std::vector<std::string> local_addresses() {
  std::vector<std::string> result;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return result;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    if (std::string text = text_of(*one->ifa_addr); !text.empty())
      result.push_back(std::move(text));
  }
  freeifaddrs(first);
  return result;
}

std::vector<std::string> gpu_models() {
  namespace fs = std::filesystem;
  std::vector<std::string> result;
  std::error_code none;
  for (const auto& gpu : fs::directory_iterator("/proc/driver/nvidia/gpus", none)) {
    std::ifstream file(gpu.path() / "information");
    for (std::string line; std::getline(file, line);) {
      constexpr std::string_view kModel = "Model:";
      if (!line.starts_with(kModel)) continue;
      const std::size_t begin = line.find_first_not_of(" \t", kModel.size());
      if (begin != std::string::npos) result.push_back(line.substr(begin));
    }
  }
  return result;
}

}  // namespace safelaunch::host
