// Run: what an attempt's end means, and what comes next.
#include <algorithm>

#include "run.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/log.h"
#include "safelaunch/diagnose/own_causes.h"
#include "safelaunch/host/cgroup_memory.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/keep.h"
#include "safelaunch/profile/library.h"
#include "safelaunch/run/evidence.h"
#include "safelaunch/run/port_facts.h"
#include "safelaunch/run/records.h"

namespace safelaunch {
namespace {

constexpr std::size_t kMostNamed = 5;

std::string in_words(const Survivor& survivor) {
  if (!survivor.refused)
    return fmt::format("warning: pid {} was killed and does not end (state {})", survivor.pid,
                       survivor.state);
  const auto facts = facts_of(survivor.pid);
  return fmt::format(
      "warning: the job leaves pid {} ({}) running: it belongs to user {} (a setuid program) and "
      "may not be signalled",
      survivor.pid, facts ? facts->comm : "?", facts ? user_name(facts->uid) : "?");
}

std::string in_words(const std::vector<Swept>& swept) {
  std::string names;
  for (const Swept& one : std::span(swept).first(std::min(swept.size(), kMostNamed)))
    names += fmt::format("{}{} (pid {})", names.empty() ? "" : ", ", one.name, one.pid);
  if (swept.size() > kMostNamed) names += fmt::format(" and {} more", swept.size() - kMostNamed);
  return fmt::format(
      "ended what the job had left running: {}; {} in its environment keeps a process", names,
      kKeepSetting);
}

}  // namespace

void Run::on_attempt_end(const AttemptRecord& record) {
  ledger_.add(profile_->name, record);
  for (const Survivor& survivor : record.survivors) voice_.say(in_words(survivor));
  if (record.gave_way && !record.signal) return on_switched();
  if (!went_well(record)) return on_failure(record);
  exit_code_ = 0;
  if (!record.swept.empty()) voice_.say(in_words(record.swept));
  if (profile_->cost != Cost::none) ledger_.set_cost(cost_in_words(plan_, *profile_));
  remember_what_worked();
  close({});
}

Evidence Run::evidence_of(const AttemptRecord& record) const {
  AttemptContext context;
  context.launcher = plan_.command.launcher;
  context.autotuning = plan_.command.autotuning;
  context.retries_of_profile = retries_of_profile_;
  if (port_)
    context.port =
        RendezvousPort{port_->port(), plan_.options.port == "keep" ? RendezvousPort::Choice::users
                                                                   : RendezvousPort::Choice::ours};
  if (const auto kills = oom_kills_of_our_cgroup(); kills && oom_kills_before_)
    context.oom_kills = static_cast<int>(*kills - *oom_kills_before_);
  Evidence evidence = make_evidence(record, context);
  std::ranges::move(port_facts(evidence, record.ranks.knocking, catalogue(), KernelSockets()),
                    std::back_inserter(evidence.confirmations));
  return evidence;
}

void Run::on_failure(const AttemptRecord& record) {
  const Evidence evidence = evidence_of(record);
  const Diagnosis diagnosis = diagnose(evidence, catalogue());
  exit_code_ = exit_status_of(evidence, diagnosis);
  AttemptSummary& attempt = ledger_.last();
  attempt.end = end_of(record, diagnosis);
  if (!record.signal) {  // else its end has no other cause
    describe_in(attempt, diagnosis);
    ledger_.note_cause(diagnosis);
  }
  attempt.told_by_itself = speaks_for_itself(plan_, record, diagnosis);
  take_seen(record.ranks);
  strike_refuted();
  RunProgress now = progress(diagnosis, tried_);
  now.impasse = impasse_of(evidence, diagnosis);
  const NextStep step = next_step(plan_, diagnosis, now);
  if (now.impasse) impasses_.push_back(*now.impasse);
  if (step.profile == nullptr) {
    voice_.tell_of_struck_out(step);
    return fail(record, diagnosis, step.why);
  }
  if (worth_probing(evidence, diagnosis, step)) return probe_what_follows(diagnosis, step);
  follow(diagnosis, step);
}

void Run::follow(const Diagnosis& diagnosis, const NextStep& step) {
  ledger_.last().next = step.profile->name + ": " + step.why;
  voice_.tell_of_fallback(diagnosis, step);
  go_on(step);
}

RunProgress Run::progress(const Diagnosis& diagnosis, std::vector<std::string> tried) {
  // All that there are is read only where one of them may be needed.
  const bool falls_back = std::holds_alternative<FallBack>(diagnosis.decision);
  return {ledger_.attempts(),
          profile_,
          std::move(tried),
          falls_back ? known_profiles() : std::span<const Profile>{},
          seen_,
          std::nullopt,
          impasses_};
}

void Run::take_seen(const RanksSeen& ranks) {
  if (ranks.nccl.version) seen_.nccl = ranks.nccl.version;
  seen_.nccl_spoke = seen_.nccl_spoke || ranks.nccl.any;
  seen_.backends.insert(ranks.backends.begin(), ranks.backends.end());
  seen_.gpu = may_have_gpu();
}

// No attempt is wasted on what the probe has shown to fail.
void Run::strike_refuted() {
  if (!probe_) return;
  for (const std::string& name : probe_->refuted()) {
    if (std::ranges::find(tried_, name) != tried_.end()) continue;
    voice_.say(fmt::format("not {}: a probe showed that it fails here", name));
    tried_.insert(tried_.begin(), name);
  }
}

void Run::on_switched() {
  AttemptSummary& attempt = ledger_.last();
  attempt.end = AttemptEnd::given_up;
  describe_in(attempt, switch_->diagnosis);
  strike_refuted();
  follow(switch_->diagnosis, switch_->step);
}

// Once a run, where NCCL itself failed, or ranks in it: seconds of probing save attempts of
// minutes.
bool Run::worth_probing(const Evidence& evidence, const Diagnosis& diagnosis,
                        const NextStep& step) const {
  const bool in_nccl = seen_.nccl && evidence.stage.value_or(Stage::spawned) >= Stage::group;
  return in_nccl && ledger_.attempts() == 1 && step.profile->backend == Backend::keep &&
         std::holds_alternative<FallBack>(diagnosis.decision);
}

void Run::probe_what_follows(const Diagnosis& diagnosis, const NextStep& step) {
  Result<ProbeMeans> means = means_to_probe(plan_, *profile_, ProbeMoment::after_a_failure);
  if (!means) {
    log_debug("no probe: " + means.error().message);
    return follow(diagnosis, step);
  }
  attempt_.reset();
  probe_.emplace(services(), plan_, std::move(*means));
  gpu_memory_.when_back([this, diagnosis](const std::string&) {
    if (interrupted_) return;
    probe_->choose(candidates_after(diagnosis), [this, diagnosis](const std::string& chosen) {
      if (!interrupted_) take_chosen(chosen, diagnosis);
    });
  });
}

// All that the chain would take, one after the other, as far as a probe can tell of them.
std::vector<const Profile*> Run::candidates_after(const Diagnosis& diagnosis) {
  std::vector<const Profile*> candidates;
  std::vector<std::string> tried = tried_;
  while (true) {
    const NextStep step = next_step(plan_, diagnosis, progress(diagnosis, tried));
    if (step.profile == nullptr) return candidates;
    if (step.profile->backend == Backend::keep) candidates.push_back(step.profile);
    tried.push_back(step.profile->name);
  }
}

void Run::take_chosen(const std::string& profile, const Diagnosis& diagnosis) {
  strike_refuted();
  NextStep step = next_step(plan_, diagnosis, progress(diagnosis, tried_));
  if (step.profile == nullptr) return close(step.why);
  const auto candidates = candidates_after(diagnosis);
  const auto chosen = std::ranges::find(candidates, profile, &Profile::name);
  if (chosen != candidates.end()) {
    step.profile = *chosen;
    step.why = "a probe showed that it works here, and none is faster";
  }
  follow(diagnosis, step);
}

void Run::go_on(const NextStep& step) {
  attempt_.reset();
  former_port_ = step.other_port ? FormerPort::was_taken : former_port_;
  if (step.profile == profile_) ++retries_of_profile_;
  gpu_memory_.when_back([this, profile = step.profile, wait = step.wait](const std::string& why) {
    if (!why.empty()) voice_.say("warning: " + why);
    start_after(wait, *profile);
  });
}

void Run::start_after(Duration wait, const Profile& profile) {
  if (interrupted_) return;
  if (wait == Duration::zero()) return start_attempt(profile);
  pause_.expires_after(wait);
  pause_.async_wait([this, &profile](const boost::system::error_code& cancelled) {
    if (!cancelled && !interrupted_) start_attempt(profile);
  });
}

// People read the end of a screen; a program takes the end for the object that it asked for.
void Run::fail(const AttemptRecord& record, const Diagnosis& diagnosis, std::string why) {
  if (plan_.options.json) voice_.tell_of_first_failure(record, diagnosis);
  close(std::move(why));
  if (!plan_.options.json) voice_.tell_of_first_failure(record, diagnosis);
}

std::span<const Profile> Run::known_profiles() {
  // Read only when something has to be healed: a healthy run needs its first profile alone.
  if (!known_.empty()) return known_;
  if (const Result<void> read = read_rest_of_chain(plan_); !read)
    voice_.say("warning: " + read.error().message);
  known_ = ProfileLibrary::standard(plan_.environment).load_all();
  return known_;
}

void Run::remember_what_worked() {
  // On the disk's thread: the ledger goes on here meanwhile.
  const auto remember = [this, attempts = ledger_.attempts(),
                         probed = probe_ ? Probed::yes : Probed::no] {
    remember_success(plan_, *profile_, attempts, probed);
  };
  if (!disk_.post(0, remember))
    log_debug("what worked is not remembered: the disk does not keep up");
}

}  // namespace safelaunch
