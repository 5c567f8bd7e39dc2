#pragma once

#include <string>
#include <variant>
#include <vector>

#include "collector.h"

/// The questions of a test to the packets that a collector has heard.
namespace safelaunch::testing {

template <class T>
std::vector<T> events_of(const watch::HookMessage& message) {
  std::vector<T> found;
  for (const Event& event : message.events)
    if (const auto* one = std::get_if<T>(&event)) found.push_back(*one);
  return found;
}

inline std::vector<Stage> reached(const watch::HookMessage& message) {
  std::vector<Stage> stages;
  for (const auto& event : events_of<StageReached>(message)) {
    CHECK(event.source == Source::plugin);
    stages.push_back(event.stage);
  }
  return stages;
}

inline std::vector<Stage> entered(const watch::HookMessage& message) {
  std::vector<Stage> stages;
  for (const auto& event : events_of<StageEntered>(message)) stages.push_back(event.stage);
  return stages;
}

inline watch::HookMessage expect(Collector& collector, const std::string& name) {
  const auto message = collector.hear();
  REQUIRE(message.has_value());
  INFO(collector.raw());
  REQUIRE(message->name == name);
  return *message;
}

}  // namespace safelaunch::testing
