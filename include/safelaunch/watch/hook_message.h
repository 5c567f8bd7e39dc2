#pragma once

#include <cstdint>
#include <map>
#include <variant>

#include "safelaunch/base/event.h"
#include "safelaunch/base/result.h"
#include "safelaunch/base/time.h"
#include "safelaunch/watch/arrivals.h"
#include "safelaunch/watch/collectives.h"
#include "safelaunch/watch/python_stack.h"
#include "safelaunch/watch/uncounted.h"

/// The packets of docs/hook-protocol.md as values.
namespace safelaunch::watch {

/// A hook that has not answered a question within this time most likely never will: its process
/// holds Python's lock (docs/hook-protocol.md).
inline constexpr Duration kHookAnswersWithin{1'000};

/// The first packet of a connection.
struct HookHello {
  std::string token;
  int pid = 0;
  int parent = 0;
  std::string python;             ///< "3.11.7"
  std::vector<std::string> argv;  ///< the first words of its command line
  int plugin = 0;  ///< version of NCCL's profiler interface; 0: it is the Python hook that speaks
};

/// An exception that is being handled, and may keep its rank from the others.
struct ExceptionTold {
  RankRaised raised;   ///< without its process
  bool leaves = true;  ///< it goes on to the caller, where no `except` has made up for it
};

struct StackAnswer {
  int id = 0;
  std::vector<PythonThread> threads;
  std::optional<ExceptionTold> handled{};  ///< the exception that it is handling there
};

/// A thread of the rank has ended by an exception.
struct HookThreadRaised {
  RankRaised raised;  ///< without its process
};

/// A child of the rank, made by multiprocessing, has ended badly.
struct HookChildDied {
  int pid = 0;
  ExitStatus status;
};

struct CountersAnswer {
  int id = 0;
  std::map<std::string, GroupCounters> groups;
  std::map<std::string, std::int64_t>
      waits;  ///< torch's wait counters: how many threads wait there
  Uncounted uncounted = Uncounted::nothing;
};

struct CollectivesAnswer {
  int id = 0;
  std::vector<CollectiveSeen> last;  ///< the last collectives of each group, the newest last
  /// The members of the groups that the rank is in.
  std::map<std::string, std::vector<Rank>> members;
};

/// When the rank came to its last collectives.
struct ArrivalsAnswer {
  int id = 0;
  Arrivals arrivals;
};

/// The hook refuses what the profile asks for, since it would corrupt the training.
struct HookRefusal {
  std::string what;
  std::string why;
};

/// The hook itself failed and keeps out of the way from now on.
struct HookFault {
  std::string where;
  std::string error;
};

/// An exception ends the process. Where it is a rank, the RankRaised is among the events, too.
struct HookException {
  RankRaised raised;
  /// Where communication has failed, how far the process has come in each group, and the last
  /// collectives, of which the one that failed is not finished.
  RankCollectives came_to{};
};

/// The interpreter ends in order.
struct HookExit {
  /// How many collectives this process has finished; none: not counted.
  std::optional<std::int64_t> collectives;
};

/// The file of `init_method=file://` as the first rank of the world found it.
struct InitFile {
  std::string path;
  std::int64_t bytes = 0;
  Duration age{};
};

/// A server of the job answers requests from now on.
struct HookServes {};

/// A server of the job cannot listen, and exits.
struct HookServeFailed {
  int status = 1;
};

/// A call begins that needs other ranks, or ends, or (in a new world) all are forgotten.
struct HookCall {
  enum class What { begins, again, ends, forgotten } what = What::begins;
  FirstCall call{};                     ///< what begins or ends; of an end the operation alone
  std::optional<InitFile> init_file{};  ///< in which the new world meets
};

/// NCCL makes a communicator, as its plugin tells.
struct HookCommunicator {
  std::uint64_t id = 0;     ///< commId of NCCL's log; 0: not known
  std::optional<int> rank;  ///< the rank in the communicator
  std::optional<int> size;
  bool met = false;  ///< all its ranks have come to it already
};

/// The content of one packet.
struct HookMessage {
  std::string name;  ///< "coll.enter"
  Source source = Source::hook;
  std::optional<Rank> rank;  ///< none: the process is no rank, or does not know it yet
  std::optional<int> world_size;
  std::optional<int> local_rank;
  bool of_jax = false;        ///< from a hook that does not see the rank's collectives
  int dropped = 0;            ///< events lost before this one
  std::vector<Event> events;  ///< the events for Stages; none where the rank is unknown
  std::variant<std::monostate, HookHello, StackAnswer, CountersAnswer, CollectivesAnswer,
               ArrivalsAnswer, HookRefusal, HookFault, HookException, HookCommunicator, HookExit,
               HookCall, HookThreadRaised, HookChildDied, HookServes, HookServeFailed>
      body;
};

/// The process at the other end of a connection, and what its earlier packets tell about the later.
struct HookSpeaker {
  ProcessId process;
  bool uses_jax = false;         ///< it called jax.distributed.initialize
  Source source = Source::hook;  ///< hook or plugin, as its hello says
};

/// Ranks and worlds beyond this are taken for garbage; the state that a packet can make is bounded.
inline constexpr int kMostRanks = 65'536;

/// Reads one packet. Anything but a packet of the protocol is an error, since the sender may be
/// anybody's program. Unknown events are read, and say nothing.
[[nodiscard]] Result<HookMessage> read_hook_message(std::string_view packet, HookSpeaker& speaker);

/// A question to a hook. `collectives` and `arrivals` cost the rank milliseconds: they are for a
/// rank that hangs, and for once a minute. `here` has no answer: a program may have closed the
/// descriptor in which our thread waits, and the connection ends only once that thread has woken.
enum class HookQuestion { stack, counters, collectives, arrivals, here };

[[nodiscard]] std::string hook_request(HookQuestion question, int id);

}  // namespace safelaunch::watch
