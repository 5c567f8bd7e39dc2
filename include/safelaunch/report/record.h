#pragma once

#include <cstdint>
#include <variant>

#include "safelaunch/base/failure.h"
#include "safelaunch/base/time.h"

/// The events of events.jsonl: each a struct that names its fields once, for the writer and the
/// reader alike. docs/run-directory.md tells when each comes; a test compares the two.
namespace safelaunch::report::record {

/// The run begins.
struct Run {
  static constexpr const char* kName = "run";
  std::string run;
  std::vector<std::string> command;
  static void fields(auto& self, auto&& field) {
    field("run", self.run);
    field("command", self.command);
  }
};

/// A check before the run has found something.
struct Finding {
  static constexpr const char* kName = "finding";
  std::string id;
  std::string severity;
  std::string evidence;
  std::string remedy;
  static void fields(auto& self, auto&& field) {
    field("id", self.id);
    field("severity", self.severity);
    field("evidence", self.evidence);
    field("remedy", self.remedy);
  }
};

/// An attempt starts.
struct Attempt {
  static constexpr const char* kName = "attempt";
  std::string profile;
  std::vector<std::string> command;
  static void fields(auto& self, auto&& field) {
    field("profile", self.profile);
    field("command", self.command);
  }
};

/// A rank has reached a stage.
struct Stage {
  static constexpr const char* kName = "stage";
  int rank = -1;
  std::string stage;
  int pid = 0;
  static void fields(auto& self, auto&& field) {
    field("rank", self.rank);
    field("stage", self.stage);
    field("pid", self.pid);
  }
};

/// These ranks run on another node, whose agent tells of them.
struct Node {
  static constexpr const char* kName = "node";
  int node = -1;
  std::string host;
  std::vector<int> ranks;
  static void fields(auto& self, auto&& field) {
    field("node", self.node);
    field("host", self.host);
    field("ranks", self.ranks);
  }
};

/// The nodes have tried to reach each other. The lists from `from` on have one entry a way.
struct Ways {
  static constexpr const char* kName = "ways";
  std::vector<std::string> hosts;  ///< the hosts of the nodes, by number
  std::vector<int> from;           ///< the node that has tried
  std::vector<int> to;
  std::vector<std::string> interface;  ///< the interface of the other node
  std::vector<std::string> end;  ///< the end of the visit: reached, no answer, refused, no route, …
  std::vector<int> round_trip_us;  ///< the round trip; 0: not known
  int left_out = 0;                ///< how many ways, of many nodes, are reached and not listed
  static void fields(auto& self, auto&& field) {
    field("hosts", self.hosts);
    field("from", self.from);
    field("to", self.to);
    field("interface", self.interface);
    field("end", self.end);
    field("round_trip_us", self.round_trip_us);
    field("left_out", self.left_out);
  }
};

/// The status line has changed.
struct Status {
  static constexpr const char* kName = "status";
  std::string text;
  static void fields(auto& self, auto&& field) { field("text", self.text); }
};

/// safelaunch has done or found something that is worth a line.
struct Notice {
  static constexpr const char* kName = "notice";
  std::string text;
  static void fields(auto& self, auto&& field) { field("text", self.text); }
};

/// Every rank has completed its first collective, or a server answers requests.
struct Training {
  static constexpr const char* kName = "training";
  bool serves = false;
  static void fields(auto& self, auto&& field) { field("serves", self.serves); }
};

/// A probe has told how a profile does.
struct Probe {
  static constexpr const char* kName = "probe";
  std::string profile;
  std::string verdict;  ///< the result: works, failed, hung, untold
  std::string text;
  int mb_per_s = 0;  ///< the bus bandwidth of its all_reduce; 0: not measured
  static void fields(auto& self, auto&& field) {
    field("profile", self.profile);
    field("verdict", self.verdict);
    field("text", self.text);
    field("mb_per_s", self.mb_per_s);
  }
};

/// The CPU and memory that the ranks of this node use; one entry a rank in each list.
struct Usage {
  static constexpr const char* kName = "usage";
  std::vector<int> ranks;
  std::vector<int> cpu;       ///< per cent of one CPU since the last look, children included
  std::vector<int> memory;    ///< MiB resident in the rank's process
  std::vector<int> children;  ///< MiB resident in the processes below it
  /// Collectives finished when the rank was asked last; -1: it was not.
  std::vector<int> collectives;
  static void fields(auto& self, auto&& field) {
    field("ranks", self.ranks);
    field("cpu", self.cpu);
    field("memory", self.memory);
    field("children", self.children);
    field("collectives", self.collectives);
  }
};

/// A rank has ended in order, and says how many collectives it has finished.
struct Counted {
  static constexpr const char* kName = "counted";
  int rank = -1;
  std::int64_t collectives = 0;
  static void fields(auto& self, auto&& field) {
    field("rank", self.rank);
    field("collectives", self.collectives);
  }
};

/// The GPUs of this node, one entry a GPU, and the memory that its ranks hold of them.
struct Gpus {
  static constexpr const char* kName = "gpus";
  std::vector<int> gpu;   ///< the number that nvidia-smi gives it
  std::vector<int> used;  ///< MiB, whoever uses them
  std::vector<int> size;  ///< MiB
  /// Per cent of the time in which each GPU works; -1: the driver does not tell.
  std::vector<int> busy;
  /// The ranks that hold memory, as far as the driver names their processes.
  std::vector<int> ranks;
  std::vector<int> held;  ///< MiB that each rank holds of all GPUs; an entry a rank
  static void fields(auto& self, auto&& field) {
    field("gpu", self.gpu);
    field("used", self.used);
    field("size", self.size);
    field("busy", self.busy);
    field("ranks", self.ranks);
    field("held", self.held);
  }
};

/// NCCL has told its version and settings in an attempt.
struct Nccl {
  static constexpr const char* kName = "nccl";
  std::string version;
  std::vector<std::string> interface;
  std::vector<std::string> network;
  std::vector<std::string> transport;
  std::vector<std::string> read;    ///< NCCL variables that a process read
  std::vector<std::string> unread;  ///< variables that were set, and that no process read
  std::string standing;
  static void fields(auto& self, auto&& field) {
    field("version", self.version);
    field("interface", self.interface);
    field("network", self.network);
    field("transport", self.transport);
    field("read", self.read);
    field("unread", self.unread);
    field("standing", self.standing);
  }
};

/// Ranks have answered questions about their collectives.
struct Collectives {
  static constexpr const char* kName = "collectives";
  std::vector<std::string> ranks;
  std::string contradiction;
  std::string behind;
  std::string store;
  static void fields(auto& self, auto&& field) {
    field("ranks", self.ranks);
    field("contradiction", self.contradiction);
    field("behind", self.behind);
    field("store", self.store);
  }
};

/// safelaunch has removed what a stopped attempt left in /dev/shm.
struct Segments {
  static constexpr const char* kName = "segments";
  std::vector<std::string> removed;
  std::int64_t bytes = 0;
  static void fields(auto& self, auto&& field) {
    field("removed", self.removed);
    field("bytes", self.bytes);
  }
};

/// safelaunch has asked NCCL's RAS.
struct Ras {
  static constexpr const char* kName = "ras";
  std::string text;
  static void fields(auto& self, auto&& field) { field("text", self.text); }
};

/// The watch has decided that the attempt has failed.
struct Verdict {
  static constexpr const char* kName = "verdict";
  std::string kind;
  std::string stage;
  std::string text;
  std::vector<int> waiting;
  std::vector<int> missing;
  int waited = 0;  ///< seconds for which the others waited for the missing
  static void fields(auto& self, auto&& field) {
    field("kind", self.kind);
    field("stage", self.stage);
    field("text", self.text);
    field("waiting", self.waiting);
    field("missing", self.missing);
    field("waited", self.waited);
  }
};

/// The diagnosis has named the cause of a failed attempt.
struct Cause {
  static constexpr const char* kName = "cause";
  std::string id;
  std::string certainty;
  std::string text;
  static void fields(auto& self, auto&& field) {
    field("id", self.id);
    field("certainty", self.certainty);
    field("text", self.text);
  }
};

/// A process that safelaunch started has ended.
struct Exit {
  static constexpr const char* kName = "exit";
  int rank = -1;  ///< -1: the launcher
  int pid = 0;
  std::string status;  ///< "exit status 1"
  static void fields(auto& self, auto&& field) {
    field("rank", self.rank);
    field("pid", self.pid);
    field("status", self.status);
  }
};

/// safelaunch has received a signal to end.
struct Signal {
  static constexpr const char* kName = "signal";
  std::string signal;
  int sender = 0;  ///< pid of the sender; 0: the kernel
  static void fields(auto& self, auto&& field) {
    field("signal", self.signal);
    field("sender", self.sender);
  }
};

/// Training, or a server, stands still, or moves again, or waits for ranks that work.
struct Stall {
  static constexpr const char* kName = "stall";
  static constexpr std::string_view kAgain = "again";  ///< the user was told of it before
  static constexpr std::string_view kOver = "over";
  static constexpr std::string_view kWorks = "works";  ///< ranks work, and others wait for them
  std::string text;   ///< who is behind; of one that is over: how long it took
  std::string phase;  ///< kAgain, kOver, kWorks, or empty for a new one
  bool serves = false;
  std::vector<int> ranks{};           ///< who is behind
  std::vector<std::string> places{};  ///< where these are, as far as it is known
  static void fields(auto& self, auto&& field) {
    field("text", self.text);
    field("phase", self.phase);
    field("serves", self.serves);
    field("ranks", self.ranks);
    field("places", self.places);
  }
};

/// A rank of this node comes last to its collectives, and the others wait for it.
struct Straggler {
  static constexpr const char* kName = "straggler";
  int rank = -1;      ///< -1: no rank does any more
  int last = 0;       ///< to so many collectives it came last
  int of = 0;         ///< of these
  int behind_us = 0;  ///< microseconds behind the last but one; the median
  int waited = 0;     ///< per cent of the time in which the others waited for it
  std::string where;  ///< where it was most often, of some looks; empty: not known
  int seen = 0;       ///< as often it was seen there
  int looks = 0;      ///< of these
  static void fields(auto& self, auto&& field) {
    field("rank", self.rank);
    field("last", self.last);
    field("of", self.of);
    field("behind_us", self.behind_us);
    field("waited", self.waited);
    field("where", self.where);
    field("seen", self.seen);
    field("looks", self.looks);
  }
};

/// The hook has failed in a rank and does nothing there any more.
struct HookError {
  static constexpr const char* kName = "hook_error";
  std::string where;
  std::string error;
  static void fields(auto& self, auto&& field) {
    field("where", self.where);
    field("error", self.error);
  }
};

/// Ranks have sent more messages than safelaunch reads; `count` were not read.
struct Unheard {
  static constexpr const char* kName = "unheard";
  std::int64_t count = 0;
  static void fields(auto& self, auto&& field) { field("count", self.count); }
};

/// `count` more events were left out of the record.
struct Unrecorded {
  static constexpr const char* kName = "unrecorded";
  std::string event;  ///< their name; empty: of any name, lost to a stalled disk
  std::int64_t count = 0;
  static void fields(auto& self, auto&& field) {
    field("event", self.event);
    field("count", self.count);
  }
};

/// Where a run that failed or needed another profile took place. A field that is not known is
/// empty.
struct Host {
  static constexpr const char* kName = "host";
  std::string host;
  std::string system;      ///< "Linux 6.1.0-40-amd64 x86_64"
  std::string safelaunch;  ///< the version of each, "0.1.0"
  std::string torch;
  std::string nccl;
  std::string driver;
  std::string gpus;  ///< "8 × NVIDIA H100 80GB HBM3"
  static void fields(auto& self, auto&& field) {
    field("host", self.host);
    field("system", self.system);
    field("safelaunch", self.safelaunch);
    field("torch", self.torch);
    field("nccl", self.nccl);
    field("driver", self.driver);
    field("gpus", self.gpus);
  }
};

/// The run is over.
struct End {
  static constexpr const char* kName = "end";
  int exit_status = 0;
  static void fields(auto& self, auto&& field) { field("exit_status", self.exit_status); }
};

/// The event of a verdict, and the verdict as far as its event can give it back.
[[nodiscard]] Verdict event_of(const Failure& verdict);
[[nodiscard]] Failure failure_of(const Verdict& event);

/// An event of another version of safelaunch.
struct Unknown {
  std::string name;
  std::string text;
};

/// All events that this version writes.
using Event =
    std::variant<Run, Finding, Attempt, Stage, Node, Ways, Status, Notice, Training, Probe, Usage,
                 Counted, Gpus, Nccl, Collectives, Segments, Ras, Verdict, Cause, Exit, Signal,
                 Stall, Straggler, HookError, Unheard, Unrecorded, Host, End>;

/// One line of the record, read back. A field that the line lacks stays empty.
struct Line {
  Duration at{};    ///< the time since the run began
  int attempt = 0;  ///< the number of the attempt; 0: before the first
  std::variant<Event, Unknown> event;
};

/// Reads one line; nullopt if it is no event at all.
[[nodiscard]] std::optional<Line> read_line(std::string_view line);

[[nodiscard]] const char* name(const Event& event);
[[nodiscard]] std::string name(const Line& line);
/// The event in words for a reader; empty only if the event's name says it all.
[[nodiscard]] std::string in_words(const Line& line);
/// "2.28.9 · network Socket · …".
[[nodiscard]] std::string in_words(const Nccl& nccl);
/// "safelaunch 0.1.0, torch 2.13.0, …; Linux … on gpu-7".
[[nodiscard]] std::string in_words(const Host& host);
/// What a job does once its start is over, and what it is then: "serving" and "the server" of one
/// that serves, "training" of others.
[[nodiscard]] const char* phase_in_words(bool serves);
[[nodiscard]] const char* subject(bool serves);
/// "training stands still: …", "the server goes on, after 12min".
[[nodiscard]] std::string in_words(const Stall& stall);
/// "rank 5 came last to 97 of 100 collectives, 180 ms after the others: …".
[[nodiscard]] std::string in_words(const Straggler& straggler);

}  // namespace safelaunch::report::record
