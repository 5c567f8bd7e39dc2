#include "facts_json.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"

// Every line may be cut, garbage or one of thousands, since a sick driver may have written into the
// process that tells it. The end of that process decides what the lines are worth: a driver's own
// error counts before a deadline, and a deadline before a crash.
namespace safelaunch::gpu {

// ---- one GPU ------------------------------------------------------------------------------------

namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

// No GPU has more than this, so a broken answer cannot fill our memory.
constexpr std::size_t kMostItems = 512;
constexpr std::size_t kLongestText = 1024;
constexpr int kMostMib = 4'000'000;  // so that the sum of all processes of a GPU is a number, too

template <class Value>
using Words = std::initializer_list<std::pair<Value, const char*>>;

constexpr Words<ComputeMode> kComputeModes = {{ComputeMode::shared, "shared"},
                                              {ComputeMode::exclusive_process, "exclusive-process"},
                                              {ComputeMode::prohibited, "prohibited"},
                                              {ComputeMode::unknown, "unknown"}};
constexpr Words<FabricState> kFabricStates = {{FabricState::unsupported, "unsupported"},
                                              {FabricState::not_started, "not-started"},
                                              {FabricState::in_progress, "in-progress"},
                                              {FabricState::completed, "completed"},
                                              {FabricState::unknown, "unknown"}};
constexpr Words<Health> kHealths = {{Health::well, "well"},
                                    {Health::lost, "lost"},
                                    {Health::reset_required, "reset-required"},
                                    {Health::failing, "failing"}};

template <class Value>
const char* word_of(Value value, const Words<Value>& words) {
  const auto is_it = [&](const auto& pair) { return pair.first == value; };
  return std::ranges::find_if(words, is_it)->second;
}

/// Finds the value of a word. The last value of the list stands for unknown words.
template <class Value>
Value value_of(const std::string& word, const Words<Value>& words) {
  const auto is_it = [&](const auto& pair) { return pair.second == word; };
  const auto* found = std::ranges::find_if(words, is_it);
  return found != words.end() ? found->first : std::prev(words.end())->first;
}

template <class Value>
void put(OrderedJson& json, const char* name, const std::optional<Value>& value) {
  if (value) json[name] = *value;
}

std::string text(const Json& object, const char* name) {
  return text_of(object, name, kLongestText);
}

std::optional<int> mib(const Json& object, const char* name) {
  return number_of(object, name, 0, kMostMib);
}

/// Makes a list of items, one of each object in a JSON list.
template <class Item, class Take>
std::vector<Item> items(const Json& object, const char* name, Take take) {
  std::vector<Item> taken;
  for (const Json& one : array_of(object, name))
    if (one.is_object() && taken.size() < kMostItems) taken.push_back(take(one));
  return taken;
}

MemoryErrors errors_of(const Json& json) {
  MemoryErrors errors;
  errors.uncorrected = number_of<std::int64_t>(json, "ecc_uncorrected");
  errors.repair_pending = is_true(json, "repair_pending");
  errors.repair_failed = is_true(json, "repair_failed");
  return errors;
}

void put_identity(OrderedJson& json, const Gpu& gpu) {
  json["index"] = gpu.index;
  json["uuid"] = gpu.uuid;
  json["name"] = gpu.name;
  json["pci"] = gpu.pci;
  json["capability"] = gpu.capability;
  put(json, "numa", gpu.numa_node);
  json["memory_mib"] = gpu.memory_mib;
  json["used_mib"] = gpu.used_mib;
  put(json, "busy_percent", gpu.busy_percent);
}

void put_state(OrderedJson& json, const Gpu& gpu) {
  json["health"] = word_of(gpu.health, kHealths);
  if (!gpu.trouble.empty()) json["trouble"] = gpu.trouble;
  json["compute_mode"] = word_of(gpu.compute_mode, kComputeModes);
  json["mig"] = gpu.mig;
  put(json, "ecc_uncorrected", gpu.errors.uncorrected);
  json["repair_pending"] = gpu.errors.repair_pending;
  json["repair_failed"] = gpu.errors.repair_failed;
  json["recovery"] = gpu.recovery;
  json["fabric"] = word_of(gpu.fabric, kFabricStates);
  if (!gpu.fabric_trouble.empty()) json["fabric_trouble"] = gpu.fabric_trouble;
}

void put_lists(OrderedJson& json, const Gpu& gpu) {
  for (const char* name : {"processes", "slices", "links", "paths"})
    json[name] = OrderedJson::array();
  for (const auto& process : gpu.processes) {
    OrderedJson one{{"pid", process.pid}};
    put(one, "mib", process.mib);
    json["processes"].push_back(std::move(one));
  }
  for (const auto& slice : gpu.slices)
    json["slices"].push_back({{"uuid", slice.uuid}, {"memory_mib", slice.memory_mib}});
  for (const auto& link : gpu.links)
    json["links"].push_back(
        {{"number", link.number}, {"active", link.active}, {"peer", link.peer}});
  for (const auto& path : gpu.paths)
    json["paths"].push_back({{"to", path.to},
                             {"p2p_read", path.p2p_read},
                             {"p2p_write", path.p2p_write},
                             {"nearest", path.nearest}});
}

void take_lists(const Json& json, Gpu& gpu) {
  gpu.processes = items<Process>(json, "processes", [](const Json& one) {
    return Process{number_of(one, "pid").value_or(0), mib(one, "mib")};
  });
  gpu.slices = items<MigDevice>(json, "slices", [](const Json& one) {
    return MigDevice{text(one, "uuid"), mib(one, "memory_mib").value_or(0)};
  });
  gpu.links = items<Link>(json, "links", [](const Json& one) {
    return Link{number_of(one, "number").value_or(0), is_true(one, "active"), text(one, "peer")};
  });
  gpu.paths = items<Path>(json, "paths", [](const Json& one) {
    return Path{number_of(one, "to").value_or(0), text(one, "p2p_read"), text(one, "p2p_write"),
                text(one, "nearest")};
  });
}

}  // namespace

