#include "run_probe.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "safelaunch/agree/token.h"
#include "safelaunch/base/log.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/gpu/libraries.h"
#include "safelaunch/launch/find_program.h"
#include "safelaunch/plan/plan.h"
#include "safelaunch/probe/probe_diagnosis.h"
#include "safelaunch/probe/session.h"

// A run probes at two moments. Beside the first attempt the profile of that attempt is probed, then
// those that may heal it, until the job's own ranks meet and prove more. Between two attempts all
// profiles that may follow are probed, and the fastest is taken. probe::Campaign and
// probe::Selection decide; here the probes are started and their results handed on.
namespace safelaunch::run {
namespace {

/// How many ranks this node has; 0: not known.
int ranks_here(const plan::RunPlan& plan, std::optional<int> gpus) {
  if (plan.spawn) return plan.spawn->workers;
  if (!plan.command.processes_per_node) return 0;
  if (const int* number = std::get_if<int>(&*plan.command.processes_per_node)) return *number;
  return *plan.command.processes_per_node == job::ProcessCount(job::CountWord::gpu)
             ? gpus.value_or(0)
             : 0;
}

/// Launchers that are told which GPUs to use do not tell us.
bool chooses_gpus(const job::Command& command) {
  return std::ranges::any_of(command.argv, [](std::string_view word) {
    return word.starts_with("--include") || word.starts_with("--exclude") ||
           word.starts_with("--gpu_ids") || word.starts_with("--gpu-ids");
  });
}

probe::Situation situation_of(const plan::RunPlan& plan, const profile::Profile& profile,
                              std::optional<int> gpus, probe::Moment moment) {
  probe::Situation situation;
  situation.moment = moment;
  situation.wish = plan::options_under(plan.options, profile).probe;
  situation.gpus = gpus;
  situation.ranks = ranks_here(plan, gpus);
  situation.nodes = plan.nodes();
  situation.profile_uses_nccl = profile.backend == profile::Backend::keep;
  if (chooses_gpus(plan.command)) situation.missing = "the command chooses its GPUs by itself";
  return situation;
}

/// The environment of the job's ranks, as far as NCCL and the driver read it.
Environment environment_of_ranks(const profile::Profile& profile, const plan::RunPlan& plan) {
  Environment environment = plan.environment_under(profile).environment;
  environment.erase(std::string(agree::kTokenVariable));
  if (!plan.spawn || !plan.spawn->devices_selected) return environment;
  environment["CUDA_VISIBLE_DEVICES"] = join(plan.spawn->devices, ",");
  return environment;
}

int mb_per_s(const probe::Verdict& verdict) {
  constexpr double kMbInGb = 1e3;
  const auto* works = std::get_if<probe::Works>(&verdict);
  if (works == nullptr || !works->bus_gb_per_s) return 0;
  return static_cast<int>(*works->bus_gb_per_s * kMbInGb);
}

const char* kind_of(const probe::Verdict& verdict) {
  constexpr std::array kKinds{"works", "failed", "hung", "untold"};
  return kKinds[verdict.index()];
}

}  // namespace

Result<ProbeMeans> means_to_probe(const plan::RunPlan& plan, const profile::Profile& profile,
                                  std::optional<int> gpus, probe::Moment moment) {
  const probe::Situation situation = situation_of(plan, profile, gpus, moment);
  // The cheap questions first: a host without a GPU looks for no library.
  if (const probe::Choice choice = probe::choose_to_probe(situation); !choice.probe)
    return Error{Errc::blocked, choice.why};
  auto program = launch::find_probe_program(plan.environment);
  if (!program) return program.error();
  const auto libraries =
      gpu::find_job_libraries(plan.command.python.value_or(""), plan.environment);
  if (libraries.nccl.empty() || libraries.nccl_inside_torch)
    return Error{Errc::not_found, "there is no libnccl.so.2 that the job would load"};
  return ProbeMeans{std::move(*program), libraries.nccl.front().path, situation.ranks};
}

struct RunProbe::State {
  ranks::Services services;
  const plan::RunPlan& plan;
  ProbeMeans means;
  const RunMachine& machine;
  OnEvent on_event;
  std::optional<probe::Campaign> campaign{};    ///< decides beside an attempt
  std::optional<probe::Selection> selection{};  ///< decides between two attempts
  std::vector<profile::Profile> candidates{};
  std::optional<probe::Session> session{};
  /// The diagnosis of the attempt's profile, once it has failed.
  std::optional<diagnose::Diagnosis> diagnosis{};
  plan::NextStep probing{};    ///< the profile that is probed in its place
  plan::NextStep following{};  ///< the profile that would come after that one

