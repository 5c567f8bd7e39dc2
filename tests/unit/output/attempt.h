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

/// Hears of lost recordings alone.
struct Losses : output::JobOutput::Listener {
  void on_output(output::StreamId, std::string_view) override {}
  void on_recording_stopped(const output::RecordingLoss& loss) override { losses.push_back(loss); }
  void on_drained() override {}

  std::vector<output::RecordingLoss> losses;
};

/// One attempt's output on its way from the test, which plays the ranks, to the test, which reads
/// the terminal.
struct Attempt : Losses {
  explicit Attempt(output::OutputPlan plan, Plumbing to_out = make_pipe(), Plumbing to_err = {})
      : out(std::move(to_out)),
        err(std::move(to_err)),
        terminal(io, output::inspect_streams(out.writer.get(),
                                             err.writer ? err.writer.get() : out.writer.get())),
        output(io, terminal, in(directory, std::move(plan)), *this) {}

  static output::OutputPlan in(const TemporaryDirectory& directory, output::OutputPlan plan) {
    plan.directory = directory.path() / "attempt-1-basic";
    return plan;
  }

  void on_output(output::StreamId id, std::string_view bytes) override {
    seen.emplace_back(id, bytes);
  }
  void on_drained() override { drained = true; }

  output::ChildStreams rank(int number) { return output.open_rank(Rank{number}).value(); }

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
  std::vector<std::pair<output::StreamId, std::string>> seen;
  bool drained = false;
  std::string shown;
  output::TerminalWriter terminal;
  output::JobOutput output;
};

inline output::OutputPlan plan_of(
    output::OutputPlan::Mode mode,
    output::OutputPlan::Prefix prefix = output::OutputPlan::Prefix::none) {
  output::OutputPlan plan;
  plan.mode = mode;
  plan.prefix = prefix;
  return plan;
}

inline const output::OutputPlan kBytes = plan_of(output::OutputPlan::Mode::bytes);
inline const output::OutputPlan kLines = plan_of(output::OutputPlan::Mode::lines);
inline const output::OutputPlan kPrefixed =
    plan_of(output::OutputPlan::Mode::lines, output::OutputPlan::Prefix::rank);

}  // namespace safelaunch::testing
