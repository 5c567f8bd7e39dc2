#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <variant>

#include "safelaunch/base/event.h"
#include "safelaunch/nccl/log_fact.h"

namespace safelaunch::nccl {

/// A process, by the names that NCCL's log gives it. The pid is the one that the process itself
/// sees.
struct ProcessName {
  std::string host;
  int pid = 0;
  auto operator<=>(const ProcessName&) const = default;
};

/// The steps of making a communicator, each shown by a line of the log. Every step but the last
/// shows only from some version of NCCL on.
enum class Step {
  started,       ///< the process waits in the bootstrap for the other ranks (2.23 on)
  bootstrapped,  ///< all ranks have come to the bootstrap
  topology,      ///< the ranks have told each other their devices (2.21 on)
  complete,
};

/// Says where a rank is in NCCL: "in its bootstrap", "connecting".
[[nodiscard]] const char* describe(Step step);

/// A communicator in one process.
struct Comm {
  Part part;
  std::optional<std::uint64_t> identity;  ///< the same number in all processes of the communicator
  Step step = Step::started;
  int nodes = 0;  ///< 0 where no line has told it
  /// It is connected; with lazy connections (2.22 on) set after `complete`, or never.
  bool connected = false;
  bool called = false;  ///< a collective was called on it, where the log tells calls
  bool gone = false;    ///< it was destroyed or aborted
  std::set<std::string> transports;
};

/// All that the log of one process tells of it.
struct Process {
  std::optional<Version> version;
  std::string interface;
  std::string network;
  std::map<std::string, std::string> variables;  ///< variables that NCCL says it has read
  std::vector<Comm> comms;  ///< its communicators in the order in which the process began them
  /// It waits in the bootstrap of 2.22 or older, which tells no rank.
  bool in_old_bootstrap = false;
};

/// A communicator that some process has begun to make and that is not complete in all that have.
struct Standing {
  int ranks = 0;
  std::map<Rank, Step> came;  ///< the steps of its ranks, by their numbers in the communicator
  [[nodiscard]] std::vector<Rank> missing() const;
};

/// News: a process waits for the others of a communicator. The part is unknown up to 2.22.
struct Waits {
  ProcessName who;
  std::optional<Part> part;
};

/// News: NCCL has begun in a process, and waits for nobody yet: first it loads its kernels, which a
/// device does once it has done what it was told before. From 2.23 on; the first time only.
struct Prepares {
  ProcessName who;
};

/// News: a communicator is complete in a process.
struct Through {
  ProcessName who;
  Part part;
};

/// News: a line that is meant for people (WARN, ATTN, DIAG, or a HINT behind one of them).
struct Said {
  ProcessName who;
  Level level = Level::warn;
  std::string place;
  std::string text;
};

/// News: ranks of one communicator contradict each other, so all of them wait for ever.
struct Contradiction {
  RootComplaint::About about = RootComplaint::About::rank_twice;
  std::string text;  ///< "rank 1 of 3 came to NCCL twice: pid 71 and pid 72"
};

using News = std::variant<Prepares, Waits, Through, Said, Contradiction>;

/// The NCCL of one job as its logs tell it, whether each process has a file or all are mixed. Lines
/// are handed in one by one, in the order of their process. The lines are another program's and may
/// hold anything, so the state stays bounded and no line costs more than its length.
class Job {
 public:
  /// Reads one line without its end, and gives the news in it; most lines have none.
  std::vector<News> read(std::string_view line);

  [[nodiscard]] const std::map<ProcessName, Process>& processes() const { return processes_; }
  /// The version that the first process told.
  [[nodiscard]] const std::optional<Version>& version() const { return version_; }

  /// The communicator to which most ranks have come, of those that ranks still wait for. nullopt
  /// where all are complete, and where NCCL before 2.23 waits in its bootstrap.
  [[nodiscard]] std::optional<Standing> unfinished() const;

  /// Counts the processes that wait in a bootstrap that tells no rank (up to 2.22).
  [[nodiscard]] int in_old_bootstrap() const;

  /// True if any communicator of two ranks or more is complete in some process.
  [[nodiscard]] bool any_complete() const;

 private:
  struct Reading {  // kept for reading only
    std::map<int, std::size_t> comm_of_thread;
    std::map<std::uint64_t, std::size_t> comm_at_address;
    bool hints_follow = false;
  };
  struct Member {
    ProcessName who;
    Step step = Step::started;
    bool gone = false;
  };
  struct Roster {
    int ranks = 0;
    std::map<int, Member> members;
  };
  struct Context {  // the line at hand, and all that it concerns
    const Line& line;
    const ProcessName& who;
    Process& process;
    Reading& reading;
    std::vector<News>& news;
  };

  void take(const Context& at, const InitStarted& fact);
  void take(const Context& at, const InitComplete& fact);
  void take(const Context& at, const TopologyAgreed& fact);
  void take(const Context& at, const CommGone& fact);
  void take(const Context& at, const BootstrapDone& fact);
  void take(const Context& at, const NetworkChosen& fact);
  void take(const Context& at, const InterfaceChosen& fact);
  void take(const Context& at, const ChannelMade& fact);
  void take(const Context& at, const Connected& fact);
  void take(const Context& at, const CollectiveCalled& fact);
  void take(const Context& at, const VersionTold& fact);
  void take(const Context& at, const VariableRead& fact);
  void take(const Context& at, const RootComplaint& fact);
  void take(const Context&, const Hint&) {}
  void take(const Context&, std::monostate) {}
  void note_said(const Context& at, const Fact& fact);

  [[nodiscard]] bool is_old(const Process& process) const;
  [[nodiscard]] static Comm* comm_at(const Context& at, std::uint64_t address);
  [[nodiscard]] static Comm* comm_of_thread(const Context& at);
  [[nodiscard]] static std::optional<std::uint64_t> identity_of(const Context& at,
                                                                const InitStarted& fact);
  void enlist(const Context& at, const Comm& comm);
  void advance(Comm& comm, Step step);
  [[nodiscard]] Member* member(const Comm& comm);

  std::map<ProcessName, Process> processes_;
  std::map<ProcessName, Reading> readings_;
  std::map<std::uint64_t, Roster> rosters_;  // identity → the processes that have begun
  std::optional<Version> version_;
};

}  // namespace safelaunch::nccl
