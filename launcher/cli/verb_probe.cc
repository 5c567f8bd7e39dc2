#include "verb_probe.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "probe_nodes_text.h"
#include "safelaunch/agree/token.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/gpu/libraries.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/job/command.h"
#include "safelaunch/launch/find_program.h"
#include "safelaunch/launch/guardian.h"
#include "safelaunch/nodes/node_probe.h"
#include "safelaunch/plan/plan.h"
#include "safelaunch/plan/probe_diagnosis.h"
#include "safelaunch/probe/session.h"
#include "safelaunch/probe/tournament.h"
#include "safelaunch/profile/apply.h"
#include "safelaunch/profile/chain.h"
#include "safelaunch/profile/library.h"
#include "safelaunch/report/report.h"
#include "safelaunch/report/run_directory.h"
#include "verbs.h"

// `probe` finds the driver and the job's NCCL, lets each profile try in turn and prints a row at
// once. The room probe decides which profiles need no probe, which one wins and what the exit
// status is.
namespace safelaunch::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string version_text(const probe::NcclSurvey& nccl) {
  return nccl.version ? to_string(*nccl.version) : "of unknown version";
}

/// The cause in the catalogue's words, else what the rank said.
std::string words_for(const probe::ProbedProfile& probed) {
  if (probed.cause.empty()) return probe::reason(probed.verdict);
  return fmt::format("{} ({})", diagnose::catalogue().at(probed.cause).title, probed.cause);
}

std::string init_column(const probe::Verdict& verdict) {
  const auto* works = std::get_if<probe::Works>(&verdict);
  return works != nullptr ? fmt::format("{:.0f} ms", works->init_ms) : "-";
}

std::string bandwidth_column(const probe::Verdict& verdict) {
  const auto* works = std::get_if<probe::Works>(&verdict);
  if (works == nullptr || !works->bus_gb_per_s) return "-";
  return fmt::format("{:.{}f} GB/s", *works->bus_gb_per_s, *works->bus_gb_per_s < 10 ? 2 : 1);
}

const char* kind_of(const probe::Verdict& verdict) {
  constexpr std::array kKinds{"works", "failed", "hung", "not probed"};
  return kKinds[verdict.index()];
}

Json failures_json(const probe::Failed& failed) {
  Json failures = Json::array();
  for (const probe::RankFailure& one : failed.failures)
    failures.push_back({{"rank", one.rank}, {"phase", name(one.phase)}, {"words", one.words}});
  return failures;
}

Json row_json(const probe::ProbedProfile& probed) {
  Json row{{"profile", probed.profile}, {"verdict", kind_of(probed.verdict)}};
  if (const auto* works = std::get_if<probe::Works>(&probed.verdict)) {
    row["init_ms"] = works->init_ms;
    row["first_all_reduce_ms"] = works->first_all_reduce_ms;
    row["bus_gb_per_s"] = works->bus_gb_per_s ? Json(*works->bus_gb_per_s) : Json();
    return row;
  }
  if (const auto phase = probe::stopped_at(probed.verdict)) row["phase"] = name(*phase);
  if (const auto* hung = std::get_if<probe::Hung>(&probed.verdict)) row["ranks"] = hung->ranks;
  if (const auto* failed = std::get_if<probe::Failed>(&probed.verdict))
    row["failures"] = failures_json(*failed);
  row["why"] = probe::reason(probed.verdict);
  if (!probed.cause.empty()) row["cause"] = probed.cause;
  return row;
}

}  // namespace

// A probe's result is a table for people and an object for programs. Both are made of the same
// values.

