#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "safelaunch/base/environment.h"
#include "safelaunch/report/run_directory.h"
#include "safelaunch/run/hook_door.h"
#include "safelaunch/run/nccl_settings.h"

namespace safelaunch::run {

/// What an attempt is to find on the disk. A value of its own: a thread that is stuck in a frozen
/// file system may go on with it long after the run has done without.
struct PlaceWanted {
  report::RunDirectory run;
  int number = 1;  ///< of the attempt
  std::string profile;
  HookGuests guests;
  Environment environment;
};

struct AttemptPlace {
  std::filesystem::path directory;  ///< of the attempt; empty where nothing is recorded
  std::optional<HookDoor> hook;
  NcclDoor nccl;
  std::string trouble;  ///< why there is no hook; empty: there is one, or none is wanted
};

/// Makes the attempt's folder, and installs hook and plugin.
[[nodiscard]] AttemptPlace make_place(const PlaceWanted& wanted);

}  // namespace safelaunch::run
