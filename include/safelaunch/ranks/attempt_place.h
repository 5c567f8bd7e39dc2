#pragma once

#include <filesystem>
#include <span>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/event.h"
#include "safelaunch/base/result.h"
#include "safelaunch/host/process_facts.h"
#include "safelaunch/nccl/watch.h"
#include "safelaunch/report/run_directory.h"

namespace safelaunch::ranks {

/// The way in for the hooks of one attempt, and for NCCL's plugins. Each attempt has its own socket
/// and token, so that a process of an earlier one cannot speak in it.
struct HookDoor {
  std::filesystem::path hook;    ///< the folder of its Python files; empty: none
  std::filesystem::path plugin;  ///< the library; empty: none
  std::string socket;            ///< "@safelaunch/…", in the abstract namespace
  std::string token;
};

/// The parts of safelaunch that are installed into the job's processes.
struct HookGuests {
  bool hook = true;
  bool plugin = true;
};

/// Installs hook and plugin below $XDG_CACHE_HOME/safelaunch (else ~/.cache/safelaunch), or below
/// `otherwise` where that cannot be written, and makes up a new door. Errors: neither place can be
/// written.
[[nodiscard]] Result<HookDoor> open_hook_door(HookGuests guests, const Environment& environment,
                                              const std::filesystem::path& otherwise);

/// The program at the head of a command with which root hands on to another user ("gosu",
/// "setpriv"); empty where there is none, or we are not root. The other user can neither reach our
/// socket nor write where NCCL's log would go, and NCCL would then write it to the job's stdout.
[[nodiscard]] std::string changes_user(std::span<const std::string> command, unsigned our_uid);

/// The line about a rank that was found to run as another user than we do: a script in between has
/// handed on, and its NCCL has been told already where to write its log.
[[nodiscard]] std::string runs_as_another_user(Rank rank, const host::ProcessFacts& process);

/// The files that an attempt needs on the disk. This is a value of its own because a thread that is
/// stuck in a frozen file system may still use it after the run has gone on without.
struct PlaceWanted {
  report::RunDirectory run;
  int number = 1;  ///< the number of the attempt
  std::string profile;
  HookGuests guests;
  Environment environment;
};

struct AttemptPlace {
  std::filesystem::path directory;  ///< the folder of the attempt; empty where nothing is recorded
  std::optional<HookDoor> hook;
  nccl::Door nccl;
  std::string trouble;  ///< why there is no hook; empty: there is one, or none is wanted
};

/// Makes the attempt's folder, and installs hook and plugin.
[[nodiscard]] AttemptPlace make_place(const PlaceWanted& wanted);

/// Gives the files in which torchrun keeps the output of local ranks (`logs`/RUN/attempt_0/3/
/// stdout.log, of the last of its restarts) the names of our own in `directory`, rank-3.out and
/// rank-3.err, as hard links. A silent stream has no file, and a name that is taken stays as it is.
void link_rank_files(const std::filesystem::path& logs, const std::filesystem::path& directory);

}  // namespace safelaunch::ranks
