#include "safelaunch/host/infiniband.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "safelaunch/host/proc.h"

// The ports are read from sysfs, which needs no library of InfiniBand. A job opens the files below
// /dev/infiniband, so their permissions are looked at too: a container may show the ports and keep
// the job from using them.
namespace safelaunch::host {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::string text_in(const std::string& folder, const char* file) {
  return std::string(SmallFile((folder + "/" + file).c_str()).text());
}

/// The last part of a link's target; empty where there is no link.
std::string link_name(const std::string& link) {
  std::error_code error;
  return fs::read_symlink(link, error).filename().string();
}

}  // namespace

std::string parse_port_state(std::string_view text) {
  const auto colon = text.find(": ");
  return std::string(colon == std::string_view::npos ? text : text.substr(colon + 2));
}

std::vector<InfinibandPort> infiniband_ports(const std::string& folder) {
  std::vector<InfinibandPort> ports;
  for (const std::string& device : names_in(folder)) {
    const std::string driver = link_name(folder + "/" + device + "/device/driver");
    for (const std::string& number : names_in(folder + "/" + device + "/ports")) {
      const std::string place = folder + "/" + device + "/ports/" + number;
      InfinibandPort port;
      port.device = device;
      port.number = number_in<int>(number);
      port.state = parse_port_state(text_in(place, "state"));
      port.link_layer = text_in(place, "link_layer");
      port.driver = driver;
      ports.push_back(std::move(port));
    }
  }
  return ports;
}

Infiniband read_infiniband() {
  Infiniband found;
  found.ports = infiniband_ports("/sys/class/infiniband");
  if (found.ports.empty()) return found;
  for (const std::string& name : names_in("/dev/infiniband")) {
    if (!name.starts_with("uverbs")) continue;
    found.verbs.push_back("/dev/infiniband/" + name);
    if (::access(found.verbs.back().c_str(), R_OK | W_OK) != 0)
      found.closed.push_back(found.verbs.back());
  }
  return found;
}

}  // namespace safelaunch::host
