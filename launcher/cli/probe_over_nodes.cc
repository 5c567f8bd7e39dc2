#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>

#include "probe_nodes_text.h"
#include "probe_plan.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/harmless.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/launch/guardian.h"
#include "verbs.h"

// Every node looks at itself first, so a node whose driver is ill is left out from the beginning.
// Then node 0 alone shows the rows and writes the page; the other nodes only say on stderr how the
// probe ended.
namespace safelaunch::cli {
namespace {

/// This node's account of itself, with the reason where it cannot take part.
nodes::ProbedNode look_here(ProbePlan& plan) {
  nodes::ProbedNode here;
  const auto nccl = find_nccl(plan);
  plan.ground.driver =
      gpu::ask_cuda(plan.program, plan.environment, limits_of(plan.options)[probe::Phase::driver]);
  const gpu::VisibleGpus& driver = plan.ground.driver;
  here.host = host::read_hostname();
  here.nccl = version_text(plan.ground.nccl);
  here.interface = plan.ground.nccl.interface;
  here.address = plan.ground.nccl.address;
  if (!nccl) here.trouble = nccl.error().message;
  if (driver.names.empty()) {
    here.trouble = driver.why;
    return here;
  }
  const std::size_t gpus = driver.names.size();
  here.cuda = driver.cuda;
  here.gpus = fmt::format("{} GPU{} ({})", gpus, gpus == 1 ? "" : "s", driver.names.front());
  plan.ground.ranks = plan.options.ranks.value_or(static_cast<int>(gpus));
  here.ranks = plan.ground.ranks;
  return here;
}

/// Lines go to stderr, since stdout is for node 0's answer, and a starter (Slurm) may mix the
/// output of all nodes.
void say_on_stderr(const std::string& line) {
  std::fputs(harmless(fmt::format("safelaunch: {}\n", tr(line))).c_str(), stderr);
}

/// Says on node 0 what happens, row by row.
class NodesScreen final : public nodes::NodeProbeListener {
 public:
  NodesScreen(const ProbePlan& plan, const std::vector<probe::SearchProfile>& searched)
      : plan_(plan),
        searched_(searched),
        shows_(!plan.options.json),
        width_(longest_name(plan.profiles)) {}

  void say(const std::string& line) override { say_on_stderr(line); }

  void nodes_met(const nodes::ProbedNodes& nodes) override {
    nodes_ = nodes;
    if (!shows_) return;
    answer(render_nodes(nodes) + render_probe_header(width_));
    for (const probe::SearchProfile& one : searched_)
      if (!one.known.empty())
        answer(render_probe_row({one.name, probe::Untold{one.known}, ""}, kSeveralRanks, width_));
  }

  void round_over(const probe::SearchRound& round,
                  const std::vector<probe::GroupResult>& results) override {
    if (!shows_) return;
    const std::string& profile = plan_.profiles[round.profile].name;
    if (round.purpose != probe::SearchRound::Purpose::everywhere)
      return void(answer(render_round(round, results, profile, nodes_)));
    answer(render_everywhere(profile, results.front(), nodes_, width_));
  }

 private:
  const ProbePlan& plan_;
  const std::vector<probe::SearchProfile>& searched_;
  bool shows_;
  std::size_t width_;
  nodes::ProbedNodes nodes_;
};

int report_nodes(const ProbePlan& plan, const nodes::NodeProbeEnd& end) {
  if (!end.leads) {
    say_on_stderr(end.why);
    if (plan.options.json && plan.party->placement.node == 0) answer(no_result_json(end));
    return end.exit_code;
  }
  std::map<int, std::string> hosts;
  for (const auto& [seat, node] : end.nodes) hosts[seat] = node.host;
  const probe::NodeConclusion conclusion =
      probe::conclude(end.findings, end.took_part, hosts, plan.party->placement.starter == "Slurm");
  answer(plan.options.json ? nodes_json(end, conclusion) : render_end(end, conclusion));
  if (plan.options.html.empty()) return end.exit_code;
  if (replace_file(plan.options.html, nodes_page(end, conclusion))) return end.exit_code;
  // All nodes end alike, so this is no other status.
  warn(fmt::format("--html {}: cannot be written: {}", plan.options.html, std::strerror(errno)));
  return end.exit_code;
}

}  // namespace

std::vector<probe::SearchProfile> profiles_to_search(const ProbePlan& plan) {
  const std::vector<probe::Entrant> entrants = entrants_of(plan);
  std::vector<probe::SearchProfile> profiles;
  for (const probe::Entrant& one : entrants) {
    const auto earlier = std::span(entrants).first(profiles.size());
    profiles.push_back({one.name, probe::reason_not_to_probe(one, earlier)});
  }
  return profiles;
}

Result<probe::Spec> spec_for_nodes(const ProbePlan& plan, const std::string& name,
                                   const probe::Part& part) {
  const auto profile = std::ranges::find(plan.profiles, name, &profile::Profile::name);
  if (profile == plan.profiles.end())
    return Error{Errc::bad_config,
                 fmt::format("there is no profile {} here; give all nodes the same options", name)};
  return spec_of(plan, environment_under(*profile, plan), part);
}

int probe_over_nodes(ProbePlan plan) {
  nodes::NodeProbePlan probe;
  probe.here = look_here(plan);
  probe.party = *plan.party;
  probe.token_file = plan.options.token_file;
  probe.environment = plan.environment;
  probe.profiles = profiles_to_search(plan);
  std::vector<std::string> names;
  for (const probe::SearchProfile& profile : probe.profiles) names.push_back(profile.name);
  probe.here.profiles = join(names, ", ");
  probe.spec = [&plan](const std::string& profile, const probe::Part& part) {
    return spec_for_nodes(plan, profile, part);
  };
  // The guardian ends the ranks where this process is stopped for longer than its lease. A run has
  // it from the first on; a probe learns only here that there are several nodes.
  launch::split_guardian();
  NodesScreen screen(plan, probe.profiles);
  const auto end = nodes::probe_over_nodes(probe, screen);
  return end ? report_nodes(plan, *end) : refuse(end.error());
}

}  // namespace safelaunch::cli
