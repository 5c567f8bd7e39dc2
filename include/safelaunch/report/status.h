#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "safelaunch/base/process.h"
#include "safelaunch/base/time.h"
#include "safelaunch/report/record.h"

namespace safelaunch::report {

/// The figures of one rank at this moment, as its host tells them.
struct RankFigures {
  int pid = 0;
  std::optional<int> cpu;      ///< per cent of one CPU that its processes use, children included
  std::uint64_t memory = 0;    ///< resident bytes of its process
  std::uint64_t children = 0;  ///< resident bytes of the processes below it together
  /// MiB of all GPUs; none: it holds none, or the driver does not tell.
  std::optional<int> gpu_mib;
  std::string doing;    ///< "working: uses 98 % of a CPU"; empty: not known
  std::string where{};  ///< "train.py:40 main → all_reduce", as its hook says; empty: not known
};

/// One GPU at this moment.
struct GpuFigures {
  int gpu = 0;
  int used_mib = 0;
  int size_mib = 0;
  std::optional<int> busy;  ///< per cent of the time in which it works
};

/// The bytes that went over an interface in the last second, whoever sent them.
struct NetworkFigures {
  std::string interface;
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  bool operator==(const NetworkFigures&) const = default;
};

/// The state of one run, as its run directory shows it.
struct RunStatus {
  std::string run;
  ProcessId process;  ///< the safelaunch that runs it
  std::string boot_id;
  std::string started;
  std::string user{};  ///< whose run it is; empty: ours
  std::vector<std::string> command;
  int attempt = 0;
  std::string profile;
  std::map<int, std::string> stages;  ///< the last stage that each rank reached
  std::map<int, Duration> since;      ///< when each rank reached that stage, since the run began
  std::map<int, std::string> hosts;   ///< the hosts of the ranks on other nodes
  std::string waiting;                ///< the last text of the status line
  std::string stall;  ///< how training, or the server, stands still; empty: it moves
  bool training = false;
  bool serves = false;                         ///< it is a server, and answers
  std::optional<double> collectives_a_second;  ///< the rate between the last two answers
  std::optional<record::Straggler> straggler;  ///< the rank that comes last to its collectives
  bool ended = false;                          ///< the record has its end

  // Not recorded: a look at the host tells them while the run goes on.
  std::optional<Duration> age;          ///< the age of the run
  std::map<int, RankFigures> figures;   ///< the figures of the ranks on this host
  std::vector<GpuFigures> gpus;         ///< the GPUs that its ranks may use
  std::vector<NetworkFigures> network;  ///< the interfaces over which its ranks are connected
};

/// Reads job.json and events.jsonl of a run directory; nullopt without a readable job.json.
[[nodiscard]] std::optional<RunStatus> read_status(const std::filesystem::path& directory);

/// One run for a reader: a line about the run, and a table of its ranks; or, where no figures are
/// known, a line for each stage that ranks are in. Of many ranks those that do the same share a
/// row.
[[nodiscard]] std::string render(const RunStatus& status);

/// The runs as JSON.
[[nodiscard]] std::string status_json(const std::vector<RunStatus>& runs);

}  // namespace safelaunch::report
