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

namespace safelaunch::nccl {

/// A process as NCCL's log names it. The pid is the one that the process itself sees.
struct ProcessName {
  std::string host;
  int pid = 0;
  auto operator<=>(const ProcessName&) const = default;
};

/// How far a process has come with a communicator, by the last of its lines. Each step shows in
/// NCCL's log from some version on; the last one does in all.
enum class Step {
  started,       ///< it waits in the bootstrap for the other ranks (2.23 on)
  bootstrapped,  ///< all ranks have come
  topology,      ///< they have told each other their devices (2.21 on)
  complete,
};

/// "in its bootstrap", "connecting": where a rank is in NCCL.
[[nodiscard]] const char* describe(Step step);

/// A communicator in one process.
struct Comm {
  Part part;
  std::optional<std::uint64_t> identity;  ///< the same in all its processes
  Step step = Step::started;
  int nodes = 0;           ///< 0: not told yet
  bool connected = false;  ///< with lazy connections (2.22 on) after `complete`, or never
  bool called = false;     ///< a collective on it was called, where the log tells
  bool gone = false;       ///< destroyed or aborted
  std::set<std::string> transports;
};

/// What the log of one process tells of it.
struct Process {
  std::optional<Version> version;
  std::string interface;
  std::string network;
  std::map<std::string, std::string> variables;  ///< that NCCL says it has read
  std::vector<Comm> comms;                       ///< in the order in which they were begun
  bool in_old_bootstrap = false;                 ///< of 2.22 and before, which tells no rank
};

/// A communicator that is not complete in all processes that have begun to make it.
struct Standing {
  int ranks = 0;
  std::map<Rank, Step> came;  ///< by the communicator's own ranks
  [[nodiscard]] std::vector<Rank> missing() const;
};

/// A process waits for the others of a communicator to come. The part is unknown up to 2.22.
struct Waits {
  ProcessName who;
  std::optional<Part> part;
};

/// A communicator is complete in a process.
struct Through {
  ProcessName who;
  Part part;
};

/// A line that is meant for people: WARN, ATTN, DIAG, or a HINT behind one of them.
struct Said {
  ProcessName who;
  Level level = Level::warn;
  std::string place;
  std::string text;
};

/// Ranks of one communicator contradict each other: all of them wait for ever.
struct Contradiction {
  RootComplaint::About about = RootComplaint::About::rank_twice;
  std::string text;  ///< "rank 1 of 3 came to NCCL twice: pid 71 and pid 72"
};

using News = std::variant<Waits, Through, Said, Contradiction>;

/// The NCCL of one job, as its logs tell it, whether they come one file a process or all mixed.
/// Lines are handed in one by one, in the order of their process. Whatever they hold, the state
/// stays bounded and a line costs no more than a line: they are another program's, and may be
/// anybody's.
class Job {
 public:
  /// Reads one line without its end; what is new in it, mostly nothing.
  std::vector<News> read(std::string_view line);

  [[nodiscard]] const std::map<ProcessName, Process>& processes() const { return processes_; }
  /// As the first process told it.
  [[nodiscard]] const std::optional<Version>& version() const { return version_; }

  /// Of the communicators for which ranks wait, the one with most of them; nullopt where all that
  /// were begun are complete, and where versions before 2.23 wait in their bootstrap.
  [[nodiscard]] std::optional<Standing> unfinished() const;

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
    ProcessName who;
    Step step = Step::started;
    bool gone = false;
  };
  struct Roster {
    int ranks = 0;
    std::map<int, Member> members;
  };
  struct Context {  // of the line at hand
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
  std::map<std::uint64_t, Roster> rosters_;  // identity → who has begun
  std::optional<Version> version_;
};

}  // namespace safelaunch::nccl
