#include "gpu_lines.h"

#include <nlohmann/json.hpp>

#include "gpu_json.h"
#include "safelaunch/base/format.h"

namespace safelaunch::gpu {
namespace {

/// Sixteen is the most that a host has; a driver that counts more has lost its mind.
constexpr std::size_t kMostGpus = 64;

/// NVML's error codes that mean something of their own here.
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
  const auto json = nlohmann::json::parse(line, nullptr, false);
  const auto* gpu = json_member(json, "gpu");
  if (gpu != nullptr && gpu->is_object() && facts_.gpus.size() < kMostGpus) {
    facts_.gpus.push_back(gpu_of(*gpu));
  } else if (const auto asked = json_int(json, "asking")) {
    asked_ = *asked;
  } else if (json_member(json, "error") != nullptr) {
    facts_.why = json_text(json, "error");
    facts_.trouble = trouble_of(json_int(json, "code").value_or(-1));
  } else if (json_member(json, "driver") != nullptr) {
    facts_.driver = json_text(json, "driver");
    facts_.cuda = json_text(json, "cuda");
  } else if (json_member(json, "done") != nullptr) {
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
