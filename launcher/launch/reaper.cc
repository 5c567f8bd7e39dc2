#include "safelaunch/launch/reaper.h"

#include <sys/prctl.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <map>
#include <utility>

#include "ended_child.h"
#include "signal_stream.h"

// One SIGCHLD may stand for many ends, so every one of them is collected until the kernel has no
// more. A pid that nobody awaits is that of an orphan, which we have adopted.
namespace safelaunch::launch {
namespace {

sigset_t child_ended() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  return signals;
}

}  // namespace

struct Reaper::Watch {
  boost::asio::io_context& io;
  OnOrphan on_orphan;
  std::function<void()> on_childless;
  std::map<int, std::shared_ptr<Awaited>> awaited;
  SignalStream stream;

  Watch(boost::asio::io_context& context, OnOrphan callback)
      : io(context),
        on_orphan(std::move(callback)),
        stream(io, child_ended(), [this](const signalfd_siginfo&) { reap(); }) {}

  void reap() {
    int wait_status = 0;
    int pid = 0;
    while ((pid = next_ended_child(wait_status, WUNTRACED)) > 0)
      WIFSTOPPED(wait_status) ? tell_stop(pid, WSTOPSIG(wait_status))
                              : tell(pid, *exit_status_from_wait(wait_status));
    if (pid < 0 && errno == ECHILD && on_childless) std::exchange(on_childless, nullptr)();
  }

  void tell_stop(int pid, int signal) {
    const auto found = awaited.find(pid);
    if (found == awaited.end() || !found->second->on_stop) return;
    const auto child = found->second;  // the call may end the attempt that waits for it
    child->on_stop(signal);
  }

  void tell(int pid, const ExitStatus& status) {
    const auto found = awaited.extract(pid);
    if (found.empty()) return on_orphan(pid, status);
    Awaited& child = *found.mapped();
    child.ended = true;
    if (child.on_exit) std::exchange(child.on_exit, nullptr)(status);
  }
};

Reaper::Reaper(boost::asio::io_context& io, OnOrphan on_orphan)
    : watch_(std::make_unique<Watch>(io, std::move(on_orphan))) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Reaper::~Reaper() = default;

std::shared_ptr<Reaper::Awaited> Reaper::await(ProcessId child, OnExit on_exit) {
  auto entry = std::make_shared<Awaited>(Awaited{child, std::move(on_exit), {}, false});
  watch_->awaited.insert_or_assign(child.pid, entry);
  return entry;
}

void Reaper::when_childless(std::function<void()> call) {
  watch_->on_childless = std::move(call);
  if (watch_->on_childless) boost::asio::post(watch_->io, [this] { watch_->reap(); });
}

boost::asio::io_context& Reaper::io() {
  return watch_->io;
}

}  // namespace safelaunch::launch
