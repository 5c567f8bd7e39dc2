#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/job/command.h"
#include "safelaunch/nccl/log_file.h"

namespace safelaunch::run {

/// What one attempt has of its own for NCCL, made up anew each time.
struct NcclDoor {
  std::filesystem::path directory;  ///< for its logs; surely written to. Empty: none
  std::string ras_address;          ///< "127.0.0.1:41234"
  std::string socket_magic;         ///< a hexadecimal number
};

/// Tests the directory, finds a free port, draws a number.
[[nodiscard]] NcclDoor open_nccl_door(const std::filesystem::path& directory);

/// Where the NCCL of an attempt writes its log, as its environment says.
struct NcclListening {
  enum class Way {
    nowhere,  ///< it writes none, or where nobody can look
    files,    ///< one a process
    streams,  ///< into the job's own output, as the user wants it
  };
  enum class Owner { we, user };  ///< what was ours to set is not on the user's terminal

  Way way = Way::nowhere;
  Owner owner = Owner::we;
  nccl::LogFile file;            ///< of Way::files
  std::string variable;          ///< NCCL_DEBUG_FILE as set: whose environment has it is of the job
  std::string ras_address;       ///< empty: not ours to know
  std::vector<std::string> set;  ///< NCCL_… that a profile, a file or an option has set
};

/// How far the ranks' NCCLs are from us.
struct NcclReach {
  job::Descendants descendants = job::Descendants::all;
  int nodes = 1;
};

/// Puts what NCCL is to be told into the environment: only what is not set there, and nothing that
/// reaches processes on other hosts, where our directory is not.
[[nodiscard]] NcclListening listen_to_nccl(const NcclDoor& door, const NcclReach& reach,
                                           Environment& environment);

}  // namespace safelaunch::run
