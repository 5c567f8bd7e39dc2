#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "safelaunch/gpu/gpu_facts.h"

/// GPU facts in the JSON that the reader writes and the client takes apart: the words of both stand
/// in one place. What is missing or of another type reads as not told.
namespace safelaunch::gpu {

[[nodiscard]] nlohmann::ordered_json json_of(const Gpu& gpu);
[[nodiscard]] Gpu gpu_of(const nlohmann::json& json);

[[nodiscard]] const nlohmann::json* json_member(const nlohmann::json& object, const char* name);
[[nodiscard]] std::optional<int> json_int(const nlohmann::json& object, const char* name);
[[nodiscard]] std::string json_text(const nlohmann::json& object, const char* name);

}  // namespace safelaunch::gpu