  void start(const profile::Profile& profile, probe::Beside beside,
             probe::Session::OnOutcome on_outcome);
  void start_beside(const profile::Profile& profile);
  void take(const probe::Outcome& outcome);
  void record(const std::string& profile, const probe::Outcome& outcome) const;
  void probe_next_candidate();
  [[nodiscard]] std::vector<std::string> refuted() const;
  [[nodiscard]] plan::NextStep after(const probe::Outcome& outcome);
  void act_on(const probe::CampaignEvent& event);
  void perform(const probe::StartProbe& action);
  void perform(const probe::StopProbe& action);
  void perform(const probe::SwitchProfile& action);
};

void RunProbe::State::start(const profile::Profile& profile, probe::Beside beside,
                            probe::Session::OnOutcome on_outcome) {
  probe::Spec spec;
  spec.program = means.program;
  spec.nccl = means.nccl;
  spec.beside = beside;
  spec.seats = probe::seat_ranks(means.ranks, means.ranks, std::nullopt,
                                 environment_of_ranks(profile, plan));
  auto started = probe::Session::start(services.io, services.reaper, spec, on_outcome);
  if (started) return void(session.emplace(std::move(*started)));
  log_debug(started.error().message);
  const probe::Outcome none{probe::Untold{started.error().message}, ""};
  boost::asio::post(services.io, [on_outcome, none] { on_outcome(none); });
}

void RunProbe::State::start_beside(const profile::Profile& profile) {
  start(profile, probe::Beside::job, [this](const probe::Outcome& outcome) { take(outcome); });
}

void RunProbe::State::record(const std::string& profile, const probe::Outcome& outcome) const {
  services.log.record(report::record::Probe{profile, kind_of(outcome.verdict),
                                            probe::reason(outcome.verdict),
                                            mb_per_s(outcome.verdict)});
}

void RunProbe::State::probe_next_candidate() {
  const std::string* name = selection->probing();
  if (name == nullptr) return on_event(ProfileChosen{selection->chosen(), refuted()});
  const auto profile = std::ranges::find(candidates, *name, &profile::Profile::name);
  start(*profile, probe::Beside::nobody, [this](const probe::Outcome& outcome) {
    record(*selection->probing(), outcome);
    selection->take(outcome.verdict);
    probe_next_candidate();
  });
}

void RunProbe::State::take(const probe::Outcome& outcome) {
  record(campaign->probing(), outcome);
  following = probe::stopped_at(outcome.verdict) ? after(outcome) : plan::NextStep{};
  act_on(probe::CampaignProbed{outcome.verdict, following.profile ? following.profile->name : ""});
}

/// The profile that may do better, if there is one that can be probed.
plan::NextStep RunProbe::State::after(const probe::Outcome& outcome) {
  if (!diagnosis) diagnosis = probe::diagnosis_of(outcome);
  std::vector<std::string> tried = safelaunch::probe::refuted(campaign->probed());
  tried.push_back(campaign->probing());
  plan::NextStep step = machine.would_follow(*diagnosis, tried);
  const bool can_be_probed = step.profile && step.profile->backend == profile::Backend::keep;
  return can_be_probed ? step : plan::NextStep{};
}

void RunProbe::State::act_on(const probe::CampaignEvent& event) {
  for (const probe::CampaignAction& action : campaign->on(event))
    std::visit([this](const auto& one) { perform(one); }, action);
}

void RunProbe::State::perform(const probe::StartProbe&) {
  probing = following;
  start_beside(*probing.profile);
}

/// Politely: killed ranks could leave files in /dev/shm.
void RunProbe::State::perform(const probe::StopProbe&) {
  if (session) session->stop("the job's own ranks meet");
}

void RunProbe::State::perform(const probe::SwitchProfile&) {
  probing.why += ", and a probe showed that it works here";
  on_event(SwitchFound{*diagnosis, probing});
}

RunProbe::RunProbe(const ranks::Services& services, const plan::RunPlan& plan, ProbeMeans means,
                   const RunMachine& machine, OnEvent on_event)
    : state_(new State{services, plan, std::move(means), machine, std::move(on_event)}) {}

RunProbe::~RunProbe() = default;

void RunProbe::begin_beside(const profile::Profile& profile) {
  state_->campaign.emplace(profile.name);
  state_->start_beside(profile);
}

void RunProbe::choose(std::vector<profile::Profile> candidates) {
  std::vector<std::string> names;
  for (const profile::Profile& one : candidates) names.push_back(one.name);
  state_->candidates = std::move(candidates);
  state_->selection.emplace(std::move(names));
  state_->probe_next_candidate();
}

void RunProbe::ranks_meet() {
  if (state_->campaign) state_->act_on(probe::CampaignRanksEntered{});
}

void RunProbe::end() {
  if (state_->campaign) state_->act_on(probe::CampaignAttemptEnded{});
  state_->session.reset();
}

std::vector<std::string> RunProbe::refuted() const {
  return state_->refuted();
}

std::vector<std::string> RunProbe::State::refuted() const {
  std::vector<std::string> names;
  if (campaign) names = safelaunch::probe::refuted(campaign->probed());
  if (selection)
    std::ranges::move(safelaunch::probe::refuted(selection->probed()), std::back_inserter(names));
  return names;
}

}  // namespace safelaunch::run
