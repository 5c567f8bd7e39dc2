#include "safelaunch/probe/tournament.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"
#include "safelaunch/base/result.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/profile/trust.h"

// A tournament probes one profile after the other, leaves out those whose result is known
// beforehand, and ends with the profile to use. A profile that failed or hung is refuted; one that
// was not probed is neither, so it is never said to fail.
namespace safelaunch::probe {
namespace {

bool works(const ProbedProfile& probed) {
  return std::holds_alternative<Works>(probed.verdict);
}

bool refuted(const ProbedProfile& probed) {
  return stopped_at(probed.verdict).has_value();
}

/// Zero where it was not measured.
double bandwidth(const ProbedProfile& probed) {
  const auto* success = std::get_if<Works>(&probed.verdict);
  return success != nullptr ? success->bus_gb_per_s.value_or(0) : 0;
}

std::vector<std::string> names_of(std::span<const ProbedProfile> probed,
                                  bool (*chosen)(const ProbedProfile&)) {
  std::vector<std::string> names;
  for (const ProbedProfile& one : probed)
    if (chosen(one)) names.push_back(one.profile);
  return names;
}

const char* verb_for(const std::vector<std::string>& names, const char* one, const char* several) {
  return names.size() == 1 ? one : several;
}

Conclusion none_works(std::span<const ProbedProfile> probed) {
  const auto failed = names_of(probed, refuted);
  if (failed.empty()) return {"", "no result: no profile was probed to its end", ""};
  return {
      "",
      fmt::format("none works: {} {}", list_in_words(failed), verb_for(failed, "fails", "fail")),
      ""};
}

/// The words on the other profiles beside the winner.
std::string beside(std::span<const ProbedProfile> probed, std::size_t best) {
  std::string text;
  const auto failed = names_of(probed, refuted);
  if (!failed.empty())
    text = fmt::format("; {} {}", list_in_words(failed),
                       verb_for(failed, "does not work", "do not work"));
  for (std::size_t i = 0; i < probed.size(); ++i) {
    const auto ratio = cost_ratio(probed[best].verdict, probed[i].verdict);
    if (i != best && ratio && *ratio > 1 + kBandwidthNoise)
      text += fmt::format("; {} is {:.1f} times slower", probed[i].profile, *ratio);
  }
  return text;
}

using Json = nlohmann::json;

bool same_ground(const profile::HostKey& a, const profile::HostKey& b) {
  return !a.nccl.empty() && a.nccl == b.nccl && a.hostname == b.hostname && a.gpus == b.gpus &&
         a.driver == b.driver;
}

// A time in the future is a clock that was wrong, so it proves nothing.
bool counts(const MeasuredHost& host, const profile::HostKey& key, profile::WallTime now) {
  return same_ground(host.key, key) && host.when <= now && host.when >= now - profile::kMemoryLasts;
}

}  // namespace

std::vector<profile::Profile> chain_first(std::vector<profile::Profile> profiles,
                                          std::span<const std::string> chain) {
  const auto place = [&](const profile::Profile& profile) {
    return std::ranges::find(chain, profile.name) - chain.begin();
  };
  std::ranges::stable_sort(profiles, {}, place);
  return profiles;
}

std::string reason_not_to_probe(const Entrant& entrant, std::span<const Entrant> earlier) {
  if (entrant.backend == profile::Backend::gloo) return "gloo does without NCCL";
  if (entrant.processes == 1) return "one process meets nobody";
  const auto same = std::ranges::find_if(earlier, [&](const Entrant& one) {
    return one.backend == profile::Backend::keep && one.environment == entrant.environment;
  });
  return same == earlier.end() ? std::string() : "the same variables as " + same->name;
}

std::optional<std::size_t> winner(std::span<const ProbedProfile> probed) {
  double fastest = 0;
  for (const ProbedProfile& one : probed) fastest = std::max(fastest, bandwidth(one));
  for (std::size_t i = 0; i < probed.size(); ++i)
    if (works(probed[i]) && bandwidth(probed[i]) >= fastest * (1 - kBandwidthNoise)) return i;
  return std::nullopt;
}

std::optional<double> cost_ratio(const Verdict& base, const Verdict& other) {
  const auto* fast = std::get_if<Works>(&base);
  const auto* slow = std::get_if<Works>(&other);
  if (fast == nullptr || slow == nullptr) return std::nullopt;
  if (fast->bus_gb_per_s.value_or(0) <= 0 || slow->bus_gb_per_s.value_or(0) <= 0)
    return std::nullopt;
  return *fast->bus_gb_per_s / *slow->bus_gb_per_s;
}

Conclusion conclude(std::span<const ProbedProfile> probed, int ranks) {
  const auto best = winner(probed);
  if (!best) return none_works(probed);
  const std::string& name = probed[*best].profile;
  if (ranks == 1)
    return {name,
            fmt::format("{}: driver, device and NCCL work; whether ranks can meet, one rank "
                        "cannot tell (--ranks 2 lets two share the GPU)",
                        name),
            ""};
  const bool raced = names_of(probed, works).size() > 1;
  return {name,
          fmt::format("{} works{}{}", name, raced ? " and is the one to use" : " here",
                      beside(probed, *best)),
          fmt::format("safelaunch --profile {} -- COMMAND", name)};
}

int exit_code_for(std::span<const ProbedProfile> probed) {
  const auto any = [&](auto is) { return std::ranges::any_of(probed, is); };
  if (any(works)) return 0;
  if (any([](const auto& one) { return std::holds_alternative<Failed>(one.verdict); })) return 1;
  if (any([](const auto& one) { return std::holds_alternative<Hung>(one.verdict); }))
    return kHungStatus;
  return exit_code_of(Errc::peer_lost);
}

bool measures_links(int ranks, int gpus) {
  return ranks >= 2 && ranks <= gpus;
}

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
  const Json json = parse_json<Json>(text);
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
  return state_file(environment, fmt::format("probed-{}.json", hostname));
}

std::optional<MeasuredHost> load_measured(const std::string& path) {
  if (path.empty()) return std::nullopt;
  const auto text = profile::read_trusted_file(path);
  return text && *text ? parse_measured(**text) : std::nullopt;
}

Result<> save_measured(const std::string& path, const MeasuredHost& host) {
  return path.empty() ? Result<>() : replace_lasting_file(path, format_measured(host));
}

}  // namespace safelaunch::probe