std::string profile_json(const probe::ProbedProfile& probed) {
  return row_json(probed).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string render_nccl(const ProbeGround& ground) {
  const probe::NcclSurvey& nccl = ground.nccl;
  std::string text =
      fmt::format("NCCL {} ({}: {})", version_text(nccl), ground.nccl_origin, ground.nccl_file);
  if (!nccl.failure.empty())
    return text + fmt::format("\n  no rank could meet another: {}\n", nccl.failure);
  if (!nccl.interface.empty())
    text += fmt::format("\n  ranks meet over {} ({})", nccl.interface, nccl.address);
  return text + "\n";
}

std::string render_driver(const ProbeGround& ground) {
  const auto& gpus = ground.driver.gpus;
  const int count = static_cast<int>(gpus.size());
  std::string text =
      fmt::format("{} GPU{} ({}), CUDA {}, {} rank{}", count, count == 1 ? "" : "s", gpus.front(),
                  ground.driver.cuda, ground.ranks, ground.ranks == 1 ? "" : "s");
  if (ground.ranks > count)
    text += "\n  ranks share a GPU: what follows tells nothing of links between GPUs";
  return text + "\n";
}

std::string render_probe_header(std::size_t width) {
  return fmt::format("\n{:<{}}  {:>9}  {:>11}\n", "profile", width, "init", "bandwidth");
}

std::string render_probe_row(const probe::ProbedProfile& probed, int ranks, std::size_t width) {
  const std::string why = words_for(probed);
  const bool untold = std::holds_alternative<probe::Untold>(probed.verdict);
  return fmt::format("{:<{}}  {:>9}  {:>11}  {}{}{}\n", probed.profile, width,
                     init_column(probed.verdict), bandwidth_column(probed.verdict),
                     probe::steps(probed.verdict, ranks),
                     untold        ? ": "
                     : why.empty() ? ""
                                   : " ",
                     why);
}

std::string probe_json(const ProbeGround& ground, std::span<const probe::ProbedProfile> probed,
                       const probe::Conclusion& conclusion) {
  Json rows = Json::array();
  for (const probe::ProbedProfile& one : probed) rows.push_back(row_json(one));
  const Json object{{"nccl",
                     {{"file", ground.nccl_file},
                      {"version", ground.nccl.version ? to_string(*ground.nccl.version) : ""},
                      {"interface", ground.nccl.interface},
                      {"address", ground.nccl.address}}},
                    {"cuda", ground.driver.cuda},
                    {"gpus", ground.driver.gpus},
                    {"ranks", ground.ranks},
                    {"profiles", rows},
                    {"fastest", conclusion.profile},
                    {"conclusion", conclusion.sentence},
                    {"use", conclusion.use}};
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

constexpr settings::OptionKind kTime = settings::OptionKind::duration;

constexpr std::array kProbeOptions{
    settings::Option{.name = "profile",
                     .letter = 'p',
                     .kind = settings::OptionKind::list,
                     .put = settings::put_into<&ProbeOptions::profiles>,
                     .value = "NAME|FILE",
                     .help = "profiles to probe, repeated or with commas"},
    settings::Option{.name = "all",
                     .put = settings::put_into<&ProbeOptions::all>,
                     .help = "probe every profile, and say which is the fastest",
                     .excludes = "profile"},
    settings::Option{.name = "cluster",
                     .kind = settings::OptionKind::text,
                     .put = settings::put_into<&ProbeOptions::cluster>,
                     .value = "NAME",
                     .help = "the cluster rule to use"},
    settings::Option{.name = "config",
                     .kind = settings::OptionKind::text,
                     .put = settings::put_into<&ProbeOptions::config>,
                     .value = "FILE",
                     .help = "the configuration file"},
    settings::Option{.name = "set",
                     .kind = settings::OptionKind::texts,
                     .put = settings::put_into<&ProbeOptions::set>,
                     .value = "NAME=VALUE",
                     .help = "one variable, over every profile"},
    settings::Option{.name = "unset",
                     .kind = settings::OptionKind::texts,
                     .put = settings::put_into<&ProbeOptions::unset>,
                     .value = "NAME",
                     .help = "remove one variable"},
    settings::Option{.name = "ranks",
                     .kind = settings::OptionKind::count,
                     .put = settings::put_into<&ProbeOptions::ranks>,
                     .fallback = "one a GPU",
                     .help = "how many ranks",
                     .range = {1, 1024}},
    settings::Option{.name = "devices",
                     .kind = settings::OptionKind::text,
                     .put = settings::put_into<&ProbeOptions::devices>,
                     .value = "LIST",
                     .help = "the GPUs to use, such as 0,1"},
    settings::Option{.name = "nccl",
                     .kind = settings::OptionKind::text,
                     .put = settings::put_into<&ProbeOptions::nccl>,
                     .value = "FILE",
                     .fallback = "the one that COMMAND would load",
                     .help = "the libnccl to probe"},
    settings::Option{.name = "driver-timeout",
                     .kind = kTime,
                     .put = settings::put_into<&ProbeOptions::driver_timeout>,
                     .fallback = "30s",
                     .help = "how long the CUDA driver may take to answer"},
    settings::Option{.name = "init-timeout",
                     .kind = kTime,
                     .put = settings::put_into<&ProbeOptions::init_timeout>,
                     .fallback = "30s",
                     .help = "how long NCCL may take to make a communicator"},
    settings::Option{.name = "collective-timeout",
                     .kind = kTime,
                     .put = settings::put_into<&ProbeOptions::collective_timeout>,
                     .fallback = "20s",
                     .help = "how long the first all_reduce may take"},
    settings::Option{.name = "json",
                     .put = settings::put_into<&ProbeOptions::json>,
                     .help = "the result as JSON"},
    settings::Option{.name = "nnodes",
                     .kind = settings::OptionKind::count,
                     .put = settings::put_into<&ProbeOptions::nnodes>,
                     .fallback = "as Slurm or Open MPI tell",
                     .help = "probe over so many nodes, with safelaunch probe on each",
                     .range = {1, 100'000}},
    settings::Option{.name = "node-rank",
                     .kind = settings::OptionKind::count,
                     .put = settings::put_into<&ProbeOptions::node_rank>,
                     .help = "number of this node"},
    settings::Option{.name = "master-addr",
                     .kind = settings::OptionKind::text,
                     .put = settings::put_into<&ProbeOptions::master_addr>,
                     .value = "HOST",
                     .help = "address of node 0"},
    settings::Option{.name = "master-port",
                     .kind = settings::OptionKind::count,
                     .put = settings::put_into<&ProbeOptions::master_port>,
                     .fallback = "29500",
                     .help = "port of rank 0 in a job; the nodes meet 10,000 below",
                     .range = {1, 65535}},
    settings::Option{.name = "rendezvous",
                     .kind = settings::OptionKind::text,
                     .put = settings::put_into<&ProbeOptions::rendezvous>,
                     .value = "URL",
                     .fallback = "tcp on node 0",
                     .help = "where they meet: tcp://H:P, etcd://H:P, file:///DIR, none"},
    settings::Option{.name = "token-file",
                     .kind = settings::OptionKind::text,
                     .put = settings::put_into<&ProbeOptions::token_file>,
                     .value = "FILE",
                     .help = "the secret that the agents of all nodes share"},
    settings::Option{.name = "nodes-timeout",
                     .kind = kTime,
                     .put = settings::put_into<&ProbeOptions::nodes_timeout>,
                     .fallback = "10min",
                     .help = "how long nodes that are missing are waited for"},
    settings::Option{.name = "html",
                     .kind = settings::OptionKind::text,
                     .put = settings::put_into<&ProbeOptions::html>,
                     .value = "FILE",
                     .help = "several nodes: a page with what was seen of each pair"},
};

/// All that is needed to probe a profile.
struct Plan {
  ProbeOptions options;
  Environment environment;
  profile::Overrides config;
  profile::Overrides overrides;
  std::vector<profile::Profile> profiles;
  std::string program;
  ProbeGround ground;
  std::optional<plan::PartyPlan> party;  ///< set: several nodes
};

Result<std::vector<profile::Profile>> choose_profiles(const ProbeOptions& options,
                                                      const profile::Rules& rules,
                                                      const Environment& environment) {
  profile::ProfileLibrary library = profile::ProfileLibrary::standard(environment);
  std::vector<std::string> chain = rules.chain.empty() ? profile::default_chain() : rules.chain;
  if (options.all) return probe::chain_first(library.load_all(), chain);
  if (!options.profiles.empty()) {
    auto named = profile::parse_chain(options.profiles);
    if (!named) return named.error();
    chain = std::move(*named);
  }
  auto profiles = library.load_chain(chain, "probe");
  for (const std::string& warning : library.take_warnings()) warn(warning);
  return profiles;
}

/// The options that count nodes, as a run has them.
settings::RunOptions meeting_of(const ProbeOptions& options) {
  settings::RunOptions wishes;
  const auto give = [&](const char* name) { wishes.given[name] = {"", std::string("--") + name}; };
  if ((wishes.nnodes = options.nnodes)) give("nnodes");
  if ((wishes.node_rank = options.node_rank)) give("node-rank");
  if ((wishes.master_port = options.master_port)) give("master-port");
  if (!(wishes.master_addr = options.master_addr).empty()) give("master-addr");
  if (!(wishes.rendezvous = options.rendezvous).empty()) give("rendezvous");
  return wishes;
}

Result<Plan> make_probe_plan(ProbeOptions options) {
  Plan plan;
  plan.environment = current_environment();
  if (!options.devices.empty()) plan.environment["CUDA_VISIBLE_DEVICES"] = options.devices;
  auto configuration = plan::read_configuration(options.config, options.cluster, plan.environment);
  if (!configuration) return configuration.error();
  plan.config = configuration->rules.variables;
  auto party = plan::plan_meeting(meeting_of(options), *configuration, plan.environment, "probe");
  if (!party) return party.error();
  plan.party = std::move(*party);
  if (!plan.party && !options.html.empty())
    return Error{Errc::usage, "--html shows pairs of nodes, and there is one node (--nnodes)"};
  std::error_code none;
  if (std::filesystem::exists(options.html, none) && !report::is_report_page(options.html))
    return Error{Errc::usage,
                 fmt::format("--html {}: is there already and is no page of safelaunch's, so it is "
                             "not overwritten",
                             options.html)};
  const std::filesystem::path page = options.html;
  const std::filesystem::path folder = page.has_parent_path() ? page.parent_path() : ".";
  if (!page.empty() && access(folder.c_str(), W_OK) != 0)
    return Error{Errc::usage, fmt::format("--html {}: cannot be written: {}", options.html,
                                          std::strerror(errno))};
  auto overrides = profile::parse_overrides(options.set, options.unset);
  if (!overrides) return overrides.error();
  plan.overrides = std::move(*overrides);
  auto profiles = choose_profiles(options, configuration->rules, plan.environment);
  if (!profiles) return profiles.error();
  plan.profiles = std::move(*profiles);
  auto program = launch::find_probe_program(plan.environment);
  if (!program) return Error{Errc::peer_lost, program.error().message};
  plan.program = std::move(*program);
  plan.options = std::move(options);
  return plan;
}

/// The word for the Python whose NCCL is probed.
std::string python_of(const Plan& plan) {
  if (plan.options.command.empty()) return "python3";
  const auto no_files = [](const std::string&) { return std::optional<std::string>(); };
  return job::recognise(plan.options.command, plan.environment, no_files)
      .python.value_or("python3");
}

Environment environment_under(const profile::Profile& profile, const Plan& plan) {
  return profile::apply_profile(profile, plan.environment, plan.config, plan.overrides).environment;
}

/// Finds the libnccl; its survey, if it can be asked, is told whatever the driver does.
Result<void> find_nccl(Plan& plan) {
  ProbeGround& ground = plan.ground;
  ground.nccl_file = plan.options.nccl;
  ground.nccl_origin = "--nccl";
  if (ground.nccl_file.empty()) {
    const gpu::JobLibraries libraries = gpu::find_job_libraries(python_of(plan), plan.environment);
    for (const Finding& finding : gpu::library_findings(libraries))
      warn(fmt::format("{}; {}", finding.evidence, finding.remedy));
    if (libraries.nccl_inside_torch) warn("this torch has its NCCL inside; another copy is probed");
    if (libraries.nccl.empty())
      return Error{Errc::peer_lost,
                   "there is no libnccl.so.2 in reach of the command (--nccl FILE)"};
    ground.nccl_file = libraries.nccl.front().path;
    ground.nccl_origin = describe(libraries.nccl.front().origin);
  }
  auto survey = probe::survey_nccl(plan.program, ground.nccl_file,
                                   environment_under(plan.profiles.front(), plan));
  if (!survey) return survey.error();
  ground.nccl = std::move(*survey);
  return {};
}

probe::Limits limits_of(const ProbeOptions& options) {
  probe::Limits limits;
  if (options.driver_timeout) limits[probe::Phase::driver] = *options.driver_timeout;
  if (options.init_timeout) limits[probe::Phase::init] = *options.init_timeout;
  if (options.collective_timeout)
    limits[probe::Phase::first_all_reduce] = *options.collective_timeout;
  return limits;
}

std::vector<probe::Entrant> entrants_of(const Plan& plan) {
  std::vector<probe::Entrant> entrants;
  for (const profile::Profile& one : plan.profiles)
    entrants.push_back({one.name, one.backend, one.processes, environment_under(one, plan)});
  return entrants;
}

probe::Spec spec_of(const Plan& plan, const Environment& environment,
                    const probe::Part& part = {}) {
  const int gpus = static_cast<int>(plan.ground.driver.gpus.size());
  probe::Spec spec;
  spec.program = plan.program;
  spec.nccl = plan.ground.nccl_file;
  spec.limits = limits_of(plan.options);
  spec.part = part;
  spec.seats =
      probe::seat_ranks(plan.ground.ranks, gpus, plan.ground.nccl.version, environment, part);
  return spec;
}

probe::ProbedProfile probe(const Plan& plan, const probe::Entrant& entrant) {
  const auto outcome = probe::run_probe(spec_of(plan, entrant.environment));
  if (!outcome) return {entrant.name, probe::Untold{outcome.error().message}, ""};
  const bool refuted = probe::stopped_at(outcome->verdict).has_value();
  return {entrant.name, outcome->verdict, refuted ? plan::cause_of(*outcome) : ""};
}

std::size_t longest_name(const std::vector<profile::Profile>& profiles) {
  std::size_t width = std::string_view("profile").size();
  for (const profile::Profile& profile : profiles) width = std::max(width, profile.name.size());
  return width;
}

std::vector<probe::ProbedProfile> hold_tournament(const Plan& plan) {
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
void keep_measurements(const Plan& plan, const std::vector<probe::ProbedProfile>& probed) {
  const int gpus = static_cast<int>(plan.ground.driver.gpus.size());
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

int report(const Plan& plan, const std::vector<probe::ProbedProfile>& probed) {
  const probe::Conclusion conclusion = probe::conclude(probed, plan.ground.ranks);
  if (plan.options.json) {
    answer(probe_json(plan.ground, probed, conclusion));
  } else {
    answer(fmt::format("\n{}\n", conclusion.sentence));
    if (!conclusion.use.empty()) answer(fmt::format("use: {}\n", conclusion.use));
  }
  return probe::exit_code_for(probed);
}

// ---- several nodes ------------------------------------------------------------------------------

/// What this node can tell of itself; why it cannot take part, where it cannot.
nodes::ProbedNode look_here(Plan& plan) {
  nodes::ProbedNode here;
  const auto nccl = find_nccl(plan);
  auto driver = probe::survey_driver(plan.program, plan.environment,
                                     limits_of(plan.options)[probe::Phase::driver]);
  here.host = host::read_hostname();
  here.nccl = version_text(plan.ground.nccl);
  here.interface = plan.ground.nccl.interface;
  here.address = plan.ground.nccl.address;
  if (!nccl) here.trouble = nccl.error().message;
  if (!driver) {
    here.trouble = driver.error().message;
    return here;
  }
  const std::size_t gpus = driver->gpus.size();
  here.cuda = driver->cuda;
  here.gpus = fmt::format("{} GPU{} ({})", gpus, gpus == 1 ? "" : "s", driver->gpus.front());
  plan.ground.driver = std::move(*driver);
  plan.ground.ranks = plan.options.ranks.value_or(static_cast<int>(gpus));
  here.ranks = plan.ground.ranks;
  return here;
}

std::vector<probe::SearchProfile> profiles_to_search(const Plan& plan) {
  const std::vector<probe::Entrant> entrants = entrants_of(plan);
  std::vector<probe::SearchProfile> profiles;
  for (const probe::Entrant& one : entrants) {
    const auto earlier = std::span(entrants).first(profiles.size());
    profiles.push_back({one.name, probe::reason_not_to_probe(one, earlier)});
  }
  return profiles;
}

/// No rank gets the agents' token.
Result<probe::Spec> spec_for_nodes(const Plan& plan, const std::string& name,
                                   const probe::Part& part) {
  const auto profile = std::ranges::find(plan.profiles, name, &profile::Profile::name);
  if (profile == plan.profiles.end())
    return Error{Errc::bad_config,
                 fmt::format("there is no profile {} here; give all nodes the same options", name)};
  Environment environment = environment_under(*profile, plan);
  environment.erase(std::string(agree::kTokenVariable));
  return spec_of(plan, environment, part);
}

/// stdout is node 0's: what starts safelaunch on all nodes may mix theirs.
void tell(const std::string& line) {
  std::fputs(harmless(fmt::format("safelaunch: {}\n", line)).c_str(), stderr);
}

/// Says on node 0 what happens, row by row.
class NodesScreen final : public nodes::NodeProbeListener {
 public:
  NodesScreen(const Plan& plan, const std::vector<probe::SearchProfile>& searched)
      : plan_(plan),
        searched_(searched),
        shows_(!plan.options.json),
        width_(longest_name(plan.profiles)) {}

  void say(const std::string& line) override { tell(line); }

  void nodes_met(const nodes::ProbedNodes& nodes) override {
    nodes_ = nodes;
    if (!shows_) return;
    answer(harmless(render_nodes(nodes)) + render_probe_header(width_));
    for (const probe::SearchProfile& one : searched_)
      if (!one.known.empty())
        answer(render_probe_row({one.name, probe::Untold{one.known}, ""}, kSeveralRanks, width_));
  }

  void round_over(const probe::SearchRound& round,
                  const std::vector<probe::GroupResult>& results) override {
    if (!shows_) return;
    const std::string& profile = plan_.profiles[round.profile].name;
    if (round.purpose != probe::SearchRound::Purpose::everywhere)
      return void(answer(harmless(render_round(round, results, profile, nodes_))));
    const probe::GroupResult& all = results.front();
    const std::string row =
        render_probe_row({profile, all.verdict, all.cause}, kSeveralRanks, width_);
    const std::string at = where(all, nodes_);
    answer(
        harmless(at.empty() ? row : fmt::format("{} on {}\n", row.substr(0, row.size() - 1), at)));
  }

 private:
  static constexpr int kSeveralRanks = 2;

  const Plan& plan_;
  const std::vector<probe::SearchProfile>& searched_;
  bool shows_;
  std::size_t width_;
  nodes::ProbedNodes nodes_;
};

int report_nodes(const Plan& plan, const nodes::NodeProbeEnd& end) {
  if (!end.leads) {
    tell(end.why);
    if (plan.options.json && plan.party->placement.node == 0)
      answer(Json{{"conclusion", {end.why}}, {"status", end.exit_code}}.dump(
                 2, ' ', false, Json::error_handler_t::replace) +
             "\n");
    return end.exit_code;
  }
  std::map<int, std::string> hosts;
  for (const auto& [seat, node] : end.nodes) hosts[seat] = node.host;
  const probe::NodeConclusion conclusion =
      probe::conclude(end.findings, end.took_part, hosts, plan.party->placement.starter == "Slurm");
  if (plan.options.json) {
    answer(nodes_json(end, conclusion));
  } else {
    const std::string matrix = harmless(render_matrix(end));
    answer(fmt::format("\n{}{}", matrix, matrix.empty() ? "" : "\n"));
    for (const std::string& sentence : conclusion.sentences) answer(harmless(sentence) + "\n");
    if (!conclusion.use.empty()) answer(harmless(fmt::format("use: {}\n", conclusion.use)));
  }
  if (plan.options.html.empty()) return end.exit_code;
  if (report::write_atomically(plan.options.html, nodes_page(end, conclusion)))
    return end.exit_code;
  // All nodes end alike, so this is no other status.
  warn(fmt::format("--html {}: cannot be written: {}", plan.options.html, std::strerror(errno)));
  return end.exit_code;
}

int run_over_nodes(Plan plan) {
  nodes::NodeProbePlan probe;
  probe.here = look_here(plan);
  probe.party = *plan.party;
  probe.token_file = plan.options.token_file;
  probe.environment = plan.environment;
  probe.nodes_within = plan.options.nodes_timeout.value_or(std::chrono::minutes(10));
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

int run_plan(Plan plan) {
  if (plan.party) return run_over_nodes(std::move(plan));
  const auto nccl = find_nccl(plan);
  if (nccl && !plan.options.json) answer(render_nccl(plan.ground));
  auto driver = probe::survey_driver(plan.program, plan.environment,
                                     limits_of(plan.options)[probe::Phase::driver]);
  if (!driver) return refuse({Errc::peer_lost, "cannot probe: " + driver.error().message});
  if (!nccl) return refuse({Errc::peer_lost, "cannot probe: " + nccl.error().message});
  plan.ground.driver = std::move(*driver);
  plan.ground.ranks = plan.options.ranks.value_or(static_cast<int>(plan.ground.driver.gpus.size()));
  const auto probed = hold_tournament(plan);
  keep_measurements(plan, probed);
  return report(plan, probed);
}

int probe_words(std::span<const std::string> words) {
  ProbeOptions options;
  if (const auto status = settle(kProbeVerb, words, &options, options.command)) return *status;
  auto plan = make_probe_plan(std::move(options));
  return plan ? run_plan(std::move(*plan)) : refuse(plan.error());
}

}  // namespace

const Verb kProbeVerb{
    .name = "probe",
    .function = probe_words,
    .help = "who can all_reduce here, and how fast",
    .usage = "[OPTIONS] [--] [COMMAND [ARG...]]",
    .purpose =
        "Lets NCCL make a communicator and reduce over the GPUs of this host, under one profile "
        "after the other, and says which works and which is the fastest. Started on several nodes "
        "(--nnodes, or by Slurm or Open MPI once a node) it reduces over all of them, and finds "
        "the node or the link that is to blame. COMMAND is not run; its Python tells which NCCL it "
        "would load.",
    .example =
        "safelaunch probe --all --devices 0,1\n"
        "srun -N16 --ntasks-per-node=1 safelaunch probe --all --html probe.html",
    .options = kProbeOptions,
    .rest = settings::Rest::command};
}  // namespace safelaunch::cli
