#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "safelaunch/base/json_fields.h"
#include "safelaunch/nodes/mesh.h"

// The values of mesh.h as JSON. Another node has written the text that is read here, so each piece
// is bounded, and wrong pieces are left out.
namespace safelaunch::nodes {
namespace {

using MeshJson = nlohmann::json;
using std::chrono::microseconds;

constexpr std::array kEndNames{"reached",  "no answer",  "refused",
                               "no route", "other host", "unknown"};
constexpr std::size_t kLongestWord = 64;
constexpr std::size_t kMostDoors = 16;
constexpr std::size_t kMostWays = 4'096;

// The record of a large job must stay small.
constexpr std::size_t kAllRecorded = 16;
constexpr std::size_t kMostRecorded = 1'000;
constexpr std::int64_t kLongestRoundTrip = 1'000'000'000;

MeshJson json_of(const NodeDoors& doors) {
  MeshJson list = MeshJson::array();
  for (const Door& door : doors.doors)
    list.push_back({{"if", door.interface}, {"at", door.address}, {"port", door.port}});
  return {{"name", doors.name},     {"doors", std::move(list)},
          {"nccl", doors.nccl},     {"gloo", doors.gloo},
          {"meets", doors.meets},   {"named", doors.nccl_named},
          {"master", doors.master}, {"firewall", name(doors.firewall)}};
}

NodeDoors doors_of(const MeshJson& json) {
  NodeDoors read;
  read.name = text_of(json, "name", kLongestWord);
  for (const MeshJson& one : array_of(json, "doors")) {
    const Door door{text_of(one, "if", kLongestWord), text_of(one, "at", kLongestWord),
                    number_of(one, "port", 1, 65'535).value_or(0)};
    if (!door.interface.empty() && door.port != 0 && read.doors.size() < kMostDoors)
      read.doors.push_back(door);
  }
  read.nccl = text_of(json, "nccl", kLongestWord);
  read.gloo = text_of(json, "gloo", kLongestWord);
  read.meets = text_of(json, "meets", kLongestWord);
  read.nccl_named = is_true(json, "named");
  read.firewall = host::firewall_named(text_of(json, "firewall", kLongestWord));
  read.master = texts_of(json, "master", kMostDoors, kLongestWord);
  return read;
}

std::string dump(const MeshJson& json) {
  return json.dump(-1, ' ', false, MeshJson::error_handler_t::replace);
}

MeshJson parsed(std::string_view text) {
  return parse_json<MeshJson>(text);
}

// A clock that was never set is 60 years off; a sum over all nodes must fit, too.
constexpr std::int64_t kLongestTime = 4'000'000'000'000'000;

std::optional<microseconds> microseconds_of(const MeshJson& json, const char* key) {
  const auto number = number_of<std::int64_t>(json, key);
  if (!number || *number > kLongestTime || *number < -kLongestTime) return std::nullopt;
  return microseconds(*number);
}

// Zero where it is not told, or negative.
microseconds time_taken(const MeshJson& json, const char* key) {
  return std::max(microseconds_of(json, key).value_or(microseconds{}), microseconds{});
}

}  // namespace

report::record::Ways record_of(const Mesh& mesh) {
  report::record::Ways record;
  const bool all = mesh.size() <= kAllRecorded;
  for (const auto& [from, node] : mesh) {
    record.hosts.push_back(node.host);
    for (const Way& way : node.ways.value_or(std::vector<Way>())) {
      const bool listed = all || way.end != Way::End::reached;
      if (!listed || record.end.size() >= kMostRecorded) {
        ++record.left_out;
        continue;
      }
      record.from.push_back(from);
      record.to.push_back(way.seat);
      record.interface.push_back(way.interface);
      record.end.emplace_back(kEndNames.at(static_cast<std::size_t>(way.end)));
      record.round_trip_us.push_back(
          static_cast<int>(std::clamp<std::int64_t>(way.round_trip.count(), 0, kLongestRoundTrip)));
    }
  }
  return record;
}

std::string to_text(const NodeDoors& doors) {
  return dump(json_of(doors));
}

std::string to_text(const AllDoors& doors) {
  MeshJson list = MeshJson::array();
  for (const auto& [seat, one] : doors) {
    list.push_back(json_of(one));
    list.back()["seat"] = seat;
  }
  return dump(list);
}

std::string to_text(const std::vector<Way>& ways) {
  MeshJson list = MeshJson::array();
  for (const Way& way : ways) {
    MeshJson one{{"seat", way.seat},
                 {"if", way.interface},
                 {"end", kEndNames.at(static_cast<std::size_t>(way.end))}};
    if (way.round_trip.count() > 0) one["round_trip_us"] = way.round_trip.count();
    if (way.ahead) {
      one["ahead_us"] = way.ahead->count();
      one["error_us"] = way.error.count();
    }
    list.push_back(std::move(one));
  }
  return dump(list);
}

NodeDoors doors_from(std::string_view text) {
  return doors_of(parsed(text));
}

AllDoors all_doors_from(std::string_view text) {
  AllDoors all;
  const MeshJson json = parsed(text);
  if (!json.is_array()) return all;
  for (const MeshJson& one : json)
    if (const auto seat = number_of(one, "seat"); seat && *seat >= 0) all[*seat] = doors_of(one);
  return all;
}

std::vector<Way> ways_from(std::string_view text) {
  std::vector<Way> ways;
  const MeshJson json = parsed(text);
  if (!json.is_array()) return ways;
  for (const MeshJson& one : json) {
    const auto seat = number_of(one, "seat");
    const auto end = std::ranges::find(kEndNames, text_of(one, "end", kLongestWord));
    if (!seat || end == kEndNames.end() || ways.size() == kMostWays) continue;
    Way way{*seat, text_of(one, "if", kLongestWord),
            static_cast<Way::End>(end - kEndNames.begin())};
    way.round_trip = time_taken(one, "round_trip_us");
    way.ahead = microseconds_of(one, "ahead_us");
    way.error = time_taken(one, "error_us");
    ways.push_back(std::move(way));
  }
  return ways;
}

}  // namespace safelaunch::nodes
