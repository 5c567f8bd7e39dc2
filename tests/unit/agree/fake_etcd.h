#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "launcher/agree/etcd_json.h"
#include "safelaunch/base/result.h"
#include "safelaunch/base/time.h"

namespace safelaunch::agree::testing {

/// An etcd of values: it answers as the HTTP gateway of a real one does, as far as a board asks.
class FakeEtcd {
 public:
  struct Entry {
    std::string value;
    std::uint64_t created = 0;
    std::uint64_t changed = 0;
    std::uint64_t lease = 0;
  };
  std::map<std::string, Entry> keys;

  [[nodiscard]] Result<std::string> answer(std::string_view path, const std::string& body,
                                           TimePoint now) {
    end_leases(now);
    const auto asked = Json::parse(body);
    if (path == etcd::Txn::kPath) return transaction(asked);
    Json reply{{"header", {{"revision", std::to_string(revision_)}}}};
    if (path == etcd::kGrantPath) {
      const std::int64_t seconds = std::stoll(asked.at("TTL").get<std::string>());
      leases_[++last_lease_] = {std::chrono::seconds(seconds), now + std::chrono::seconds(seconds)};
      return with_lease(reply, last_lease_, seconds).dump();
    }
    const std::uint64_t lease = std::stoull(asked.at("ID").get<std::string>());
    const auto known = leases_.find(lease);
    if (path == etcd::kRevokePath) {
      if (known == leases_.end()) return no_lease();
      known->second.until = now;
      end_leases(now);
      return reply.dump();
    }
    const bool keeps = path == etcd::kKeepAlivePath;
    if (keeps && known != leases_.end()) known->second.until = now + known->second.granted;
    const auto left =
        known == leases_.end()
            ? std::int64_t{keeps ? 0 : -1}
            : std::chrono::ceil<std::chrono::seconds>(known->second.until - now).count();
    with_lease(reply, lease, left);
    return (keeps ? Json{{"result", reply}} : reply).dump();
  }

  /// The names of all keys, without what all begin with.
  [[nodiscard]] std::string names() const {
    std::string all;
    for (const auto& [name, entry] : keys)
      all += (all.empty() ? "" : " ") +
             name.substr(name.find('/', name.find("/safelaunch/") + 12) + 1);
    return all;
  }

 private:
  using Json = nlohmann::json;
  struct Lease {
    Duration granted{};
    TimePoint until{};
  };

  static Json& with_lease(Json& reply, std::uint64_t lease, std::int64_t seconds) {
    reply["ID"] = std::to_string(lease);
    reply["TTL"] = std::to_string(seconds);
    return reply;
  }
  static Error no_lease() {
    return {Errc::peer_lost, "etcd answers 400: etcdserver: requested lease not found"};
  }

  void end_leases(TimePoint now) {
    for (auto lease = leases_.begin(); lease != leases_.end();) {
      if (lease->second.until > now) {
        ++lease;
        continue;
      }
      ++revision_;
      std::erase_if(keys, [&](const auto& one) { return one.second.lease == lease->first; });
      lease = leases_.erase(lease);
    }
  }

  static std::string text_at(const Json& object, const char* key) {
    return *etcd::from_base64(object.value(key, std::string()));
  }
  static bool within(const std::string& name, const Json& range) {
    const std::string begin = text_at(range, "key");
    const std::string end = text_at(range, "range_end");
    return end.empty() ? name == begin : begin <= name && name < end;
  }

  [[nodiscard]] bool holds(const Json& condition) const {
    const bool of_creation = condition.at("target") == "CREATE";
    const std::uint64_t wanted = std::stoull(
        condition.at(of_creation ? "create_revision" : "mod_revision").get<std::string>());
    bool any = false;
    for (const auto& [name, entry] : keys) {
      if (!within(name, condition)) continue;
      any = true;
      if ((of_creation ? entry.created : entry.changed) != wanted) return false;
    }
    return any || wanted == 0 || condition.contains("range_end");
  }

  Result<std::string> transaction(const Json& asked) {
    bool succeeded = true;
    for (const Json& condition : asked.at("compare")) succeeded = succeeded && holds(condition);
    const Json& actions = asked.at(succeeded ? "success" : "failure");
    bool writes = false;
    for (const Json& action : actions) {
      writes = writes || !action.contains("request_range");
      if (!action.contains("request_put")) continue;
      const std::uint64_t lease =
          std::stoull(action.at("request_put").at("lease").get<std::string>());
      if (lease != 0 && !leases_.contains(lease)) return no_lease();
    }
    if (writes) ++revision_;
    Json responses = Json::array();
    for (const Json& action : actions) responses.push_back(performed(action));
    return Json{{"header", {{"revision", std::to_string(revision_)}}},
                {"succeeded", succeeded},
                {"responses", responses}}
        .dump();
  }

  Json performed(const Json& action) {
    if (action.contains("request_put")) {
      const Json& put = action.at("request_put");
      Entry& entry = keys[text_at(put, "key")];
      if (entry.created == 0) entry.created = revision_;
      entry.value = text_at(put, "value");
      entry.changed = revision_;
      entry.lease = std::stoull(put.at("lease").get<std::string>());
      return {{"response_put", Json::object()}};
    }
    if (action.contains("request_delete_range")) {
      const Json& range = action.at("request_delete_range");
      std::erase_if(keys, [&](const auto& one) { return within(one.first, range); });
      return {{"response_delete_range", Json::object()}};
    }
    return {{"response_range", found(action.at("request_range"))}};
  }

  [[nodiscard]] Json found(const Json& range) const {
    const std::uint64_t since = std::stoull(range.value("min_mod_revision", std::string("0")));
    Json listed = Json::array();
    int count = 0;
    for (const auto& [name, entry] : keys) {
      if (!within(name, range)) continue;
      ++count;
      if (entry.changed < since) continue;
      listed.push_back({{"key", etcd::to_base64(name)},
                        {"value", etcd::to_base64(entry.value)},
                        {"create_revision", std::to_string(entry.created)},
                        {"mod_revision", std::to_string(entry.changed)},
                        {"lease", std::to_string(entry.lease)}});
    }
    return {{"kvs", listed}, {"count", std::to_string(count)}};
  }

  std::uint64_t revision_ = 1;
  std::uint64_t last_lease_ = 7'000;
  std::map<std::uint64_t, Lease> leases_;
};

}  // namespace safelaunch::agree::testing
