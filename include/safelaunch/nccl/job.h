#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "safelaunch/base/event.h"
#include "safelaunch/nccl/log_fact.h"

namespace safelaunch {

/// A process as NCCL's log names it. The pid is the one that the process itself sees.
struct NcclProcessName {
  std::string host;
  int pid = 0;
  auto operator<=>(const NcclProcessName&) const = default;
};

/// How far a process has come with a communicator, by the last of its lines. Each step shows in
/// NCCL's log from some version on; the last one does in all.
enum class NcclStep {
  started,       ///< it waits in the bootstrap for the other ranks (2.23 on)
  bootstrapped,  ///< all ranks have come
  topology,      ///< they have told each other their devices (2.21 on)
  complete,
};

/// "in its bootstrap", "connecting": where a rank is in NCCL.
[[nodiscard]] const char* describe(NcclStep step);

/// A communicator in one process.
struct NcclComm {
  NcclPart part;
  std::optional<std::uint64_t> identity;  ///< the same in all its processes
  NcclStep step = NcclStep::started;
  int nodes = 0;           ///< 0: not told yet
  bool connected = false;  ///< with lazy connections (2.22 on) after `complete`, or never
  bool called = false;     ///< a collective on it was called, where the log tells
  bool gone = false;       ///< destroyed or aborted
  std::set<std::string> transports;
};

/// What the log of one process tells of it.
struct NcclProcess {
  std::optional<NcclVersion> version;
  std::string interface;
  std::string network;
  std::map<std::string, std::string> variables;  ///< that NCCL says it has read
  std::vector<NcclComm> comms;                   ///< in the order in which they were begun
  bool in_old_bootstrap = false;                 ///< of 2.22 and before, which tells no rank
};

/// A communicator that is not complete in all processes that have begun to make it.
struct NcclStanding {
  int ranks = 0;
  std::map<Rank, NcclStep> came;  ///< by the communicator's own ranks
  [[nodiscard]] std::vector<Rank> missing() const;
};

/// A process waits for the others of a communicator to come. The part is unknown up to 2.22.
struct NcclWaits {
  NcclProcessName who;
  std::optional<NcclPart> part;
};

/// A communicator is complete in a process.
struct NcclThrough {
  NcclProcessName who;
  NcclPart part;
};

/// A line that is meant for people: WARN, ATTN, DIAG, or a HINT behind one of them.
struct NcclSaid {
  NcclProcessName who;
  NcclLevel level = NcclLevel::warn;
  std::string place;
  std::string text;
};

/// Ranks of one communicator contradict each other: all of them wait for ever.
struct NcclContradiction {
  NcclRootComplaint::About about = NcclRootComplaint::About::rank_twice;
  std::string text;  ///< "rank 1 of 3 came to NCCL twice: pid 71 and pid 72"
};

using NcclNews = std::variant<NcclWaits, NcclThrough, NcclSaid, NcclContradiction>;

/// The NCCL of one job, as its logs tell it, whether they come one file a process or all mixed.
/// Lines are handed in one by one, in the order of their process. Whatever they hold, the state
/// stays bounded and a line costs no more than a line: they are another program's, and may be
/// anybody's.
class NcclJob {
 public:
  /// Reads one line without its end; what is new in it, mostly nothing.
  std::vector<NcclNews> read(std::string_view line);

  [[nodiscard]] const std::map<NcclProcessName, NcclProcess>& processes() const {
    return processes_;
  }
  /// As the first process told it.
  [[nodiscard]] const std::optional<NcclVersion>& version() const { return version_; }

  /// Of the communicators for which ranks wait, the one with most of them; nullopt where all that
  /// were begun are complete, and where versions before 2.23 wait in their bootstrap.
  [[nodiscard]] std::optional<NcclStanding> unfinished() const;

  /// How many processes wait in a bootstrap that tells no rank (up to 2.22).
  [[nodiscard]] int in_old_bootstrap() const;

  /// Whether any communicator of two ranks or more is complete somewhere.
  [[nodiscard]] bool any_complete() const;

 private:
  struct Reading {  // what reading needs beyond what is told
    std::map<int, std::size_t> comm_of_thread;
    std::map<std::uint64_t, std::size_t> comm_at_address;
    bool hints_follow = false;
  };
  struct Member {
    NcclProcessName who;
    NcclStep step = NcclStep::started;
    bool gone = false;
  };
  struct Roster {
    int ranks = 0;
    std::map<int, Member> members;
  };
  struct Context {  // of the line at hand
    const NcclLine& line;
    const NcclProcessName& who;
    NcclProcess& process;
    Reading& reading;
    std::vector<NcclNews>& news;
  };

  void take(const Context& at, const NcclInitStarted& fact);
  void take(const Context& at, const NcclInitComplete& fact);
  void take(const Context& at, const NcclTopologyAgreed& fact);
  void take(const Context& at, const NcclCommGone& fact);
  void take(const Context& at, const NcclBootstrapDone& fact);
  void take(const Context& at, const NcclNetworkChosen& fact);
  void take(const Context& at, const NcclInterfaceChosen& fact);
  void take(const Context& at, const NcclChannelMade& fact);
  void take(const Context& at, const NcclConnected& fact);
  void take(const Context& at, const NcclCollectiveCalled& fact);
  void take(const Context& at, const NcclVersionTold& fact);
  void take(const Context& at, const NcclVariableRead& fact);
  void take(const Context& at, const NcclRootComplaint& fact);
  void take(const Context&, const NcclHint&) {}
  void take(const Context&, std::monostate) {}
  void note_said(const Context& at, const NcclFact& fact);

  [[nodiscard]] bool is_old(const NcclProcess& process) const;
  [[nodiscard]] static NcclComm* comm_at(const Context& at, std::uint64_t address);
  [[nodiscard]] static NcclComm* comm_of_thread(const Context& at);
  [[nodiscard]] static std::optional<std::uint64_t> identity_of(const Context& at,
                                                                const NcclInitStarted& fact);
  void enlist(const Context& at, const NcclComm& comm);
  void advance(NcclComm& comm, NcclStep step);
  [[nodiscard]] Member* member(const NcclComm& comm);

  std::map<NcclProcessName, NcclProcess> processes_;
  std::map<NcclProcessName, Reading> readings_;
  std::map<std::uint64_t, Roster> rosters_;  // identity → who has begun
  std::optional<NcclVersion> version_;
};

}  // namespace safelaunch
