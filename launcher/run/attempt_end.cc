// Attempt: from the verdict, or the wish to stop it, to its end.
#include <boost/asio/post.hpp>
#include <csignal>

#include "attempt_state.h"
#include "safelaunch/nccl/ras.h"
#include "safelaunch/report/run_directory.h"
#include "safelaunch/run/records.h"
#include "safelaunch/run/stall_verdict.h"

namespace safelaunch {
namespace {

// torchrun looks at its workers ten times a second, deepspeed once: whoever sees the failure of a
// rank by itself has this long to say so in its own words before the attempt is stopped.
constexpr Duration kLauncherReacts{2'500};

// After the verdict the ranks are asked what they are doing; one that holds the GIL does not
// answer.
constexpr Duration kAnswersWithin{1'000};

// RAS itself gathers for three; the query may land on a stopped process and get no answer at all.
constexpr Duration kRasWithin{5'000};

// A launcher whose rank has failed ends the others by itself, and its words are the user's. One
// that ended with 0 it takes for a success.
bool launcher_will_end_it(const Verdict& verdict, Launcher launcher) {
  if (is_stuck(verdict) || launcher == Launcher::opaque) return false;
  for (const Suspect& suspect : verdict.suspects)
    if (suspect.status && succeeded(*suspect.status)) return false;
  return true;
}

}  // namespace

void Attempt::State::record_verdict(const Verdict& verdict) {
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
}

void Attempt::State::on_verdict(const Verdict& verdict) {
  record_verdict(verdict);
  note_segments();
  if (phase != Phase::running) return;
  if (own_spawn() || !launcher_will_end_it(verdict, spec.launcher)) return ask_then_stop();
  timer.expires_after(kLauncherReacts);
  timer.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled && phase == Phase::running) stop_hung();
  });
}

// The job goes on while its ranks are asked: a standstill may be a long evaluation.
void Attempt::State::on_stall(const StallReport& report) {
  if (phase != Phase::running) return;
  watch.ask_ranks(spec.directory, kAnswersWithin, [this, report] { on_stall_answers(report); });
}

void Attempt::State::on_stall_answers(const StallReport& report) {
  if (phase != Phase::running) return;
  const RankAnswers& answers = watch.seen().answers;
  const Verdict verdict = verdict_of(report, answers);
  record_collectives(services.log, answers);
  services.log.record("stall", {{"text", describe(verdict)}});
  services.terminal.write_message("safelaunch: training stands still: " + describe(verdict));
  if (!spec.kill_on_stall) return;
  record_verdict(verdict);
  stop({StopMode::polite, SIGTERM, spec.grace.in_all});
}

void Attempt::State::ask_then_stop() {
  phase = Phase::asking;
  unanswered = 1;
  if (ras_may_be_asked()) {
    ++unanswered;
    ras.emplace(services.io, spec.nccl.ras_address, kRasWithin,
                [this](const std::string& answer) { hear_ras(answer); });
  }
  watch.ask_ranks(spec.directory, kAnswersWithin, [this] { on_answers(); });
}

void Attempt::State::on_answers() {
  record_collectives(services.log, watch.seen().answers);
  answered();
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

// What the user ended, or what has trained, may have left something for later.
bool Attempt::State::may_be_followed() const {
  return workers.running() && !record.signal && !record.training && !watch.training();
}

// By the thread that writes records, so that neither /proc nor a disk holds up the job. Whatever
// kills ranks and safelaunch later, `safelaunch clean` then knows what they have left.
void Attempt::State::note_segments() {
  if (spec.directory.empty()) return;
  const auto note = [run = spec.directory.parent_path(), mark = mark(), began = began] {
    const auto age = std::chrono::duration_cast<Duration>(Clock::now() - began);
    record_segments_in(run, segments_of_descendants(age), mark);
  };
  (void)services.disk.post(0, note);
}

// Now, since the ranks are about to end.
void Attempt::State::take_segments() {
  const std::vector<LeftFile> found = segments_of_descendants(age());
  if (may_be_followed()) segments = found;
  if (found.empty() || spec.directory.empty()) return;
  const auto write = [run = spec.directory.parent_path(), mark = mark(), found] {
    record_segments_in(run, found, mark);
  };
  (void)services.disk.post(found.size() * sizeof(LeftFile), write);
}

void Attempt::State::stop(const StopWanted& wanted) {
  if (phase == Phase::running || phase == Phase::asking) {
    phase = Phase::stopping;
    caller.on_stopping();
    watch.freeze();
    services.terminal.set_status({});
    if (workers.running()) take_segments();
  }
  timer.cancel();
  stopper.stop(wanted);
}

void Attempt::State::on_tree_gone(const std::vector<Survivor>& survivors) {
  record.survivors = survivors;
  record.swept = stopper.swept();
  record_removed_segments(services.log, remove_left_segments(segments));
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
  record.training = record.training || watch.training();
  record.ranks = watch.seen();
  record_nccl(services.log, record.ranks.nccl);
  services.log.count_the_rest();
  record.stages = watch.stages_reached();
  record.took = age();
  if (record.tails.empty()) keep_tails();
}

}  // namespace safelaunch
