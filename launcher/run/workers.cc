#include "workers.h"

#include <unistd.h>

#include "safelaunch/launch/signals.h"

// Workers are started one by one and their ends are told one by one. A worker that cannot be
// started is an error; the caller stops those that run already.
namespace safelaunch::run {
namespace {

// A job in the background that read the shell's terminal would steal what is typed there: without
// us the kernel would stop it, but it sits in a session of its own.
std::optional<int> standard_input() {
  if (isatty(STDIN_FILENO) != 0 && !launch::in_foreground()) return std::nullopt;
  return STDIN_FILENO;
}

launch::LaunchSpec launch_spec(const WorkerSpec& worker, const output::ChildStreams& streams) {
  launch::LaunchSpec spec;
  spec.argv = worker.argv;
  spec.environment = worker.environment;
  spec.cpus = worker.cpus;
  spec.in = standard_input();
  spec.out = streams.out.get();
  spec.err = streams.err.get();
  // The pseudo-terminal becomes the launcher's own, so that it hears of a changed window size.
  if (isatty(streams.out.get()) != 0) spec.terminal = streams.out.get();
  return spec;
}

}  // namespace

Result<void> Workers::start(const WorkerSpec& worker) {
  Result<output::ChildStreams> streams =
      worker.rank ? output_.open_rank(*worker.rank) : output_.open_launcher();
  if (!streams) return streams.error();
  const std::size_t index = children_.size();
  Result<launch::Child> child = launch::spawn(
      reaper_, launch_spec(worker, *streams),
      [this, rank = worker.rank, index](const ExitStatus& status) { ended(rank, index, status); });
  if (!child) return child.error();
  ++running_;
  children_.push_back(std::move(*child));
  if (worker.rank) listener_.on_started(*worker.rank, children_[index].id());
  return {};
}

void Workers::send(int signal, launch::SignalOrigin origin) const {
  for (const launch::Child& child : children_)
    origin == launch::SignalOrigin::terminal ? child.send_to_group(signal) : child.send(signal);
}

void Workers::ended(std::optional<Rank> rank, std::size_t index, const ExitStatus& status) {
  --running_;
  listener_.on_exit(rank, children_[index].id(), status);
  if (running_ == 0) listener_.on_all_ended();
}

}  // namespace safelaunch::run
