#pragma once

#include <filesystem>
#include <memory>

#include "safelaunch/base/event.h"
#include "safelaunch/base/result.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/output/rank_selection.h"
#include "safelaunch/output/recording.h"
#include "safelaunch/output/std_streams.h"

namespace boost::asio {
class io_context;
}

namespace safelaunch::output {

class TerminalWriter;

/// The plan for the output of one attempt: its files, its ranks, its way to the terminal.
struct OutputPlan {
  /// The form in which the output reaches the terminal.
  enum class Mode {
    bytes,  ///< bytes as they come, from one launcher process or a single worker
    lines,  ///< the whole lines of many workers, never mixed
  };
  enum class Prefix { none, rank, coloured_rank };

  /// The folder of the recordings; empty where nothing is recorded.
  std::filesystem::path directory;
  DiskQueue* disk = nullptr;  ///< the thread that writes there; none: we write at once
  Mode mode = Mode::bytes;
  RankSelection shown;           ///< the ranks whose output reaches the terminal
  Prefix prefix = Prefix::none;  ///< the text in front of each line, with Mode::lines
};

/// One stream of the launcher (no rank) or of a worker.
struct StreamId {
  std::optional<Rank> rank;
  StdStream stream = StdStream::out;
  bool operator==(const StreamId&) const = default;
};

/// A child's descriptors 1 and 2; none where ours is closed. Close them here once the child has
/// them.
struct ChildStreams {
  UniqueFd out;
  UniqueFd err;
};

/// The output of one attempt: reads what the processes write, records it byte for byte
/// (`launcher.out`, `rank-3.err`), keeps the tail of each stream for the diagnosis and passes on to
/// the terminal what is to be seen there.
///
/// In Mode::bytes a process whose output ends in one place on our side has one stream for both, and
/// all of it is in `.out`. Memory is bounded: when the terminal takes no more, or a line waits for
/// another rank's, reading stops and the writer has to wait, as it would without us. A rank that is
/// not shown waits for nobody.
///
/// Wakes up only when there is something to read; a stream that never pauses is read every half
/// millisecond. Destroying it closes our ends: processes that still write get SIGPIPE. Use it on
/// the io_context's thread; the terminal and the listener must outlive it.
class JobOutput {
 public:
  class Listener {
   public:
    /// Every chunk, as it was read.
    virtual void on_output(StreamId stream, std::string_view bytes) = 0;
    /// A file lacks all later output; called once a file.
    virtual void on_recording_stopped(const RecordingLoss& loss) = 0;
    /// Every stream has ended, and all of it was passed on; the JobOutput may be destroyed from
    /// here.
    virtual void on_drained() = 0;

   protected:
    ~Listener() = default;
  };

  JobOutput(boost::asio::io_context& io, TerminalWriter& terminal, OutputPlan plan,
            Listener& listener);
  JobOutput(const JobOutput&) = delete;
  JobOutput& operator=(const JobOutput&) = delete;
  ~JobOutput();

  /// Opens the streams of a process that is about to be spawned.
  [[nodiscard]] Result<ChildStreams> open_launcher();
  [[nodiscard]] Result<ChildStreams> open_rank(Rank rank);

  /// The last 64 KiB of a stream; empty if there is none.
  [[nodiscard]] std::string tail(StreamId id) const;
  /// From now on the tails hold only what comes.
  void forget_tails();

  /// Gives the terminal's new size (SIGWINCH) to the children's terminals. Call it before the
  /// children are told.
  void window_changed();

  /// The master of the pseudo-terminal to which the launcher writes; -1 where it writes to none.
  [[nodiscard]] int terminal() const;

  /// Shows everything that is there, without waiting for more.
  void read_now();

  /// Writes only to the files from now on, because the last words of a job that we end ourselves
  /// are no news on the screen.
  void hide();

  /// True once all streams have ended and the terminal has taken everything; on_drained was called
  /// then.
  [[nodiscard]] bool drained() const;

  /// Reads everything that is there without waiting, and ends all streams. It is for the moment
  /// when all processes that matter are gone while a stranger still holds an end.
  void finish();

  /// All files, for the time when we are gone: the disk may still have something to write to them.
  [[nodiscard]] std::vector<Recording> recordings() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace safelaunch::output
