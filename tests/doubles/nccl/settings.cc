#include "nccl/settings.h"

#include <cstdlib>

#include "common/knobs.h"
#include "nccl/version.h"

namespace safelaunch::testing {

std::optional<std::string> setting(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

long number_setting(const char* name, long otherwise) {
  const auto value = setting(name);
  return value ? std::strtol(value->c_str(), nullptr, 0) : otherwise;
}

bool fault(std::string_view word) {
  return knob_has("SAFELAUNCH_DOUBLE_FAULT", word);
}

bool fault_from(std::string_view word, long collective) {
  const auto first = knob_number("SAFELAUNCH_DOUBLE_FAULT", word);
  return first && collective >= *first;
}

bool uses_cumem() {
  return played() >= NcclVersion{2, 22} && number_setting("NCCL_CUMEM_ENABLE", 1) != 0;
}

bool has_ras() {
  return played() >= NcclVersion{2, 24} && number_setting("NCCL_RAS_ENABLE", 1) != 0;
}

bool connects_lazily() {
  return uses_cumem() && number_setting("NCCL_RUNTIME_CONNECT", 1) != 0;
}

}  // namespace safelaunch::testing
