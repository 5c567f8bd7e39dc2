#pragma once

#include <cstddef>
#include <map>
#include <regex>
#include <string>
#include <typeinfo>

namespace safelaunch::gpu {

/// The facts of an interface in its headers: name → a size, an offset, a value, or a function's
/// type.
using ApiFacts = std::map<std::string, std::string>;

/// The facts of our own declarations, and those of NVIDIA's headers, for the same names: facts.inc,
/// made by facts.py of our declarations.
[[nodiscard]] ApiFacts declared_facts();
[[nodiscard]] ApiFacts real_facts();

/// NCCL's structure of options has the release in the name of its type. It only grows.
template <class Function>
std::string type_of() {
  return std::regex_replace(typeid(Function).name(), std::regex("17ncclConfig_v[0-9]{5}"),
                            "12ncclConfig_t");
}

}  // namespace safelaunch::gpu

#define SAFELAUNCH_SIZE(type) facts["sizeof " #type] = std::to_string(sizeof(type));
#define SAFELAUNCH_OFFSET(type, field) \
  facts[#type "." #field] = std::to_string(offsetof(type, field));
#define SAFELAUNCH_VALUE(name) facts[#name] = std::to_string(static_cast<long long>(name));
// The name may be a macro that leads to a newer version with the same type.
#define SAFELAUNCH_FUNCTION(name) facts[#name] = type_of<decltype(name)>();
