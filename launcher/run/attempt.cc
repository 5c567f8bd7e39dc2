#include "safelaunch/run/attempt.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>

#include "safelaunch/base/format.h"
#include "safelaunch/base/redact.h"
#include "safelaunch/launch/job_control.h"
#include "safelaunch/nccl/ras.h"
#include "safelaunch/output/terminal_writer.h"
#include "safelaunch/report/event_log.h"
#include "safelaunch/report/run_directory.h"
#include "safelaunch/run/ras_question.h"
#include "safelaunch/run/records.h"

namespace safelaunch {
namespace {

// torchrun looks at its workers ten times a second, deepspeed once: whoever sees the failure of a
// rank by itself has this long to say so in its own words before the attempt is stopped.
constexpr Duration kLauncherReacts{2'500};

// After the verdict the ranks are asked what they are doing; one that holds the GIL does not
// answer.
constexpr Duration kStacksWithin{1'000};

// RAS itself gathers for three; the query may land on a stopped process and get no answer at all.
constexpr Duration kRasWithin{5'000};

bool stops_for_the_shell(int signal) {
  return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

// A launcher whose rank has failed ends the others by itself, and its words are the user's. One
// that ended with 0 it takes for a success.
bool launcher_will_end_it(const Verdict& verdict, Launcher launcher) {
  if (is_stuck(verdict) || launcher == Launcher::opaque) return false;
  for (const Suspect& suspect : verdict.suspects)
    if (suspect.status && succeeded(*suspect.status)) return false;
  return true;
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

struct Attempt::State {
  enum class Phase { running, asking, stopping, draining, over };

  State(const Services& given, AttemptSpec settled, Attempt::Observer call)
      : services(given),
        spec(std::move(settled)),
        caller(std::move(call)),
        began(Clock::now()),
        timer(given.io),
        output(given.io, given.terminal, spec.output, output_observer()),
        workers(given.reaper, output, workers_observer()),
        watch(given, {spec.stages, spec.stall, spec.hook, spec.nccl}, watch_observer()),
        stopper(
            given.io, given.reaper, [this](int signal) { workers.send(signal, asked_by); },
            [this](const std::vector<Survivor>& survivors) { on_tree_gone(survivors); }) {}

  [[nodiscard]] bool own_spawn() const { return spec.workers.front().rank.has_value(); }

  [[nodiscard]] std::string titled(const std::string& line) const {
    return fmt::format("attempt {} {} · {}", spec.number, spec.profile, line);
  }
  void tell(const std::string& line) const {
    services.terminal.write_message("safelaunch: " + titled(line));
  }

  OutputObserver output_observer();
  Workers::Observer workers_observer();
  RankWatch::Observer watch_observer();

  Result<void> start();
  void on_worker_exit(std::optional<Rank> rank, ProcessId process, const ExitStatus& status);
  void on_all_ended();
  void on_verdict(const Verdict& verdict);
  void on_training();
  void on_stall(const std::string& words);
  void on_recording_stopped(const RecordingLoss& loss);
  void ask_then_stop();
  [[nodiscard]] bool ras_may_be_asked() const;
  void hear_ras(const std::string& answer);
  void answered();
  void stop_hung();
  void give_way();
  void stop(const StopWanted& wanted);
  void on_tree_gone(const std::vector<Survivor>& survivors);
  void on_drained();
  void keep_tails();
  void finish_record();
  void signal(const ReceivedSignal& received);

  Services services;
  AttemptSpec spec;
  Attempt::Observer caller;
  TimePoint began;
  Phase phase = Phase::running;
  AttemptRecord record;
  SignalOrigin asked_by = SignalOrigin::user;
  boost::asio::steady_timer timer;
  std::optional<RasQuestion> ras;
  int unanswered = 0;  // questions, while asking
  JobOutput output;
  Workers workers;
  RankWatch watch;
  TreeStopper stopper;
};

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
  observer.on_stall = [this](const std::string& words) { on_stall(words); };
  observer.on_nccl_said = [this](std::optional<Rank> rank, const NcclSaid& said) {
    services.terminal.write_message(replayed(rank, said));
  };
  return observer;
}

Result<void> Attempt::State::start() {
  services.log.set_attempt(spec.number);
  services.log.record("attempt",
                      {{"profile", spec.profile}, {"command", redact(spec.workers.front().argv)}});
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
    stop(watch.training() ? StopWanted{StopMode::polite, SIGTERM, spec.grace}
                          : StopWanted{StopMode::sweep, SIGTERM, kSweepGrace});
  }
}

void Attempt::State::on_all_ended() {
  const bool killed = record.command && std::holds_alternative<Signaled>(*record.command);
  stopper.main_ended({killed ? MainEnded::How::by_signal : MainEnded::How::by_itself});
  if (phase == Phase::running) stop({StopMode::sweep, SIGTERM, kSweepGrace});
}

void Attempt::State::on_verdict(const Verdict& verdict) {
  record.verdict = verdict;
  std::vector<int> waiting;
  std::vector<int> missing;
  for (const Rank rank : verdict.waiting) waiting.push_back(rank.value);
  for (const Suspect& suspect : verdict.suspects) missing.push_back(suspect.rank.value);
  services.log.record("verdict", {{"kind", std::string(name(verdict.kind))},
                                  {"stage", std::string(name(verdict.stage))},
                                  {"text", describe(verdict)},
                                  {"waiting", waiting},
                                  {"missing", missing}});
  if (phase != Phase::running) return;
  if (own_spawn() || !launcher_will_end_it(verdict, spec.launcher)) return ask_then_stop();
  timer.expires_after(kLauncherReacts);
  timer.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled && phase == Phase::running) stop_hung();
  });
}

void Attempt::State::ask_then_stop() {
  phase = Phase::asking;
  unanswered = 1;
  if (ras_may_be_asked()) {
    ++unanswered;
    ras.emplace(services.io, spec.nccl.ras_address, kRasWithin,
                [this](const std::string& answer) { hear_ras(answer); });
  }
  watch.ask_stacks(spec.directory, kStacksWithin, [this] { answered(); });
}

void Attempt::State::answered() {
  if (--unanswered == 0 && phase == Phase::asking) stop_hung();
}

// Only where every communicator is complete: a query while one is made has crashed jobs.
bool Attempt::State::ras_may_be_asked() const {
  if (spec.ras == Ras::off || spec.nccl.ras_address.empty()) return false;
  if (record.verdict->stage != Stage::collective) return false;
  const NcclRecord nccl = watch.seen().nccl;
  return nccl.version && may_ask_ras(*nccl.version) && nccl.complete && !nccl.standing &&
         nccl.in_old_bootstrap == 0;
}

void Attempt::State::hear_ras(const std::string& answer) {
  record.ras = describe(parse_ras(answer));
  services.log.record("ras", {{"text", record.ras}});
  if (!spec.directory.empty() && !answer.empty())
    (void)write_atomically(spec.directory / "evidence" / "ras.txt", answer);
  answered();
}

// What a stuck job and its launcher say of the TERM that we send is neither news nor evidence.
void Attempt::State::stop_hung() {
  if (is_stuck(*record.verdict)) {
    keep_tails();
    output.hide();
  }
  stop({StopMode::sweep, SIGTERM, kSweepGrace});
}

// Its last words are of our making, as those of a stuck job.
void Attempt::State::give_way() {
  if (phase != Phase::running) return;
  record.gave_way = true;
  keep_tails();
  output.hide();
  stop({StopMode::sweep, SIGTERM, kSweepGrace});
}

void Attempt::State::on_training() {
  record.training = true;
  services.log.record("training");
}

void Attempt::State::on_stall(const std::string& words) {
  record.stalled = true;
  services.log.record("stall", {{"text", words}});
  services.terminal.write_message("safelaunch: " + words);
  if (spec.kill_on_stall && phase == Phase::running) stop({StopMode::polite, SIGTERM, spec.grace});
}

void Attempt::State::on_recording_stopped(const RecordingLoss& loss) {
  services.terminal.write_message(
      fmt::format("safelaunch: warning: {} is not complete: {}; the job goes on without it",
                  loss.path.native(), loss.reason));
}

void Attempt::State::stop(const StopWanted& wanted) {
  if (phase == Phase::running || phase == Phase::asking) {
    phase = Phase::stopping;
    caller.on_stopping();
    watch.freeze();
    services.terminal.set_status({});
  }
  timer.cancel();
  stopper.stop(wanted);
}

void Attempt::State::on_tree_gone(const std::vector<Survivor>& survivors) {
  record.survivors = survivors;
  phase = Phase::draining;
  if (output.drained()) return on_drained();
  output.finish();
}

void Attempt::State::on_drained() {
  if (phase != Phase::draining) return;
  phase = Phase::over;
  finish_record();
  boost::asio::post(services.io, [this] { caller.on_end(record); });
}

void Attempt::State::keep_tails() {
  for (const WorkerSpec& worker : spec.workers)
    for (const StdStream stream : {StdStream::out, StdStream::err})
      record.tails.push_back({{worker.rank, stream}, output.tail({worker.rank, stream})});
}

void Attempt::State::finish_record() {
  record.ranks = watch.seen();
  record_nccl(services.log, record.ranks.nccl);
  record.stages = watch.stages_reached();
  record.took = std::chrono::duration_cast<Duration>(Clock::now() - began);
  if (record.tails.empty()) keep_tails();
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
  if (!record.signal && phase == Phase::running) record.signal = received.signal;
  stop({StopMode::polite, received.signal, spec.grace});
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

void Attempt::signal(const ReceivedSignal& received) {
  if (!stops_for_the_shell(received.signal)) return state_->signal(received);
  (void)suspend_job();  // the watch's clock sees by itself that nobody could look meanwhile
}

}  // namespace safelaunch
