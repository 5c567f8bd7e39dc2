#include "safelaunch/run/run_probe.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/join.h"
#include "safelaunch/base/log.h"
#include "safelaunch/gpu/libraries.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/launch/probe_program.h"
#include "safelaunch/probe/session.h"
#include "safelaunch/run/probe_diagnosis.h"
#include "safelaunch/run/profile_options.h"

namespace safelaunch {
namespace {

/// How many ranks this node has; 0: not known.
int ranks_here(const RunPlan& plan, int gpus) {
  if (plan.spawn) return plan.spawn->workers;
  if (!plan.command.processes_per_node) return 0;
  if (const int* number = std::get_if<int>(&*plan.command.processes_per_node)) return *number;
  return *plan.command.processes_per_node == ProcessCount(CountWord::gpu) ? gpus : 0;
}

/// Launchers that are told which GPUs to use do not tell us.
bool chooses_gpus(const Command& command) {
  return std::ranges::any_of(command.argv, [](std::string_view word) {
    return word.starts_with("--include") || word.starts_with("--exclude") ||
           word.starts_with("--gpu_ids") || word.starts_with("--gpu-ids");
  });
}

ProbeSituation situation_of(const RunPlan& plan, const Profile& profile, ProbeMoment moment) {
  ProbeSituation situation;
  situation.moment = moment;
  situation.wish = options_under(plan.options, profile).probe;
  situation.gpus = read_identity().gpus;
  situation.ranks = ranks_here(plan, situation.gpus);
  situation.nodes = plan.nodes();
  situation.profile_uses_nccl = profile.backend == Backend::keep;
  if (chooses_gpus(plan.command)) situation.missing = "the command chooses its GPUs by itself";
  return situation;
}

/// The environment of the job's ranks, as far as NCCL and the driver read it.
Environment environment_of_ranks(const Profile& profile, const RunPlan& plan) {
  Environment environment = plan.environment_under(profile).environment;
  if (!plan.spawn || !plan.spawn->devices_selected) return environment;
  environment["CUDA_VISIBLE_DEVICES"] = join(plan.spawn->devices, ",");
  return environment;
}

const char* kind_of(const ProbeVerdict& verdict) {
  constexpr std::array kKinds{"works", "failed", "hung", "untold"};
  return kKinds[verdict.index()];
}

}  // namespace

Result<ProbeMeans> means_to_probe(const RunPlan& plan, const Profile& profile, ProbeMoment moment) {
  const ProbeSituation situation = situation_of(plan, profile, moment);
  // The cheap questions first: a host without a GPU looks for no library.
  if (const ProbeChoice choice = choose_to_probe(situation); !choice.probe)
    return Error{Errc::blocked, choice.why};
  auto program = find_probe_program(plan.environment);
  if (!program) return program.error();
  const auto libraries = find_job_libraries(plan.command.python.value_or(""), plan.environment);
  if (libraries.nccl.empty() || libraries.nccl_inside_torch)
    return Error{Errc::not_found, "there is no libnccl.so.2 that the job would load"};
  return ProbeMeans{std::move(*program), libraries.nccl.front().path, situation.ranks};
}

struct RunProbe::State {
  Services services;
  const RunPlan& plan;
  ProbeMeans means;
  Next next{};
  OnSwitch on_switch{};
  std::optional<ProbeCampaign> campaign{};    ///< beside an attempt
  std::optional<ProbeSelection> selection{};  ///< between two
  std::vector<const Profile*> candidates{};
  OnChosen on_chosen{};
  std::optional<ProbeSession> session{};
  std::optional<Diagnosis> diagnosis{};  ///< of the attempt's profile, once it has failed
  NextStep probing{};                    ///< what is probed in its place
  NextStep following{};                  ///< and what would be after that

