#include "safelaunch/probe/measured.h"

#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"
#include "safelaunch/profile/private_file.h"
#include "safelaunch/profile/trust.h"

namespace safelaunch::probe {
namespace {

using Json = nlohmann::json;

bool same_ground(const profile::HostKey& a, const profile::HostKey& b) {
  return !a.nccl.empty() && a.nccl == b.nccl && a.hostname == b.hostname && a.gpus == b.gpus &&
         a.driver == b.driver;
}

bool counts(const MeasuredHost& host, const profile::HostKey& key, profile::WallTime now) {
  return same_ground(host.key, key) && now - host.when <= profile::kMemoryLasts;
}

}  // namespace

MeasuredHost with_results(std::optional<MeasuredHost> before, const profile::HostKey& key,
                          std::span<const ProbedProfile> probed, profile::WallTime now) {
  MeasuredHost host{key, now, {}};
  if (before && counts(*before, key, now)) host.bus_gb_per_s = std::move(before->bus_gb_per_s);
  for (const ProbedProfile& one : probed) {
    const auto* works = std::get_if<Works>(&one.verdict);
    if (works != nullptr && works->bus_gb_per_s)
      host.bus_gb_per_s[one.profile] = *works->bus_gb_per_s;
  }
  return host;
}

std::optional<std::string> measured_cost(const MeasuredHost& host, const profile::HostKey& key,
                                         profile::WallTime now, std::string_view from,
                                         std::string_view to) {
  const auto base = host.bus_gb_per_s.find(from);
  const auto other = host.bus_gb_per_s.find(to);
  const auto end = host.bus_gb_per_s.end();
  if (!counts(host, key, now) || base == end || other == end) return std::nullopt;
  if (base->second <= 0 || other->second <= 0) return std::nullopt;
  const double ratio = base->second / other->second;
  if (ratio <= 1 + kBandwidthNoise)
    return fmt::format("none: as fast as {}, as the probe has measured", from);
  return fmt::format("all_reduce {:.1f} times slower than with {}, as the probe has measured",
                     ratio, from);
}

std::string format_measured(const MeasuredHost& host) {
  const Json json{{"host", host.key.hostname},
                  {"gpus", host.key.gpus},
                  {"driver", host.key.driver},
                  {"nccl", host.key.nccl},
                  {"time", host.when.time_since_epoch().count()},
                  {"bus_gb_per_s", host.bus_gb_per_s}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<MeasuredHost> parse_measured(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto host = text_if(json, "host");
  const auto gpus = texts_if(json, "gpus");
  const auto driver = text_if(json, "driver");
  const auto nccl = text_if(json, "nccl");
  const auto when = number_of<std::int64_t>(json, "time");
  if (!host || !gpus || !driver || !nccl || !when || field_of(json, "bus_gb_per_s") == nullptr)
    return std::nullopt;
  MeasuredHost read{
      {*host, *gpus, *driver, *nccl, {}}, profile::WallTime(std::chrono::seconds(*when)), {}};
  for (const auto& [profile, gb] : object_of(json, "bus_gb_per_s").items()) {
    if (!gb.is_number()) return std::nullopt;
    read.bus_gb_per_s[profile] = gb.get<double>();
  }
  return read;
}

std::string measured_file(const Environment& environment, std::string_view hostname) {
  if (hostname.empty() || hostname.find('/') != std::string_view::npos) return {};
  return profile::state_file(environment, fmt::format("probed-{}.json", hostname));
}

std::optional<MeasuredHost> load_measured(const std::string& path) {
  if (path.empty()) return std::nullopt;
  const auto text = profile::read_trusted_file(path);
  return text && *text ? parse_measured(**text) : std::nullopt;
}

Result<> save_measured(const std::string& path, const MeasuredHost& host) {
  return path.empty() ? Result<>() : profile::replace_private_file(path, format_measured(host));
}

}  // namespace safelaunch::probe