OrderedJson json_of(const Gpu& gpu) {
  OrderedJson json;
  put_identity(json, gpu);
  put_state(json, gpu);
  put_lists(json, gpu);
  return json;
}

Gpu gpu_of(const Json& json) {
  Gpu gpu;
  gpu.index = number_of(json, "index").value_or(0);
  gpu.uuid = text(json, "uuid");
  gpu.name = text(json, "name");
  gpu.pci = text(json, "pci");
  gpu.capability = text(json, "capability");
  gpu.numa_node = number_of(json, "numa");
  gpu.memory_mib = mib(json, "memory_mib").value_or(0);
  gpu.used_mib = mib(json, "used_mib").value_or(0);
  gpu.busy_percent = number_of(json, "busy_percent");
  gpu.health = value_of(text(json, "health"), kHealths);
  gpu.trouble = text(json, "trouble");
  gpu.compute_mode = value_of(text(json, "compute_mode"), kComputeModes);
  gpu.mig = is_true(json, "mig");
  gpu.errors = errors_of(json);
  gpu.recovery = text(json, "recovery");
  gpu.fabric = value_of(text(json, "fabric"), kFabricStates);
  gpu.fabric_trouble = text(json, "fabric_trouble");
  take_lists(json, gpu);
  return gpu;
}

// ---- the lines of an answer ---------------------------------------------------------------------

namespace {

/// No host has more than sixteen GPUs; a driver that counts beyond this talks nonsense.
constexpr std::size_t kMostGpus = 64;

/// Reads the NVML error codes that have a meaning of their own here; all others are failures.
Trouble trouble_of(int code) {
  switch (code) {
    case 4: return Trouble::no_permission;
    case 9:   // the driver is not loaded
    case 12:  // there is no library
      return Trouble::no_driver;
    case 18: return Trouble::driver_mismatch;
    default: return Trouble::failed;
  }
}

}  // namespace

void Lines::take(std::string_view line) {
  const auto json = parse_json<nlohmann::json>(line);
  const auto* gpu = field_of(json, "gpu");
  if (gpu != nullptr && gpu->is_object() && facts_.gpus.size() < kMostGpus) {
    facts_.gpus.push_back(gpu_of(*gpu));
  } else if (const auto asked = number_of(json, "asking")) {
    asked_ = *asked;
  } else if (field_of(json, "error") != nullptr) {
    facts_.why = text(json, "error");
    facts_.trouble = trouble_of(number_of(json, "code").value_or(-1));
  } else if (field_of(json, "driver") != nullptr) {
    facts_.driver = text(json, "driver");
    facts_.cuda = text(json, "cuda");
  } else if (field_of(json, "done") != nullptr) {
    done_ = true;
  } else {
    ++senseless_;
  }
}

Facts Lines::finish(const launch::HelperEnd& end, Duration deadline) && {
  const auto about = asked_ < 0 ? std::string() : fmt::format(" (asked for GPU {})", asked_);
  if (facts_.trouble != Trouble::none) return std::move(facts_);
  if (end.timed_out || !end.status) {
    facts_.trouble = Trouble::no_answer;
    facts_.why =
        fmt::format("the driver does not answer within {}{}", describe_duration(deadline), about);
  } else if (!done_) {
    facts_.trouble = succeeded(*end.status) ? Trouble::failed : Trouble::crashed;
    facts_.why = fmt::format("asking the driver failed{}: {}", about, describe(end));
  } else if (senseless_ > 0) {
    facts_.trouble = Trouble::failed;
    facts_.why = fmt::format("{} lines of the answer make no sense", senseless_);
  }
  return std::move(facts_);
}

}  // namespace safelaunch::gpu
