#include "safelaunch/profile/remembered.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "safelaunch/base/json_fields.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/profile/trust.h"

// A profile that worked is remembered by host, GPUs, driver, NCCL and Python: a change in any of
// them makes it worthless. An entry lasts a week. A file that cannot be understood is put aside,
// and never believed in part.
namespace safelaunch::profile {
namespace {

using nlohmann::json;

// More hosts than one home directory sees in a week; the oldest go first.
constexpr std::size_t kMostSuccesses = 256;

json to_json(const Success& success) {
  const HostKey& key = success.key;
  return {{"host", key.hostname}, {"gpus", key.gpus},
          {"driver", key.driver}, {"nccl", key.nccl},
          {"python", key.python}, {"profile", success.profile},
          {"job", success.job},   {"time", success.when.time_since_epoch().count()}};
}

std::optional<Success> success_of(const json& object) {
  const auto host = text_if(object, "host");
  const auto gpus = texts_if(object, "gpus");
  const auto driver = text_if(object, "driver");
  const auto nccl = text_if(object, "nccl");
  const auto python = text_if(object, "python");
  const auto profile = text_if(object, "profile");
  const auto when = number_of<std::int64_t>(object, "time");
  if (!host || !gpus || !driver || !nccl || !python || !profile || !when) return std::nullopt;
  return Success{{*host, *gpus, *driver, *nccl, *python},
                 *profile,
                 WallTime(std::chrono::seconds(*when)),
                 text_if(object, "job").value_or("")};
}

// A time in the future is a clock that was wrong, so it proves nothing.
bool is_fresh(WallTime when, WallTime now) {
  return when <= now && when > now - kMemoryLasts;
}

bool counts_for(const Success& success, const HostKey& key, std::string_view job) {
  return success.key == key && (success.job.empty() || success.job == job);
}

constexpr std::size_t kMostBytes = 1'000'000;

}  // namespace

std::optional<Success> recall(const Memory& memory, const HostKey& key, std::string_view job,
                              WallTime now) {
  const auto found = std::find_if(memory.rbegin(), memory.rend(), [&](const Success& success) {
    return counts_for(success, key, job) && is_fresh(success.when, now);
  });
  if (found == memory.rend()) return std::nullopt;
  return *found;
}

Memory forget(Memory memory, const HostKey& key, std::string_view job) {
  std::erase_if(memory, [&](const Success& success) { return counts_for(success, key, job); });
  return memory;
}

Memory remember(Memory memory, Success success) {
  std::erase_if(memory, [&](const Success& old) {
    return (old.key == success.key && old.job == success.job) || !is_fresh(old.when, success.when);
  });
  memory.push_back(std::move(success));
  if (memory.size() > kMostSuccesses) memory.erase(memory.begin());
  return memory;
}

std::string format_memory(const Memory& memory) {
  json worked = json::array();
  for (const Success& success : memory) worked.push_back(to_json(success));
  const json file = {{"version", 1}, {"worked", std::move(worked)}};
  // A host name that is no UTF-8 must not end a run that has just succeeded.
  return file.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::optional<Memory> parse_memory(std::string_view text) {
  const json file = parse_json<json>(text);
  if (!file.is_object() || file.value("version", json()) != 1) return std::nullopt;
  const json* worked = array_if(file, "worked");
  if (worked == nullptr) return std::nullopt;
  Memory memory;
  for (const json& item : *worked) {
    std::optional<Success> success = success_of(item);
    if (!success) return std::nullopt;
    memory.push_back(std::move(*success));
  }
  return memory;
}

std::string memory_file(const Environment& environment) {
  return state_file(environment, "worked.json");
}

Memory load_memory(const std::string& path) {
  if (path.empty()) return {};
  const Result<std::optional<std::string>> text = read_trusted_file(path, kMostBytes);
  if (text.has_value() && !*text) return {};
  std::optional<Memory> memory;
  if (text.has_value()) memory = parse_memory(**text);
  if (memory) return std::move(*memory);
  // If the file cannot be moved, the next save replaces it.
  static_cast<void>(::rename(path.c_str(), (path + ".bad").c_str()));
  return {};
}

Result<> save_memory(const std::string& path, const Memory& memory) {
  if (path.empty()) return {};
  return replace_lasting_file(path, format_memory(memory));
}

}  // namespace safelaunch::profile
