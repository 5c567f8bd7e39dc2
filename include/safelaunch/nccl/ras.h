#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "safelaunch/base/event.h"
#include "safelaunch/base/time.h"
#include "safelaunch/nccl/version.h"

namespace boost::asio {
class io_context;
}

/// NCCL's RAS (2.24 on): a text service in every process of a job. Each process knows of all
/// others.
namespace safelaunch::nccl {

/// True where asking is worth its risk. A query has crashed jobs of 2.26 and 2.27 at any time, and
/// jobs of 2.29 while a communicator was made, so ask only once all of them are complete.
[[nodiscard]] bool may_ask_ras(const Version& version);

/// The question, sent all at once. The answers come in the same order, then the stream ends.
inline constexpr std::string_view kRasQuestion = "CLIENT PROTOCOL 2\nTIMEOUT 3\nVERBOSE STATUS\n";

/// A process that RAS knows to belong to the job, and no more.
struct RasProcess {
  int pid = 0;
  std::string node;  ///< the node's address
  std::string gpus;  ///< "5", "0,1"
};

/// Ranks of one communicator that have come to different collectives of one kind.
struct RasDivergence {
  std::string operation;  ///< "AllReduce"
  struct Group {
    std::int64_t launched = 0;  ///< number of launched collectives; 0: none yet
    int ranks = 0;              ///< number of ranks that have launched so many
    std::vector<Rank> named;    ///< the odd ones out among them, which RAS names
  };
  std::vector<Group> groups;
};

/// The troubles that an answer of RAS tells.
struct RasReport {
  /// Processes that did not answer RAS in time: stopped, or too busy.
  std::vector<RasProcess> missing;
  std::vector<RasProcess> dead;     ///< processes that RAS has not reached for a minute
  std::vector<Rank> missing_ranks;  ///< ranks that are missing in a communicator
  std::vector<RasDivergence> diverging;
  bool whole = false;  ///< the answer came to its end
};

/// Reads an answer in text. Lines that do not look like RAS's words are passed over, and lists are
/// bounded.
[[nodiscard]] RasReport parse_ras(std::string_view answer);

/// Says what is amiss: "rank 1 launched 2 of 5 AllReduce; process 71 on 192.0.2.2 (GPU 5) is dead".
/// Empty where nothing is.
[[nodiscard]] std::string describe(const RasReport& report);

/// Asks a process's RAS once, and gives up after a while: a query may land on the very process that
/// is stopped. Destroying it hangs up.
class RasQuestion {
 public:
  /// Takes the answer as far as it came: it may be cut, or empty.
  using OnAnswer = std::function<void(const std::string& answer)>;

  /// `address` is "127.0.0.1:PORT". Calls `on_answer` once, through the io_context.
  RasQuestion(boost::asio::io_context& io, const std::string& address, Duration limit,
              OnAnswer on_answer);
  RasQuestion(const RasQuestion&) = delete;
  RasQuestion& operator=(const RasQuestion&) = delete;
  ~RasQuestion();

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace safelaunch::nccl
