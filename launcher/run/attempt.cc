#include "attempt.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <csignal>

#include "gpu_doubt.h"
#include "run_ledger.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/log.h"
#include "safelaunch/base/paper.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/launch/signals.h"
#include "safelaunch/nccl/ras.h"
#include "safelaunch/output/terminal_writer.h"
#include "safelaunch/ranks/attempt_place.h"
#include "safelaunch/report/event_log.h"
#include "safelaunch/report/run_directory.h"
#include "timed_out.h"

// All news (from the watch, the workers, the output or a person) become events of the machine, and
// each of its actions has a function here. Files and /proc are read and written by the disk's own
// thread wherever the job would wait for them. In the order in which it happens: the start, the
// news, the machine's actions, the end.
namespace safelaunch::run {
namespace {

// RAS itself gathers for three; the query may land on a stopped process and get no answer at all.
constexpr Duration kRasWithin{5'000};

// How long the job's segments are looked for: beside the job, and while somebody waits for its end.
constexpr Duration kLookWithoutHaste{5'000};
constexpr Duration kLookBeforeStop{250};

bool stops_for_the_shell(int signal) {
  return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

// The line that NCCL would have put on the terminal, had we not sent its log into a file.
std::string replayed(std::optional<Rank> rank, const nccl::Said& said) {
  const std::string who = rank ? fmt::format("rank {}", rank->value)
                               : fmt::format("{}:{}", said.who.host, said.who.pid);
  return fmt::format("safelaunch: {}: NCCL {} {}", who, name(said.level), said.text);
}

AttemptRules rules_of(const AttemptSpec& spec) {
  return {.launcher = spec.launcher,
          .own_spawn = spec.workers.front().rank.has_value(),
          .grace = spec.grace,
          .kill_on_stall = spec.kill_on_stall};
}

ranks::RankWatchConfig watch_config(const AttemptSpec& spec) {
  return {spec.stages, spec.start, spec.stall,
          spec.hook,   spec.nccl,  spec.workers.front().environment,
          spec.clean,  spec.run,   spec.for_leader};
}

}  // namespace

bool may_ask_ras_about(const Failure& verdict, const nccl::Record& nccl) {
  return verdict.stage == Stage::collective && nccl.version && nccl::may_ask_ras(*nccl.version) &&
         nccl.complete && !nccl.standing && nccl.in_old_bootstrap == 0;
}

Attempt::Attempt(const ranks::Services& services, AttemptSpec spec, OnTell tell)
    : services_(services),
      spec_(std::move(spec)),
      tell_(std::move(tell)),
      began_(Clock::now()),
      machine_(rules_of(spec_)),
      timer_(services.io),
      output_(services.io, services.terminal, spec_.output, *this),
      workers_(services.reaper, output_, *this),
      watch_(services, watch_config(spec_),
             [this](const ranks::RanksTell& news) {
               std::visit([this](const auto& one) { hear(one); }, news);
             }),
      stopper_(
          services.io, services.reaper, [this](int signal) { workers_.send(signal, asked_by_); },
          [this](const std::vector<launch::Survivor>& survivors) { on_tree_gone(survivors); }) {}

Attempt::~Attempt() = default;

Result<void> Attempt::start() {
  services_.log.set_attempt(spec_.number);
  services_.log.record(report::record::Attempt{spec_.profile, spec_.workers.front().argv});
  if (!spec_.users_rank_logs.empty())
    services_.log.record(report::record::Notice{
        fmt::format("the launcher keeps the output of each rank below {}, as its own options say",
                    spec_.users_rank_logs)});
  for (const WorkerSpec& worker : spec_.workers) {
    const Result<void> started = workers_.start(worker);
    if (started) continue;
    take(StartFailed{});
    return started.error();
  }
  watch_.begin();
  return {};
}

// News that become events of the machine.

std::string Attempt::trouble() const {
  const AttemptOutcome& outcome = machine_.outcome();
  if (outcome.verdict) return describe(*outcome.verdict);
  if (outcome.signal) return "the attempt was interrupted by " + signal_name(*outcome.signal);
  return outcome.command ? "the command ended: " + describe(*outcome.command) : "";
}

void Attempt::on_exit(std::optional<Rank> rank, ProcessId process, const ExitStatus& status) {
  services_.log.record(
      report::record::Exit{rank ? rank->value : -1, process.pid, describe(status)});
  // The watch hears of the end first, so that its verdict, and not the bare status, decides how the
  // others are stopped.
  if (rank) watch_.ended(*rank, process, status);
  take(WorkerEnded{rank, status, workers_.running(), watch_.training()});
}

void Attempt::on_all_ended() {
  if (spec_.workers.front().rank) stopper_.ranks_gone();  // they were the ranks
  take(AllWorkersEnded{watch_.training() && watch_.ranks_live()});
}

void Attempt::on_key(int by, launch::TerminalLoan::KeyIsFor whom) {
  if (whom == launch::TerminalLoan::KeyIsFor::job) return take(KeyPassedOn{by});
  tell_(launch::ReceivedSignal{by, 0, launch::SignalOrigin::terminal});
}

void Attempt::hear(const ranks::TellVerdict& news) {
  const bool ras = spec_.ras != profile::Ras::off && !spec_.nccl.ras_address.empty() &&
                   may_ask_ras_about(news.verdict, watch_.seen().nccl);
  take(VerdictFell{news.verdict, watch_.training(), ras});
}

void Attempt::hear(const TrainingBegan& news) {
  services_.log.record(report::record::Training{news.serves});
  link_rank_files();
  take(news);
}

void Attempt::hear(const ranks::TellNewLife& news) {
  output_.forget_tails();
  seen_.timed_out_before.reset();
  if (const auto& wait = machine_.outcome().timed_out)
    seen_.timed_out_before = as_answered(*wait, watch_.seen().answers);
  take(news);
}

void Attempt::hear(const ranks::ShowStatus& news) {
  services_.terminal.set_status(news.line.empty() ? "" : titled(news.line));
}

// A terminal has its status line.
void Attempt::hear(const ranks::ShowWaiting& news) {
  if (services_.terminal.streams().err.kind != output::StreamTarget::Kind::terminal)
    tell(news.line);
}

void Attempt::hear(const ranks::NcclSpoke& news) {
  services_.terminal.write_message(replayed(news.rank, news.said));
}

void Attempt::ask_for_leader(Duration limit) {
  leader_asks_ = true;
  watch_.ask_ranks(spec_.directory, limit);
}

void Attempt::hear(const RanksAnswered& news) {
  if (std::exchange(leader_asks_, false)) tell_(news);
  record_collectives(services_.log, news.answers);
  take(news);
}

bool Attempt::goes_well() const {
  const AttemptOutcome& outcome = machine_.outcome();
  return !outcome.verdict && !outcome.signal && !outcome.gave_way &&
         (!outcome.command || succeeded(*outcome.command));
}

void Attempt::signal(const launch::ReceivedSignal& received) {
  // The watch's JobClock notices the pause itself, so nothing is done here.
  if (!received.ignored && stops_for_the_shell(received.signal))
    return workers_.suspend(received.signal);
  if (received.signal == SIGWINCH) {
    output_.window_changed();
    services_.terminal.window_changed();
  }
  if (!received.ignored && ends_a_job(received.signal))
    services_.log.record(report::record::Signal{signal_name(received.signal), received.sender});
  take(SignalCame{received.signal, received.origin, watch_.waiting_now(), received.ignored});
}

std::string Attempt::titled(const std::string& line) const {
  return tr(fmt::format("attempt {} {} · {}", spec_.number, spec_.profile, line));
}

void Attempt::tell(const std::string& line) const {
  services_.terminal.write_message(from_us(titled(line)));
}

// The machine's actions, performed.

void Attempt::take(const AttemptEvent& event) {
  for (const AttemptAction& action : machine_.on(event, Clock::now()))
    std::visit([this](const auto& one) { perform(one); }, action);
  set_timer();
}

void Attempt::set_timer() {
  const auto deadline = machine_.deadline();
  if (!deadline) return void(timer_.cancel());
  timer_.set(*deadline, [this] { take(AttemptTimePassed{}); });
}

void Attempt::perform(const AskRas&) {
  ras_.emplace(services_.io, spec_.nccl.ras_address, kRasWithin,
               [this](const std::string& answer) { hear_ras(answer); });
}

void Attempt::hear_ras(const std::string& answer) {
  seen_.ras = describe(nccl::parse_ras(answer));
  services_.log.record(report::record::Ras{seen_.ras});
  if (!spec_.directory.empty() && !answer.empty())
    report::write_later(services_.disk, spec_.directory / "evidence" / "ras.txt", answer);
  take(RasAnswered{});
}

void Attempt::perform(const EndWatching&) {
  tell_(AttemptStops{});
  watch_.freeze();
  services_.terminal.set_status({});
}

// The thread that writes records does this, so that neither /proc nor a disk holds up the job.
// `safelaunch clean` then knows the segments even where ranks and safelaunch are killed later.
void Attempt::perform(const RecordSegments&) {
  if (spec_.directory.empty()) return;
  const auto note = [run = spec_.directory.parent_path(), mark = mark(), began = began_] {
    const auto age = std::chrono::duration_cast<Duration>(Clock::now() - began);
    record_segments_in(run, segments_of_descendants(age, kLookWithoutHaste), mark);
  };
  (void)services_.disk.post(0, note);
}

void Attempt::perform(const TakeSegments& take) {
  if (!workers_.running()) return;
  const std::vector<host::LeftFile> found = segments_of_descendants(age(), kLookBeforeStop);
  if (take.remove_later) segments_ = found;
  if (spec_.directory.empty()) return;
  const auto write = [run = spec_.directory.parent_path(), mark = mark(), found] {
    record_segments_in(run, found, mark);
  };
  (void)services_.disk.post(found.size() * sizeof(host::LeftFile), write);
}

std::string Attempt::mark() const {
  return std::string(value_or(spec_.workers.front().environment, kOwnerVariable));
}

void Attempt::perform(const KeepOutput&) {
  if (!seen_.tails.empty()) return;
  for (const WorkerSpec& worker : spec_.workers)
    for (const output::StdStream stream : {output::StdStream::out, output::StdStream::err})
      seen_.tails.push_back({{worker.rank, stream}, output_.tail({worker.rank, stream})});
}

void Attempt::perform(const StopJob& stop) {
  asked_by_ = stop.asked_by;
  stopper_.stop(stop.wanted);
}

void Attempt::perform(const RecordVerdict& action) {
  services_.log.record(report::record::event_of(action.verdict));
}

void Attempt::perform(const RecordStall& action) {
  services_.log.record(action.line);
  tell_(action.line);
}

void Attempt::perform(const TellUser& tell) {
  services_.terminal.write_message(from_us(tr(tell.text)));
}

// The end.

void Attempt::on_tree_gone(const std::vector<launch::Survivor>& survivors) {
  seen_.survivors = survivors;
  seen_.swept = stopper_.swept();
  // Only now nobody of the job can have the segments open.
  record_removed_segments(services_.log, remove_left_segments(segments_));
  take(TreeGone{output_.drained()});
}

void Attempt::perform(const AttemptOver&) {
  perform(KeepOutput{});
  static_cast<AttemptOutcome&>(seen_) = machine_.outcome();
  seen_.ranks = watch_.seen();
  if (!blames_cuda(seen_)) return end();
  const Environment& environment = spec_.workers.front().environment;
  gpus_.emplace(services_.io, services_.reaper, gpu::Query{environment},
                [this, environment](const gpu::Facts& facts) {
                  seen_.troubled_gpus = troubled_gpus(facts, environment);
                  end();
                });
}

// Posted, because the run destroys this object, which is in the middle of a call.
void Attempt::end() {
  boost::asio::post(services_.io, [this, tell = tell_] { tell(finished_record()); });
}

// A link shows also what is still to come.
void Attempt::link_rank_files() const {
  if (spec_.rank_logs.empty() || !spec_.rank_logs_are_of_ranks) return;
  const auto link = [logs = spec_.rank_logs, directory = spec_.output.directory] {
    ranks::link_rank_files(logs, directory);
  };
  if (!services_.disk.post(0, link))
    log_debug("the disk is too slow: the ranks' files get no names of their own");
}

AttemptRecord Attempt::finished_record() {
  link_rank_files();
  AttemptRecord record = std::move(seen_);
  static_cast<AttemptOutcome&>(record) = machine_.outcome();
  record.training = record.training || watch_.training();
  record.ranks = watch_.seen();
  record.stages = watch_.stages_reached();
  record.began = began_;
  record.took = age();
  if (record.failed_at)
    record.failed_for = std::chrono::duration_cast<Duration>(Clock::now() - *record.failed_at);
  record.picture = watch_.picture();
  record_nccl(services_.log, record.ranks.nccl);
  services_.log.count_the_rest();
  return record;
}

Duration Attempt::age() const {
  return std::chrono::duration_cast<Duration>(Clock::now() - began_);
}

}  // namespace safelaunch::run
