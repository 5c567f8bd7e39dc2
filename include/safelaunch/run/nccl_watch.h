#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "safelaunch/base/event.h"
#include "safelaunch/nccl/job.h"
#include "safelaunch/output/job_output.h"
#include "safelaunch/run/log_follower.h"
#include "safelaunch/run/nccl_settings.h"

namespace safelaunch::run {

/// What NCCL's logs told of an attempt.
struct NcclRecord {
  struct Log {
    std::string name;  ///< of the file: "nccl.node7.4711"
    std::optional<Rank> rank;
    std::string text;  ///< its end
  };
  std::vector<Log> logs;
  std::optional<nccl::Version> version;
  std::set<nccl::Version> versions;  ///< of all processes: more than one cannot meet
  std::set<std::string> interfaces;
  std::set<std::string> networks;
  std::set<std::string> transports;
  std::vector<std::string> variables;      ///< "NCCL_P2P_DISABLE=1", that some process has read
  std::vector<std::string> unread;         ///< that were set for it, and that none has read
  std::optional<nccl::Standing> standing;  ///< of a communicator that is not complete
  int in_old_bootstrap = 0;                ///< processes that wait in one that tells no ranks
  bool complete = false;                   ///< some communicator is
  bool any = false;                        ///< NCCL has written anything at all
};

/// "rank 1 of 3 never came to NCCL", "all 2 ranks came to NCCL: rank 0 past its bootstrap, rank 1
/// connecting"; empty where nobody waits in NCCL.
[[nodiscard]] std::string describe_standing(const NcclRecord& record);

/// The NCCL of one attempt, followed by its logs: says as events how far the ranks have come, and
/// hands on what NCCL says to people. Nothing here wakes up but by NCCL's own writing. Use it on
/// the io_context's thread.
class NcclWatch {
 public:
  class Listener {
   public:
    /// The rank of a process that NCCL names; the part is that in its communicator, if known.
    [[nodiscard]] virtual std::optional<RankStarted> whose(
        const nccl::ProcessName& who, const std::optional<nccl::Part>& part) const = 0;
    /// Of the job; 0: not known.
    [[nodiscard]] virtual int world_size() const = 0;
    virtual void on_nccl_event(const Event& event) = 0;
    virtual void on_nccl_contradiction(const nccl::Contradiction& found) = 0;
    /// A WARN, ATTN or HINT that is not on the terminal already; each text once.
    virtual void on_nccl_said(std::optional<Rank> rank, const nccl::Said& said) = 0;

   protected:
    ~Listener() = default;
  };

  NcclWatch(boost::asio::io_context& io, NcclListening listening, Listener& listener);

  /// The job has written something to its own output.
  void saw_output(output::StreamId stream, std::string_view bytes);
  /// Hands over at once what stands in the logs.
  void read_now();
  /// Hears nothing any more.
  void stop();
  [[nodiscard]] NcclRecord record() const;

 private:
  void take_line(const std::string& file, std::string_view line);
  void take(const nccl::Waits& news);
  void take(const nccl::Through& news);
  void take(const nccl::Said& news);
  void take(const nccl::Contradiction& news);
  [[nodiscard]] std::optional<RankStarted> whose(const nccl::ProcessName& who,
                                                 const std::optional<nccl::Part>& part);

  NcclListening listening_;
  Listener& listener_;
  nccl::Job job_;
  std::optional<LogFollower> follower_;
  std::map<std::string, nccl::ProcessName> writer_of_;  // file → its process
  std::map<nccl::ProcessName, Rank> rank_of_;
  std::set<nccl::ProcessName> asked_;
  std::set<std::string> said_;
  struct Stream {
    output::StreamId id;
    std::string begun_line;
  };
  std::vector<Stream> streams_;
  bool stopped_ = false;
};

}  // namespace safelaunch::run
