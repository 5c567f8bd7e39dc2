#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "plumbing.h"
#include "safelaunch/output/job_output.h"
#include "safelaunch/output/terminal_writer.h"

namespace safelaunch::testing {

/// One attempt's output on its way from the test, which plays the ranks, to the test, which reads
/// the terminal.
struct Attempt {
  explicit Attempt(OutputPlan plan, Plumbing to_out = make_pipe(), Plumbing to_err = {})
      : out(std::move(to_out)),
        err(std::move(to_err)),
        terminal(io, inspect_streams(out.writer.get(),
                                     err.writer ? err.writer.get() : out.writer.get())),
        output(io, terminal, in(directory, std::move(plan)), observer()) {}

  static OutputPlan in(const TemporaryDirectory& directory, OutputPlan plan) {
    plan.directory = directory.path() / "attempt-1-basic";
    return plan;
  }

  OutputObserver observer() {
    return {[this](StreamId id, std::string_view bytes) { seen.emplace_back(id, bytes); },
            [this](const RecordingLoss& loss) { losses.push_back(loss); },
            [this] { drained = true; }};
  }

  ChildStreams rank(int number) { return output.open_rank(Rank{number}).value(); }

  void run_once() {
    shown += out.read();
    if (io.stopped()) io.restart();
    if (io.run_one_for(std::chrono::seconds(20)) == 0)
      throw std::runtime_error("nothing happens; so far: " + shown);
    shown += out.read();
  }

  std::string& shown_until(std::string_view end) {
    while (shown.find(end) == shown.npos) run_once();
    return shown;
  }

  /// The job is over (its ends are closed): everything that was to be seen.
  std::string& shown_in_all() {
    while (!drained) run_once();
    shown += out.read();
    return shown;
  }

  std::string file(const char* name) const {
    return contents(directory.path() / "attempt-1-basic" / name);
  }

  TemporaryDirectory directory;
  boost::asio::io_context io;
  Plumbing out, err;
  std::vector<std::pair<StreamId, std::string>> seen;
  std::vector<RecordingLoss> losses;
  bool drained = false;
  std::string shown;
  TerminalWriter terminal;
  JobOutput output;
};

inline OutputPlan plan_of(OutputPlan::Mode mode,
                          OutputPlan::Prefix prefix = OutputPlan::Prefix::none) {
  OutputPlan plan;
  plan.mode = mode;
  plan.prefix = prefix;
  return plan;
}

inline const OutputPlan kBytes = plan_of(OutputPlan::Mode::bytes);
inline const OutputPlan kLines = plan_of(OutputPlan::Mode::lines);
inline const OutputPlan kPrefixed = plan_of(OutputPlan::Mode::lines, OutputPlan::Prefix::rank);

}  // namespace safelaunch::testing
