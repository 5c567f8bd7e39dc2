#include "safelaunch/run/probe_beside.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/log.h"
#include "safelaunch/gpu/libraries.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/launch/probe_program.h"
#include "safelaunch/probe/session.h"
#include "safelaunch/run/probe_diagnosis.h"

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

bool worked_here(const RunPlan& plan) {
  const std::string file = memory_file(plan.environment);
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return !file.empty() && recall(load_memory(file), host_key(plan), now).has_value();
}

ProbeSituation situation_of(const RunPlan& plan, const Profile& first) {
  ProbeSituation situation;
  situation.wish = plan.options.probe;
  situation.gpus = read_identity().gpus;
  situation.ranks = ranks_here(plan, situation.gpus);
  situation.nodes = plan.nodes();
  situation.profile_uses_nccl = first.backend == Backend::keep;
  if (chooses_gpus(plan.command)) situation.missing = "the command chooses its GPUs by itself";
  return situation;
}

/// The environment of the job's ranks, as far as NCCL and the driver read it.
Environment environment_under(const Profile& profile, const RunPlan& plan) {
  Environment environment =
      apply_profile(profile, plan.environment, plan.configuration.rules.variables, plan.overrides)
          .environment;
  if (!plan.spawn || !plan.spawn->devices_selected) return environment;
  std::string devices;
  for (const std::string& device : plan.spawn->devices)
    devices += (devices.empty() ? "" : ",") + device;
  environment["CUDA_VISIBLE_DEVICES"] = devices;
  return environment;
}

const char* kind_of(const ProbeVerdict& verdict) {
  constexpr std::array kKinds{"works", "failed", "hung", "untold"};
  return kKinds[verdict.index()];
}

}  // namespace

Result<ProbeMeans> means_to_probe(const RunPlan& plan, const Profile& first) {
  ProbeSituation situation = situation_of(plan, first);
  // The cheap questions first: a host without a GPU looks for no library.
  if (const ProbeChoice choice = choose_to_probe(situation); !choice.probe)
    return Error{Errc::blocked, choice.why};
  situation.worked_here = worked_here(plan);
  if (const ProbeChoice choice = choose_to_probe(situation); !choice.probe)
    return Error{Errc::blocked, choice.why};
  auto program = find_probe_program(plan.environment);
  if (!program) return program.error();
  const auto libraries = find_job_libraries(plan.command.python.value_or(""), plan.environment);
  if (libraries.nccl.empty() || libraries.nccl_inside_torch)
    return Error{Errc::not_found, "there is no libnccl.so.2 that the job would load"};
  return ProbeMeans{std::move(*program), libraries.nccl.front().path, situation.ranks};
}

struct ProbeBeside::State {
  Services services;
  const RunPlan& plan;
  ProbeMeans means;
  Next next;
  OnSwitch on_switch;
  std::optional<ProbeCampaign> campaign;
  std::optional<ProbeSession> session;
  std::optional<Diagnosis> diagnosis;  ///< of the attempt's profile, once it has failed
  NextStep probing;                    ///< what is probed in its place
  NextStep following;                  ///< and what would be after that

  void start(const Profile& profile);
  void take(const ProbeOutcome& outcome);
  [[nodiscard]] NextStep after(const ProbeOutcome& outcome);
  void act_on(const CampaignEvent& event);
  void perform(const StartProbe& action);
  void perform(const StopProbe& action);
  void perform(const SwitchProfile& action);
};

void ProbeBeside::State::start(const Profile& profile) {
  ProbeSpec spec;
  spec.program = means.program;
  spec.nccl = means.nccl;
  spec.beside = Beside::job;
  spec.seats = seat_ranks(means.ranks, means.ranks, std::nullopt, environment_under(profile, plan));
  auto started = ProbeSession::start(services.io, services.reaper, spec,
                                     [this](const ProbeOutcome& outcome) { take(outcome); });
  if (!started) return log_debug(started.error().message);
  session.emplace(std::move(*started));
}

void ProbeBeside::State::take(const ProbeOutcome& outcome) {
  services.log.record("probe", {{"profile", campaign->probing()},
                                {"verdict", std::string(kind_of(outcome.verdict))},
                                {"text", reason(outcome.verdict)}});
  following = stopped_at(outcome.verdict) ? after(outcome) : NextStep{};
  act_on(
      CampaignProbed{outcome.verdict, following.profile != nullptr ? following.profile->name : ""});
}

/// Which profile may do better, if there is one that can be probed.
NextStep ProbeBeside::State::after(const ProbeOutcome& outcome) {
  if (!diagnosis) diagnosis = diagnose(outcome);
  std::vector<std::string> tried = campaign->refuted();
  tried.push_back(campaign->probing());
  NextStep step = next(*diagnosis, tried);
  const bool can_be_probed = step.profile != nullptr && step.profile->backend == Backend::keep;
  return can_be_probed ? step : NextStep{};
}

void ProbeBeside::State::act_on(const CampaignEvent& event) {
  for (const CampaignAction& action : campaign->on(event))
    std::visit([this](const auto& one) { perform(one); }, action);
}

void ProbeBeside::State::perform(const StartProbe&) {
  probing = following;
  start(*probing.profile);
}

/// Politely: killed ranks could leave files in /dev/shm.
void ProbeBeside::State::perform(const StopProbe&) {
  if (session) session->stop("the job's own ranks meet");
}

void ProbeBeside::State::perform(const SwitchProfile&) {
  probing.why += ", and a probe showed that it works here";
  on_switch(*diagnosis, probing);
}

ProbeBeside::ProbeBeside(const Services& services, const RunPlan& plan, ProbeMeans means, Next next,
                         OnSwitch on_switch)
    : state_(new State{services,
                       plan,
                       std::move(means),
                       std::move(next),
                       std::move(on_switch),
                       {},
                       {},
                       {},
                       {},
                       {}}) {}

ProbeBeside::~ProbeBeside() = default;

void ProbeBeside::begin(const Profile& profile) {
  state_->campaign.emplace(profile.name);
  state_->start(profile);
}

void ProbeBeside::ranks_meet() {
  state_->act_on(CampaignRanksEntered{});
}

void ProbeBeside::end() {
  state_->act_on(CampaignAttemptEnded{});
  state_->session.reset();
}

std::vector<std::string> ProbeBeside::refuted() const {
  return state_->campaign->refuted();
}

std::span<const ProbedProfile> ProbeBeside::probed() const {
  return state_->campaign->probed();
}

}  // namespace safelaunch
