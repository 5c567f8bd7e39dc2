#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <variant>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/event.h"
#include "safelaunch/job/command.h"
#include "safelaunch/nccl/job.h"
#include "safelaunch/nccl/log_follower.h"
#include "safelaunch/output/job_output.h"

namespace safelaunch::nccl {

/// The places that one attempt gives its NCCL, made up anew each time.
struct Door {
  /// The folder for NCCL's logs, which was tested; empty: there is none.
  std::filesystem::path directory;
  std::string ras_address;   ///< "127.0.0.1:41234"
  std::string socket_magic;  ///< a hexadecimal number
};

/// Tests the directory, finds a free port, draws a number.
[[nodiscard]] Door open_door(const std::filesystem::path& directory);

/// The way in which the NCCL of an attempt writes its log, as its environment says.
struct Listening {
  enum class Way {
    nowhere,  ///< NCCL writes no log, or one where nobody can look
    files,    ///< into files, one a process
    streams,  ///< into the job's own output, as the user wants it
  };
  enum class Owner { we, user };  ///< the one who asked for the log

  Way way = Way::nowhere;
  Owner owner = Owner::we;
  LogFile file;  ///< the files of Way::files
  /// The value of NCCL_DEBUG_FILE: a process with this value belongs to the job.
  std::string variable;
  /// Where RAS answers; empty: another than safelaunch has chosen the place.
  std::string ras_address;
  std::vector<std::string> set;  ///< NCCL_… that a profile, a file or an option has set
};

/// How far the ranks' NCCLs are from us.
struct Reach {
  job::Descendants descendants = job::Descendants::all;
  int nodes = 1;
};

/// Puts what NCCL is to be told into the environment: only what is not set there, and nothing that
/// reaches processes on other hosts, where our directory is not.
[[nodiscard]] Listening listen(const Door& door, const Reach& reach, Environment& environment);

/// The facts that NCCL's logs told of an attempt.
struct Record {
  struct Log {
    std::string name;  ///< the name of the file: "nccl.node7.4711"
    std::optional<Rank> rank;
    std::string text;  ///< the end of the file
  };
  std::vector<Log> logs;
  std::optional<Version> version;
  /// The versions of all processes: those with different ones cannot meet.
  std::set<Version> versions;
  std::set<std::string> interfaces;
  std::set<std::string> networks;
  std::set<std::string> transports;
  /// Variables that some process has read: "NCCL_P2P_DISABLE=1".
  std::vector<std::string> variables;
  /// Variables that were set for NCCL, and that no process has read.
  std::vector<std::string> unread;
  /// A communicator that is not complete, and the ranks that have come to it.
  std::optional<Standing> standing;
  int in_old_bootstrap = 0;  ///< how many processes wait in a bootstrap that tells no ranks
  bool complete = false;     ///< some communicator is complete
  bool any = false;          ///< NCCL has written anything at all
};

/// "rank 1 of 3 never came to NCCL", "all 2 ranks came to NCCL: rank 0 past its bootstrap, rank 1
/// connecting"; empty where nobody waits in NCCL.
[[nodiscard]] std::string describe_standing(const Record& record);

// The news of NCCL's log.
/// How far a rank is.
struct Progress {
  Event event;
};
/// A WARN, ATTN or HINT that is not on the terminal already; each text once.
struct Spoke {
  std::optional<Rank> rank;
  Said said;
};
using LogNews = std::variant<Progress, Contradiction, Spoke>;

/// The NCCL of one attempt, followed by its logs: says as events how far the ranks have come, and
/// hands on what NCCL says to people. Nothing here wakes up but by NCCL's own writing. Use it on
/// the io_context's thread.
class Watch {
 public:
  struct Observer {
    /// The rank of a process that NCCL names; the part is that in its communicator, if known.
    std::function<std::optional<RankStarted>(const ProcessName&, const std::optional<Part>&)> whose;
    std::function<int()> world_size;  ///< the number of ranks in the job; 0: not known
    std::function<bool()> expects;    ///< whether a log may come at all, asked once
    std::function<void(const LogNews&)> hear;
  };

  Watch(boost::asio::io_context& io, Listening listening, Observer observer);

  /// The job has written something to its own output.
  void saw_output(output::StreamId stream, std::string_view bytes);
  /// Hands over at once what stands in the logs.
  void read_now();
  /// Stops reading the logs.
  void stop();
  [[nodiscard]] Record record() const;

 private:
  void take_line(const std::string& file, std::string_view line);
  void take(const Prepares& news);
  void take(const Waits& news);
  void take(const Through& news);
  void take(const Said& news);
  void take(const Contradiction& news);
  [[nodiscard]] std::optional<RankStarted> whose(const ProcessName& who,
                                                 const std::optional<Part>& part);

  Listening listening_;
  Observer observer_;
  Job job_;
  std::optional<LogFollower> follower_;
  std::map<std::string, ProcessName> writer_of_;  // file → its process
  std::map<ProcessName, Rank> rank_of_;
  std::set<ProcessName> asked_;
  std::set<std::string> said_;
  struct Stream {
    output::StreamId id;
    std::string begun_line;
  };
  std::vector<Stream> streams_;
  bool stopped_ = false;
};

}  // namespace safelaunch::nccl
