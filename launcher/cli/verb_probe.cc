#include "probe_plan.h"

#include <array>

#include "safelaunch/probe/probe_diagnosis.h"
#include "verbs.h"

// `probe` finds the driver and the job's NCCL, lets each profile try in turn and prints a row at
// once. The room probe decides which profiles need no probe, which one wins and what the exit
// status is.
namespace safelaunch::cli {
namespace {

constexpr std::array kProbeOptions{
    settings::Option{.name = "profile",
                     .letter = 'p',
                     .put = settings::put_into<&ProbeOptions::profiles>,
                     .kind = settings::OptionKind::list,
                     .value = "NAME|FILE",
                     .help = "profiles to probe, repeated or with commas"},
    settings::Option{.name = "all",
                     .put = settings::put_into<&ProbeOptions::all>,
                     .help = "probe every profile, and say which is the fastest",
                     .excludes = "profile"},
    settings::Option{.name = "cluster",
                     .put = settings::put_into<&ProbeOptions::cluster>,
                     .value = "NAME",
                     .help = "the cluster rule to use"},
    settings::Option{.name = "config",
                     .put = settings::put_into<&ProbeOptions::config>,
                     .value = "FILE",
                     .help = "the configuration file"},
    settings::Option{.name = "set",
                     .put = settings::put_into<&ProbeOptions::set>,
                     .value = "NAME=VALUE",
                     .help = "set one variable; it overrides every profile"},
    settings::Option{.name = "unset",
                     .put = settings::put_into<&ProbeOptions::unset>,
                     .value = "NAME",
                     .help = "remove one variable"},
    settings::Option{.name = "ranks",
                     .put = settings::put_into<&ProbeOptions::ranks>,
                     .fallback = "one a GPU",
                     .help = "how many ranks",
                     .range = {1, 1024}},
    settings::Option{.name = "devices",
                     .put = settings::put_into<&ProbeOptions::devices>,
                     .value = "LIST",
                     .help = "the GPUs to use, such as 0,1"},
    settings::Option{.name = "nccl",
                     .put = settings::put_into<&ProbeOptions::nccl>,
                     .value = "FILE",
                     .fallback = "the one that COMMAND would load",
                     .help = "the libnccl to probe"},
    settings::Option{.name = "driver-timeout",
                     .put = settings::put_into<&ProbeOptions::driver_timeout>,
                     .fallback = "30s",
                     .help = "how long the CUDA driver may take to answer"},
    settings::Option{.name = "init-timeout",
                     .put = settings::put_into<&ProbeOptions::init_timeout>,
                     .fallback = "30s",
                     .help = "how long NCCL may take to make a communicator"},
    settings::Option{.name = "collective-timeout",
                     .put = settings::put_into<&ProbeOptions::collective_timeout>,
                     .fallback = "20s",
                     .help = "how long the first all_reduce may take"},
    settings::Option{.name = "json",
                     .put = settings::put_into<&ProbeOptions::json>,
                     .help = "the result as JSON"},
    settings::Option{.name = "nnodes",
                     .put = settings::put_into<&ProbeOptions::nnodes>,
                     .fallback = "as Slurm or Open MPI tell",
                     .help = "probe over this many nodes, with safelaunch probe on each",
                     .range = {1, 100'000}},
    settings::Option{.name = "node-rank",
                     .put = settings::put_into<&ProbeOptions::node_rank>,
                     .help = "number of this node"},
    settings::Option{.name = "master-addr",
                     .put = settings::put_into<&ProbeOptions::master_addr>,
                     .value = "HOST",
                     .help = "address of node 0"},
    settings::Option{.name = "master-port",
                     .put = settings::put_into<&ProbeOptions::master_port>,
                     .fallback = "29500",
                     .help = "port of rank 0 in a job; the nodes meet 10,000 below",
                     .range = {1, 65535}},
    settings::Option{.name = "rendezvous",
                     .put = settings::put_into<&ProbeOptions::rendezvous>,
                     .value = "URL",
                     .fallback = "tcp on node 0",
                     .help = "where they meet: tcp://H:P, etcd://H:P, file:///DIR, none"},
    settings::Option{.name = "token-file",
                     .put = settings::put_into<&ProbeOptions::token_file>,
                     .value = "FILE",
                     .help = "the secret that the agents of all nodes share"},
    settings::Option{.name = "nodes-timeout",
                     .put = settings::put_into<&ProbeOptions::nodes_timeout>,
                     .fallback = "10min",
                     .help = "how long to wait for missing nodes (0 = for ever)"},
    settings::Option{.name = "html",
                     .put = settings::put_into<&ProbeOptions::html>,
                     .value = "FILE",
                     .help = "on several nodes: a page with the result of each pair"},
};

probe::ProbedProfile probe(const ProbePlan& plan, const probe::Entrant& entrant) {
  const auto outcome = probe::run_probe(spec_of(plan, entrant.environment));
  if (!outcome) return {entrant.name, probe::Untold{outcome.error().message}, ""};
  const bool refuted = probe::stopped_at(outcome->verdict).has_value();
  return {entrant.name, outcome->verdict, refuted ? probe::cause_of(*outcome) : ""};
}

std::vector<probe::ProbedProfile> hold_tournament(const ProbePlan& plan) {
  const bool show = !plan.options.json;
  const std::size_t width = longest_name(plan.profiles);
  if (show) answer(render_driver(plan.ground) + render_probe_header(width));
  const std::vector<probe::Entrant> entrants = entrants_of(plan);
  std::vector<probe::ProbedProfile> probed;
  for (const probe::Entrant& entrant : entrants) {
    const auto earlier = std::span(entrants).first(probed.size());
    std::string known = probe::reason_not_to_probe(entrant, earlier);
    probed.push_back(known.empty()
                         ? probe(plan, entrant)
                         : probe::ProbedProfile{entrant.name, probe::Untold{std::move(known)}, ""});
    if (show) answer(render_probe_row(probed.back(), plan.ground.ranks, width));
  }
  return probed;
}

/// Keeps the bandwidths for the runs that come.
void keep_measurements(const ProbePlan& plan, const std::vector<probe::ProbedProfile>& probed) {
  const int gpus = static_cast<int>(plan.ground.driver.names.size());
  if (!probe::measures_links(plan.ground.ranks, gpus) || !plan.ground.nccl.version) return;
  profile::HostKey key = plan::host_key();
  key.nccl = to_string(*plan.ground.nccl.version);
  const std::string file = probe::measured_file(plan.environment, key.hostname);
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  if (const auto saved = probe::save_measured(
          file, probe::with_results(probe::load_measured(file), key, probed, now));
      !saved)
    warn(saved.error().message);
}

int report(const ProbePlan& plan, const std::vector<probe::ProbedProfile>& probed) {
  const probe::Conclusion conclusion = probe::conclude(probed, plan.ground.ranks);
  answer(plan.options.json ? probe_json(plan.ground, probed, conclusion)
                           : render_conclusion(conclusion));
  return probe::exit_code_for(probed);
}

int run_plan(ProbePlan plan) {
  if (plan.party) return probe_over_nodes(std::move(plan));
  const auto nccl = find_nccl(plan);
  if (nccl && !plan.options.json) answer(render_nccl(plan.ground));
  plan.ground.driver =
      gpu::ask_cuda(plan.program, plan.environment, limits_of(plan.options)[probe::Phase::driver]);
  if (plan.ground.driver.names.empty())
    return refuse({Errc::peer_lost, "cannot probe: " + plan.ground.driver.why +
                                        "; without a GPU, safelaunch test tries the backends"});
  if (!nccl) return refuse({Errc::peer_lost, "cannot probe: " + nccl.error().message});
  plan.ground.ranks =
      plan.options.ranks.value_or(static_cast<int>(plan.ground.driver.names.size()));
  const auto probed = hold_tournament(plan);
  keep_measurements(plan, probed);
  return report(plan, probed);
}

int probe_words(ProbeOptions& options, std::vector<std::string>& rest) {
  options.command = std::move(rest);
  auto plan = make_probe_plan(std::move(options));
  return plan ? run_plan(std::move(*plan)) : refuse(plan.error());
}

}  // namespace

const Verb kProbeVerb{
    .name = "probe",
    .function = reads<ProbeOptions, probe_words>,
    .help = "whether the GPUs here can all_reduce, and how fast",
    .usage = "[OPTIONS] [--] [COMMAND [ARG...]]",
    .purpose =
        "Lets NCCL make a communicator and reduce over the GPUs of this host, under one profile "
        "after the other, and says which works and which is the fastest. Started on several nodes "
        "(--nnodes, or by Slurm or Open MPI once a node) it reduces over all of them, and finds "
        "the node or the link that is to blame. It does not run COMMAND, but asks its Python which "
        "NCCL it would load.",
    .example =
        "safelaunch probe --all --devices 0,1\n"
        "srun -N16 --ntasks-per-node=1 safelaunch probe --all --html probe.html",
    .options = kProbeOptions,
    .rest = settings::Rest::command};
}  // namespace safelaunch::cli