  void start(const Profile& profile, Beside beside, ProbeSession::OnOutcome on_outcome);
  void start_beside(const Profile& profile);
  void take(const ProbeOutcome& outcome);
  void record(const std::string& profile, const ProbeOutcome& outcome) const;
  void probe_next_candidate();
  [[nodiscard]] NextStep after(const ProbeOutcome& outcome);
  void act_on(const CampaignEvent& event);
  void perform(const StartProbe& action);
  void perform(const StopProbe& action);
  void perform(const SwitchProfile& action);
};

void RunProbe::State::start(const Profile& profile, Beside beside,
                            ProbeSession::OnOutcome on_outcome) {
  ProbeSpec spec;
  spec.program = means.program;
  spec.nccl = means.nccl;
  spec.beside = beside;
  spec.seats =
      seat_ranks(means.ranks, means.ranks, std::nullopt, environment_of_ranks(profile, plan));
  auto started = ProbeSession::start(services.io, services.reaper, spec, on_outcome);
  if (started) return void(session.emplace(std::move(*started)));
  log_debug(started.error().message);
  const ProbeOutcome none{ProbeUntold{started.error().message}, ""};
  boost::asio::post(services.io, [on_outcome, none] { on_outcome(none); });
}

void RunProbe::State::start_beside(const Profile& profile) {
  start(profile, Beside::job, [this](const ProbeOutcome& outcome) { take(outcome); });
}

void RunProbe::State::record(const std::string& profile, const ProbeOutcome& outcome) const {
  services.log.record(record::Probe{profile, kind_of(outcome.verdict), reason(outcome.verdict)});
}

void RunProbe::State::probe_next_candidate() {
  const std::string* name = selection->probing();
  if (name == nullptr) return on_chosen(selection->chosen());
  const auto profile = std::ranges::find(candidates, *name, &Profile::name);
  start(**profile, Beside::nobody, [this](const ProbeOutcome& outcome) {
    record(*selection->probing(), outcome);
    selection->take(outcome.verdict);
    probe_next_candidate();
  });
}

void RunProbe::State::take(const ProbeOutcome& outcome) {
  record(campaign->probing(), outcome);
  following = stopped_at(outcome.verdict) ? after(outcome) : NextStep{};
  act_on(
      CampaignProbed{outcome.verdict, following.profile != nullptr ? following.profile->name : ""});
}

/// Which profile may do better, if there is one that can be probed.
NextStep RunProbe::State::after(const ProbeOutcome& outcome) {
  if (!diagnosis) diagnosis = diagnose(outcome);
  std::vector<std::string> tried = safelaunch::refuted(campaign->probed());
  tried.push_back(campaign->probing());
  NextStep step = next(*diagnosis, tried);
  const bool can_be_probed = step.profile != nullptr && step.profile->backend == Backend::keep;
  return can_be_probed ? step : NextStep{};
}

void RunProbe::State::act_on(const CampaignEvent& event) {
  for (const CampaignAction& action : campaign->on(event))
    std::visit([this](const auto& one) { perform(one); }, action);
}

void RunProbe::State::perform(const StartProbe&) {
  probing = following;
  start_beside(*probing.profile);
}

/// Politely: killed ranks could leave files in /dev/shm.
void RunProbe::State::perform(const StopProbe&) {
  if (session) session->stop("the job's own ranks meet");
}

void RunProbe::State::perform(const SwitchProfile&) {
  probing.why += ", and a probe showed that it works here";
  on_switch(*diagnosis, probing);
}

RunProbe::RunProbe(const Services& services, const RunPlan& plan, ProbeMeans means)
    : state_(new State{services, plan, std::move(means)}) {}

RunProbe::~RunProbe() = default;

void RunProbe::begin_beside(const Profile& profile, Next next, OnSwitch on_switch) {
  state_->next = std::move(next);
  state_->on_switch = std::move(on_switch);
  state_->campaign.emplace(profile.name);
  state_->start_beside(profile);
}

void RunProbe::choose(std::vector<const Profile*> candidates, OnChosen on_chosen) {
  std::vector<std::string> names;
  for (const Profile* one : candidates) names.push_back(one->name);
  state_->candidates = std::move(candidates);
  state_->on_chosen = std::move(on_chosen);
  state_->selection.emplace(std::move(names));
  state_->probe_next_candidate();
}

void RunProbe::ranks_meet() {
  if (state_->campaign) state_->act_on(CampaignRanksEntered{});
}

void RunProbe::end() {
  if (state_->campaign) state_->act_on(CampaignAttemptEnded{});
  state_->session.reset();
}

std::vector<std::string> RunProbe::refuted() const {
  std::vector<std::string> names;
  if (state_->campaign) names = safelaunch::refuted(state_->campaign->probed());
  if (state_->selection)
    std::ranges::move(safelaunch::refuted(state_->selection->probed()), std::back_inserter(names));
  return names;
}

}  // namespace safelaunch
