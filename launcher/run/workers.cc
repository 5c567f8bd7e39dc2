#include "workers.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "safelaunch/launch/signals.h"

// Workers are started one by one and their ends are told one by one. A worker that cannot be
// started is an error; the caller stops those that run already.
namespace safelaunch::run {
namespace {

// In the background ranks of our own spawn that read the shell's terminal would steal what is typed
// there: without us the kernel would stop them, but they sit in sessions of their own.
std::optional<int> standard_input() {
  if (isatty(STDIN_FILENO) != 0 && !launch::in_foreground()) return std::nullopt;
  return STDIN_FILENO;
}

/// The end of the child's output that is a terminal; -1 for none.
int terminal_of(const output::ChildStreams& streams) {
  for (const int fd : {streams.out.get(), streams.err.get()})
    if (fd >= 0 && ::isatty(fd) != 0) return fd;
  return -1;
}

bool same_terminal(int a, int b) {
  unsigned one = 0;
  unsigned other = 0;
  return ::ioctl(a, TIOCGDEV, &one) == 0 && ::ioctl(b, TIOCGDEV, &other) == 0 && one == other;
}

launch::LaunchSpec launch_spec(const WorkerSpec& worker, const output::ChildStreams& streams) {
  launch::LaunchSpec spec;
  spec.argv = worker.argv;
  spec.environment = worker.environment;
  spec.cpus = worker.cpus;
  spec.in = standard_input();
  if (streams.out) spec.out = streams.out.get();
  if (streams.err) spec.err = streams.err.get();
  return spec;
}

}  // namespace

Workers::Workers(launch::Reaper& reaper, output::JobOutput& output, Listener& listener)
    : reaper_(reaper),
      output_(output),
      listener_(listener),
      terminal_(
          reaper.io(),
          [&listener](int signal, launch::TerminalLoan::KeyIsFor whom) {
            listener.on_key(signal, whom);
          },
          [&output] { output.read_now(); }) {}

// A launcher may ask at the terminal, as it would without us. Ranks of our own spawn have none, as
// those of torchrun.
bool Workers::may_ask(const WorkerSpec& worker, const output::ChildStreams& streams) {
  const int terminal = launch::shells_terminal();
  const int slave = terminal_of(streams);
  return !worker.rank && terminal >= 0 && slave >= 0 &&
         terminal_.offer(terminal, output_.terminal(), slave);
}

Result<void> Workers::start(const WorkerSpec& worker) {
  Result<output::ChildStreams> streams =
      worker.rank ? output_.open_rank(*worker.rank) : output_.open_launcher();
  if (!streams) return streams.error();
  const std::size_t index = children_.size();
  launch::LaunchSpec spec = launch_spec(worker, *streams);
  // A launcher must not lead a session: a leader can make no process group of its own.
  if (!worker.rank) spec.session = launch::Session::shared;
  const bool asks = may_ask(worker, *streams);
  if (asks && same_terminal(STDIN_FILENO, launch::shells_terminal()))
    spec.in = terminal_of(*streams);
  if (asks && launch::job_ignores_stops()) spec.foreground_of = terminal_of(*streams);
  Result<launch::Child> child = launch::spawn(
      reaper_, spec,
      [this, rank = worker.rank, index](const ExitStatus& status) { ended(rank, index, status); });
  if (!child) return child.error();
  ++running_;
  children_.push_back(std::move(*child));
  if (asks) terminal_.watch(children_[index]);
  if (worker.rank) listener_.on_started(*worker.rank, children_[index].id());
  return {};
}

void Workers::send(int signal, launch::SignalOrigin origin) const {
  for (const launch::Child& child : children_)
    origin == launch::SignalOrigin::terminal ? child.send_to_group(signal) : child.send(signal);
}

void Workers::suspend(int signal) {
  terminal_.suspend(children_.front(), signal);
}

void Workers::ended(std::optional<Rank> rank, std::size_t index, const ExitStatus& status) {
  --running_;
  terminal_.job_ended(status);
  listener_.on_exit(rank, children_[index].id(), status);
  if (running_ == 0) listener_.on_all_ended();
}

}  // namespace safelaunch::run
