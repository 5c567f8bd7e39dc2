#include "safelaunch/report/report.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <span>

#include "safelaunch/base/format.h"
#include "safelaunch/base/user_file.h"

// Facts are copied as the kernel tells them, each file up to 64 KiB, since a helper knows them by
// their names. Of the environment only the families of variables that decide how a job starts are
// taken. A fact that is missing leaves no file.
namespace safelaunch::report {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostOfFile = 64U << 10;

struct SystemFile {
  std::string_view name;  ///< its name in the bundle
  std::string_view path;
};

constexpr std::array kSystemFiles{
    SystemFile{"os-release", "etc/os-release"},
    SystemFile{"kernel", "proc/version"},
    SystemFile{"cpuinfo", "proc/cpuinfo"},
    SystemFile{"meminfo", "proc/meminfo"},
    SystemFile{"loadavg", "proc/loadavg"},
    SystemFile{"limits", "proc/self/limits"},
    SystemFile{"mountinfo", "proc/self/mountinfo"},
    SystemFile{"cgroup", "proc/self/cgroup"},
    SystemFile{"cgroup-memory.max", "sys/fs/cgroup/memory.max"},
    SystemFile{"cgroup-memory.current", "sys/fs/cgroup/memory.current"},
    SystemFile{"cgroup-memory.events", "sys/fs/cgroup/memory.events"},
    SystemFile{"cgroup-pids.max", "sys/fs/cgroup/pids.max"},
    SystemFile{"cgroup-cpu.max", "sys/fs/cgroup/cpu.max"},
    SystemFile{"ptrace_scope", "proc/sys/kernel/yama/ptrace_scope"},
    SystemFile{"hosts", "etc/hosts"},
    SystemFile{"resolv.conf", "etc/resolv.conf"},
    SystemFile{"route", "proc/net/route"},
    SystemFile{"net-dev", "proc/net/dev"},
    SystemFile{"nvidia-version", "proc/driver/nvidia/version"},
    SystemFile{"nvidia-params", "proc/driver/nvidia/params"},
    SystemFile{"modules", "proc/modules"},
};

// The beginnings of the names of variables that decide how a job starts.
constexpr std::array<std::string_view, 32> kFamilies{
    "NCCL_",  "TORCH",      "CUDA_",  "NVIDIA_",    "GLOO_",  "OMP_",       "SLURM_", "OMPI_",
    "PMI",    "PMIX_",      "JOB_",   "RANK",       "WORLD_", "MASTER_",    "LOCAL_", "GROUP_",
    "NODE_",  "SAFELAUNCH", "PET_",   "ACCELERATE", "DS_",    "DEEPSPEED_", "JAX_",   "XLA_",
    "PYTHON", "VIRTUAL_",   "CONDA_", "LD_",        "UCX_",   "FI_",        "MKL_",   "PATH"};

std::string read_front(const fs::path& file) {
  return user_file_text(file, kMostOfFile).value_or("");
}

std::string first_processor(const std::string& text) {
  // A host has hundreds of processors that are all alike.
  const std::size_t end = text.find("\n\n");
  return end == std::string::npos ? text : text.substr(0, end + 1);
}

std::string address_of(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (address->sa_family == AF_INET)
    bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  if (address->sa_family == AF_INET6)
    bytes = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  if (bytes == nullptr) return {};
  inet_ntop(address->sa_family, bytes, text.data(), text.size());
  return text.data();
}

std::string interfaces() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  std::set<std::string> lines;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    const std::string address = at->ifa_addr != nullptr ? address_of(at->ifa_addr) : "";
    if (address.empty() && (at->ifa_flags & IFF_UP) != 0)
      continue;  // the address of its link layer
    lines.insert(fmt::format("{:<16} {}{}{} {}\n", at->ifa_name,
                             (at->ifa_flags & IFF_UP) != 0 ? "up" : "down",
                             (at->ifa_flags & IFF_RUNNING) != 0 ? " running" : "",
                             (at->ifa_flags & IFF_LOOPBACK) != 0 ? " loopback" : "", address));
  }
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

// The properties of all entries of a folder, each of which is a file: /sys/class/net/eth0/mtu.
std::string properties(const fs::path& folder, std::span<const std::string_view> names) {
  std::string text;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    for (const std::string_view name : names) {
      const std::string value = read_front(entry.path() / name);
      if (value.empty()) continue;
      text += fmt::format("{}/{} {}", entry.path().filename().native(), name, value);
    }
  return text;
}

std::string infiniband(const fs::path& folder) {
  constexpr std::array<std::string_view, 4> kOfPort{"state", "rate", "link_layer", "phys_state"};
  std::string text;
  std::error_code none;
  for (const auto& device : fs::directory_iterator(folder, none)) {
    const std::string ports = properties(device.path() / "ports", kOfPort);
    if (!ports.empty()) text += device.path().filename().native() + "\n" + ports;
  }
  return text;
}

std::string free_space(const fs::path& root) {
  std::string text;
  for (const char* path : {"dev/shm", "tmp", "var/tmp"}) {
    struct statvfs facts {};
    if (statvfs((root / path).c_str(), &facts) != 0) continue;
    text +=
        fmt::format("/{}: {} of {} MB free\n", path, facts.f_bavail * facts.f_frsize / 1'000'000,
                    facts.f_blocks * facts.f_frsize / 1'000'000);
  }
  return text;
}

std::string variables(const Environment& environment) {
  std::string text;
  for (const auto& [name, value] : environment) {
    const bool matters =
        std::any_of(kFamilies.begin(), kFamilies.end(),
                    [&name = name](std::string_view head) { return name.starts_with(head); });
    if (matters) text += fmt::format("{}={}\n", name, value);
  }
  return text;
}

}  // namespace

std::vector<RecordedFile> system_facts(const Environment& environment, const fs::path& root) {
  std::vector<RecordedFile> facts;
  const auto add = [&](std::string_view name, std::string text) {
    if (text.empty()) return;
    const std::size_t size = text.size();
    facts.push_back({fmt::format("system/{}", name), std::move(text), size, 0});
  };
  for (const auto& [name, path] : kSystemFiles) {
    std::string text = read_front(root / path);
    if (name == "cpuinfo") text = first_processor(text);
    add(name, std::move(text));
  }
  constexpr std::array<std::string_view, 3> kOfInterface{"mtu", "speed", "operstate"};
  add("interfaces", interfaces());
  add("interface-properties", properties(root / "sys/class/net", kOfInterface));
  add("infiniband", infiniband(root / "sys/class/infiniband"));
  add("free-space", free_space(root));
  add("variables", variables(environment));
  return facts;
}

}  // namespace safelaunch::report
