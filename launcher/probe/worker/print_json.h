#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>

namespace safelaunch::probe {

/// One object on a line of stdout. Names out of a sick driver may be no UTF-8.
inline void print_json(const nlohmann::ordered_json& object) {
  using Json = nlohmann::ordered_json;
  std::puts(object.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  std::fflush(stdout);
}

}  // namespace safelaunch::probe
