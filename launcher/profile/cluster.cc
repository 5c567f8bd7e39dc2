#include "cluster.h"

#include <arpa/inet.h>
#include <re2/re2.h>

#include <algorithm>
#include <vector>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/profile/config.h"

// The conditions of a cluster rule are judged by themselves: whether they are well formed, when the
// file is read, and whether they hold, when the host is known. Patterns run under RE2, so a pattern
// costs linear time whatever it is.
namespace safelaunch::profile {
namespace {

using Bytes = std::vector<unsigned char>;

// An address as its 4 or 16 bytes; empty for what is none.
Bytes address_bytes(std::string_view text) {
  const std::string word(text);
  Bytes bytes(sizeof(in6_addr));
  if (inet_pton(AF_INET6, word.c_str(), bytes.data()) == 1) return bytes;
  if (inet_pton(AF_INET, word.c_str(), bytes.data()) != 1) return {};
  bytes.resize(sizeof(in_addr));
  return bytes;
}

struct Network {
  Bytes base;
  unsigned bits = 0;
};

std::optional<Network> parse_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  Bytes base = address_bytes(text.substr(0, slash));
  const auto bits = to_number<unsigned>(text.substr(slash + 1));
  if (base.empty() || !bits || *bits > 8 * base.size()) return std::nullopt;
  return Network{std::move(base), *bits};
}

bool same_bits(const Bytes& a, const Bytes& b, unsigned bits) {
  for (unsigned bit = 0; bit < bits; ++bit) {
    const auto mask = static_cast<unsigned char>(0x80U >> bit % 8);
    if (((a[bit / 8] ^ b[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

constexpr std::size_t kLongestPattern = 200;
constexpr std::size_t kLongestText = 300;

RE2::Options options() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_encoding(RE2::Options::EncodingLatin1);  // a host name may be any bytes
  options.set_max_mem(1 << 20);
  return options;
}

RE2 compiled(std::string_view pattern) {
  return RE2(re2::StringPiece(pattern.data(), pattern.size()), options());
}

re2::StringPiece beginning(std::string_view text) {
  return {text.data(), std::min(text.size(), kLongestText)};
}

bool hostname_matches(std::string_view pattern, std::string_view hostname) {
  return matches_whole(pattern, hostname) ||
         matches_whole(pattern, hostname.substr(0, hostname.find('.')));
}

}  // namespace

bool matches_whole(std::string_view pattern, std::string_view text) {
  return RE2::FullMatch(beginning(text), compiled(pattern));
}

bool occurs_in(std::string_view pattern, std::string_view text) {
  return RE2::PartialMatch(beginning(text), compiled(pattern));
}

bool is_in_network(std::string_view address, std::string_view network) {
  const std::optional<Network> parsed = parse_network(network);
  const Bytes bytes = address_bytes(address);
  return parsed && bytes.size() == parsed->base.size() &&
         same_bits(bytes, parsed->base, parsed->bits);
}

bool ClusterMatch::empty() const {
  return hostname.empty() && gpu.empty() && env.empty() && network.empty();
}

bool asks_for_gpus(const Config& config) {
  return std::any_of(config.clusters.begin(), config.clusters.end(),
                     [](const ClusterRule& rule) { return !rule.match.gpu.empty(); });
}

bool matches(const ClusterMatch& match, const ClusterHost& host) {
  const auto is_gpu = [&](const std::string& gpu) { return occurs_in(match.gpu, gpu); };
  const auto is_there = [&](const std::string& address) {
    return is_in_network(address, match.network);
  };
  const auto has_value = [&](const auto& wanted) {
    const auto found = host.environment.find(wanted.first);
    return found != host.environment.end() && matches_whole(wanted.second, found->second);
  };
  if (match.empty()) return false;
  if (!match.hostname.empty() && !hostname_matches(match.hostname, host.hostname)) return false;
  if (!match.gpu.empty() && std::none_of(host.gpus.begin(), host.gpus.end(), is_gpu)) return false;
  if (!match.network.empty() &&
      std::none_of(host.addresses.begin(), host.addresses.end(), is_there))
    return false;
  return std::all_of(match.env.begin(), match.env.end(), has_value);
}

Result<const ClusterRule*> choose_cluster(const Config& config, std::string_view name,
                                          const ClusterHost& host) {
  std::vector<std::string_view> names;
  for (const ClusterRule& rule : config.clusters) {
    if (name.empty() ? matches(rule.match, host) : rule.name == name) return &rule;
    names.push_back(rule.name);
  }
  if (name.empty()) return nullptr;
  return Error{Errc::usage, fmt::format("--cluster {}: {} has no such rule{}", name,
                                        config.origin.empty() ? "safelaunch.yaml" : config.origin,
                                        did_you_mean(name, names))};
}

Rules rules_for(const Config& config, const ClusterRule* cluster) {
  Rules rules = config.everywhere;
  if (cluster == nullptr) return rules;
  if (!cluster->rules.chain.empty()) {
    rules.chain = cluster->rules.chain;
    rules.chain_place = cluster->rules.chain_place;
  }
  for (const auto& [name, setting] : cluster->rules.variables.env) {
    rules.variables.env[name] = setting;
    std::erase(rules.variables.unset, name);
  }
  for (const std::string& name : cluster->rules.variables.unset) {
    rules.variables.env.erase(name);
    rules.variables.unset.push_back(name);
  }
  rules.options = settings::overlay(std::move(rules.options), cluster->rules.options);
  return rules;
}

std::optional<std::string> refuse_network(std::string_view network) {
  if (parse_network(network)) return std::nullopt;
  return fmt::format("'{}' is not a network such as 10.8.0.0/16 or fd00::/8", network);
}

std::optional<std::string> refuse_pattern(std::string_view pattern) {
  if (pattern.empty()) return "the pattern is empty";
  if (pattern.size() > kLongestPattern)
    return fmt::format("the pattern is longer than {} characters", kLongestPattern);
  if (const RE2 read(re2::StringPiece(pattern.data(), pattern.size()), options()); !read.ok())
    return fmt::format("'{}' is not a regular expression: {}", pattern, read.error());
  return std::nullopt;
}

}  // namespace safelaunch::profile
