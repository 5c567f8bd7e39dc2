#include <csignal>

#include "attempt_state.h"
#include "safelaunch/launch/job_control.h"
#include "safelaunch/run/waiting_words.h"

namespace safelaunch {
namespace {

constexpr Duration kUnexplainedSilence{2'000};  // after a signal

// A hook answers within milliseconds; nobody who has pressed Ctrl-C notices this.
constexpr Duration kAnswersBeforeSignal{250};

bool stops_for_the_shell(int signal) {
  return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

// What NCCL would have put on the terminal, had we not sent it into a file.
std::string replayed(std::optional<Rank> rank, const NcclSaid& said) {
  const std::string who = rank ? fmt::format("rank {}", rank->value)
                               : fmt::format("{}:{}", said.who.host, said.who.pid);
  return fmt::format("safelaunch: {}: NCCL {} {}", who, name(said.level), said.text);
}

}  // namespace

bool ends_a_job(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

OutputObserver Attempt::State::output_observer() {
  OutputObserver observer;
  observer.on_output = [this](StreamId stream, std::string_view bytes) {
    watch.saw_output(stream, bytes);
  };
  observer.on_recording_stopped = [this](const RecordingLoss& loss) { on_recording_stopped(loss); };
  observer.on_drained = [this] { on_drained(); };
  return observer;
}

Workers::Observer Attempt::State::workers_observer() {
  Workers::Observer observer;
  observer.on_started = [this](Rank rank, ProcessId process) { watch.started(rank, process); };
  observer.on_exit = [this](std::optional<Rank> rank, ProcessId process, const ExitStatus& status) {
    on_worker_exit(rank, process, status);
  };
  observer.on_all_ended = [this] { on_all_ended(); };
  return observer;
}

RankWatch::Observer Attempt::State::watch_observer() {
  RankWatch::Observer observer;
  observer.on_verdict = [this](const Verdict& verdict) { on_verdict(verdict); };
  observer.on_meeting = [this] { caller.on_meeting(); };
  observer.on_training = [this] { on_training(); };
  observer.on_status = [this](const std::string& line) {
    services.terminal.set_status(line.empty() ? line : titled(line));
  };
  observer.on_waiting = [this](const std::string& line) {
    const bool seen = services.terminal.streams().err.kind == StreamTarget::Kind::terminal;
    if (!seen) tell(line);  // nobody watches a status line there
  };
  observer.on_notice = [this](const std::string& text) { tell(text); };
  observer.on_stall = [this](const StallReport& report) { on_stall(report); };
  observer.on_ranks_gone = [this] { stopper.ranks_gone(); };
  observer.on_nccl_said = [this](std::optional<Rank> rank, const NcclSaid& said) {
    services.terminal.write_message(replayed(rank, said));
  };
  return observer;
}

Result<void> Attempt::State::start() {
  services.log.set_attempt(spec.number);
  services.log.record("attempt",
                      {{"profile", spec.profile}, {"command", spec.workers.front().argv}});
  for (const WorkerSpec& worker : spec.workers) {
    const Result<void> started = workers.start(worker);
    if (!started) {
      stop({StopMode::now, SIGKILL, {}});
      return started.error();
    }
  }
  watch.begin();
  return {};
}

void Attempt::State::on_worker_exit(std::optional<Rank> rank, ProcessId process,
                                    const ExitStatus& status) {
  services.log.record("exit", {{"rank", std::int64_t{rank ? rank->value : -1}},
                               {"pid", std::int64_t{process.pid}},
                               {"status", describe(status)}});
  if (rank) watch.ended(*rank, process, status);
  const bool asked_to_end = record.signal && phase == Phase::stopping;
  if (phase != Phase::running && !asked_to_end) return;  // its end is our doing
  const bool first_failure = !record.command || succeeded(*record.command);
  if (first_failure) record.command = status;
  if (phase == Phase::running && rank && !succeeded(status) && workers.running()) {
    // As torchrun does: a world that lacks a rank is over. In training the others may save first.
    stop(watch.training() ? StopWanted{StopMode::polite, SIGTERM, spec.grace.in_all}
                          : StopWanted{StopMode::sweep, SIGTERM, kSweepGrace});
  }
}

void Attempt::State::on_all_ended() {
  const bool killed = record.command && std::holds_alternative<Signaled>(*record.command);
  stopper.main_ended({killed ? MainEnded::How::by_signal : MainEnded::How::by_itself});
  if (phase == Phase::running) stop({StopMode::sweep, SIGTERM, kSweepGrace});
}

void Attempt::State::on_training() {
  record.training = true;
  services.log.record("training");
  note_segments();
}

void Attempt::State::on_recording_stopped(const RecordingLoss& loss) {
  services.terminal.write_message(
      fmt::format("safelaunch: warning: {} is not complete: {}; the job goes on without it",
                  loss.path.native(), loss.reason));
}

void Attempt::State::signal(const ReceivedSignal& received) {
  if (received.signal == SIGWINCH) {
    output.window_changed();
    services.terminal.window_changed();
  }
  if (!ends_a_job(received.signal)) return workers.send(received.signal, received.origin);
  asked_by = received.origin;
  services.log.record("signal", {{"signal", signal_name(received.signal)},
                                 {"sender", std::int64_t{received.sender}}});
  const bool first = !record.signal && phase == Phase::running;
  if (first || record.gave_way)
    record.signal = received.signal;
  else if (!record.signal)
    record.late_signal = received.signal;
  const auto waiting = first ? watch.waiting_now() : std::nullopt;
  if (waiting) return explain_then_stop(received, *waiting);
  stop_as_told();
  stop({StopMode::polite, received.signal, spec.grace.in_all});
  if (first && (received.signal == SIGINT || received.signal == SIGTERM)) say_if_it_takes_long();
}

// Whoever ends a job in which ranks wait wants to know for whom. They are asked before the signal
// reaches them, since afterwards they are elsewhere.
void Attempt::State::explain_then_stop(const ReceivedSignal& received, const Verdict& waiting) {
  told = StopWanted{StopMode::polite, received.signal, spec.grace.in_all};
  watch.ask_ranks(spec.directory, kAnswersBeforeSignal, [this, received, waiting] {
    const std::string who = signal_name(received.signal);
    services.terminal.write_message(
        fmt::format("safelaunch: {}: {}", who, who_waits_for_whom(waiting, watch.seen().answers)));
    services.terminal.write_message(
        fmt::format("safelaunch: the ranks have {} to save and end (--grace); {} ends them now",
                    describe_duration(spec.grace.of_ranks),
                    received.signal == SIGINT ? "Ctrl-C again" : "a second " + who));
    stop_as_told();
  });
}

// Once: a second signal does not wait for what the ranks answer.
void Attempt::State::stop_as_told() {
  if (told) stop(*std::exchange(told, std::nullopt));
}

// Most jobs end at once, and what they say then is enough. The timer was the verdict's, which a
// stop has cancelled.
void Attempt::State::say_if_it_takes_long() {
  timer.expires_after(kUnexplainedSilence);
  timer.async_wait([this](const boost::system::error_code& cancelled) {
    if (cancelled || phase != Phase::stopping) return;
    services.terminal.write_message(
        fmt::format("safelaunch: {}: the ranks have {} to save and end (--grace); a second one "
                    "ends them now",
                    signal_name(*record.signal), describe_duration(spec.grace.of_ranks)));
  });
}

Attempt::Attempt(const Services& services, AttemptSpec spec, Observer observer)
    : state_(std::make_unique<State>(services, std::move(spec), std::move(observer))) {}

Attempt::~Attempt() = default;

Result<void> Attempt::start() {
  return state_->start();
}

void Attempt::give_way() {
  state_->give_way();
}

void Attempt::orphan_ended(int pid, const ExitStatus& status) {
  state_->stopper.orphan_ended(pid, status);
}

void Attempt::signal(const ReceivedSignal& received) {
  if (!stops_for_the_shell(received.signal)) return state_->signal(received);
  (void)suspend_job();  // the watch's clock sees by itself that nobody could look meanwhile
}

}  // namespace safelaunch
