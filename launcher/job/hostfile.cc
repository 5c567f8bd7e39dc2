#include "hostfile.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "safelaunch/base/strings.h"

namespace safelaunch::job {
namespace {

constexpr int kMostSlots =
    1024;  // no node has more devices; the limit keeps a typing error from eating memory

std::optional<HostSlots> parse_host_line(std::string_view line) {
  const std::size_t blank = line.find_first_of(" \t");
  if (blank == std::string_view::npos) return std::nullopt;
  const std::string_view rest = trimmed(line.substr(blank));
  if (!rest.starts_with("slots=")) return std::nullopt;
  const std::size_t end = std::min(rest.find_first_of(" \t#"), rest.size());
  const auto count = to_number(rest.substr(6, end - 6));
  if (!count || *count < 0 || *count > kMostSlots) return std::nullopt;
  std::vector<int> slots(static_cast<std::size_t>(*count));
  std::iota(slots.begin(), slots.end(), 0);
  return HostSlots{std::string(line.substr(0, blank)), std::move(slots)};
}

const HostSlots* find_host(const std::vector<HostSlots>& hosts, std::string_view name) {
  const auto it = std::ranges::find(hosts, name, &HostSlots::host);
  return it == hosts.end() ? nullptr : &*it;
}

}  // namespace

std::optional<std::vector<HostSlots>> parse_hostfile(std::string_view text) {
  std::vector<HostSlots> hosts;
  while (!text.empty()) {
    const std::string_view line = trimmed(take_word(text, '\n'));
    if (line.empty() || line[0] == '#') continue;
    auto host = parse_host_line(line);
    if (!host || find_host(hosts, host->host) != nullptr) return std::nullopt;
    hosts.push_back(*std::move(host));
  }
  return hosts.empty() ? std::nullopt : std::optional(std::move(hosts));
}

std::vector<HostSlots> parse_host_filter(std::string_view filter) {
  std::vector<HostSlots> hosts;
  while (!filter.empty()) {
    std::string_view node = take_word(filter, '@');
    HostSlots host{std::string(take_word(node, ':')), {}};
    while (!node.empty())
      if (const auto slot = to_number(take_word(node, ','))) host.slots.push_back(*slot);
    hosts.push_back(std::move(host));
  }
  return hosts;
}

std::vector<HostSlots> include_hosts(std::vector<HostSlots> pool, std::string_view filter) {
  const std::vector<HostSlots> named = parse_host_filter(filter);
  std::erase_if(pool, [&](HostSlots& host) {
    const HostSlots* wanted = find_host(named, host.host);
    if (wanted != nullptr && !wanted->slots.empty()) host.slots = wanted->slots;
    return wanted == nullptr;
  });
  return pool;
}

std::vector<HostSlots> exclude_hosts(std::vector<HostSlots> pool, std::string_view filter) {
  const std::vector<HostSlots> named = parse_host_filter(filter);
  std::erase_if(pool, [&](HostSlots& host) {
    const HostSlots* unwanted = find_host(named, host.host);
    if (unwanted == nullptr) return host.slots.empty();
    std::erase_if(host.slots, [&](int slot) {
      return std::ranges::find(unwanted->slots, slot) != unwanted->slots.end();
    });
    return unwanted->slots.empty() || host.slots.empty();
  });
  return pool;
}

}  // namespace safelaunch::job
