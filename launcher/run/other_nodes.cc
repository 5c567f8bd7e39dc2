#include "other_nodes.h"

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/nodes/node_evidence.h"
#include "safelaunch/nodes/node_facts.h"

// Before the first attempt the leader puts the facts of all nodes side by side. After an attempt it
// asks, in this order: is a node gone, has one not started its ranks, has one failed? Only then the
// ranks are to blame, and the words of all nodes become the evidence of one diagnosis.
namespace safelaunch::run {
namespace {

// Containers of one image may all be called "localhost": their seats then tell them apart.
std::string name_among(const std::map<std::string, int>& nodes_by_host, const std::string& host,
                       int seat) {
  return nodes_by_host.at(host) > 1 ? fmt::format("{} (node {})", host, seat) : host;
}

std::map<std::string, nodes::NodeFacts> facts_by_name(const LeadersNode& here,
                                                      const OtherNodes& others) {
  std::map<std::string, int> hosts{{here.host, 1}};
  for (const auto& [seat, node] : others) ++hosts[node.name.host];
  std::map<std::string, nodes::NodeFacts> facts;
  facts[name_among(hosts, here.host, 0)] = nodes::facts_from(here.news.facts);
  for (const auto& [seat, node] : others)
    facts[name_among(hosts, node.name.host, seat)] = nodes::facts_from(node.news.facts);
  return facts;
}

// Ranks that were ended for another node's sake have not failed by themselves.
void take_failed_of(const std::vector<OtherNode>& others, int attempt, AttemptRecord& record) {
  for (const OtherNode& node : others) {
    if (node.news.phase == agree::NodePhase::stopped) continue;  // by us, for another's sake
    const Result<ranks::NodePicture> picture = ranks::picture_from(node.news.ranks);
    if (picture && picture->attempt == attempt)
      nodes::add_failed(node.name.seat, picture->ranks, record.ranks);
  }
}

}  // namespace

std::vector<int> workers_of_nodes(int nodes, const agree::NodeNews& here, const OtherNodes& others,
                                  const profile::Profile& profile) {
  std::vector<int> workers(static_cast<std::size_t>(nodes), 0);
  workers.front() = here.workers;
  for (const auto& [seat, node] : others)
    if (static_cast<std::size_t>(seat) < workers.size())
      workers[static_cast<std::size_t>(seat)] = node.news.workers;
  // A number in the profile is one for each node, and goes before the nodes' own.
  if (profile.processes) std::ranges::fill(workers, *profile.processes);
  return workers;
}

nodes::Mesh mesh_of(const LeadersNode& here, const OtherNodes& others) {
  nodes::Mesh mesh;
  const auto add = [&](int seat, const std::string& host, const agree::NodeNews& news) {
    nodes::MeshNode& node = mesh[seat];
    node.host = host;
    node.doors = nodes::doors_from(news.doors);
    if (!news.ways.empty()) node.ways = nodes::ways_from(news.ways);
  };
  add(0, here.host, here.news);
  for (const auto& [seat, node] : others) add(seat, node.name.host, node.news);
  return mesh;
}

NodesReady compare_nodes(const LeadersNode& here, const OtherNodes& others) {
  NodesReady ready;
  if (here.news.blocked && !here.news.findings.empty()) ready.blocked = here.news.findings.front();
  for (const auto& [seat, node] : others) {
    if (node.news.blocked && !node.news.findings.empty()) {
      if (ready.blocked.empty())
        ready.blocked =
            fmt::format("{} (node {}) is {}", node.name.host, seat, node.news.findings.front());
      continue;
    }
    for (const std::string& line : node.news.findings)
      ready.lines.push_back(fmt::format("{} (node {}): {}", node.name.host, seat, line));
  }
  for (const std::string& line : nodes::differences(facts_by_name(here, others)))
    ready.lines.push_back("risk: " + line);
  ready.findings = nodes::mesh_findings(mesh_of(here, others));
  return ready;
}

std::vector<ranks::NodeName> names_of(const std::set<int>& seats, const LeadersNode& here,
                                      const OtherNodes& others) {
  std::vector<ranks::NodeName> names;
  for (const int seat : seats) {
    const auto other = others.find(seat);
    const std::string host = seat == 0               ? here.host
                             : other == others.end() ? std::string()
                                                     : other->second.name.host;
    names.push_back({seat, host});
  }
  return names;
}

// A failure must never read as 0 on the other nodes, so one without a status of its own gets 125.
int status_for_others(const AttemptRecord& record, const diagnose::Evidence& evidence) {
  if (went_well(record) || record.gave_way) return 0;
  const int code =
      diagnose::exit_status_of(evidence, diagnose::diagnose(evidence, diagnose::catalogue()));
  // At a signal the ranks may save, and end well.
  return code != 0 || record.signal ? code : exit_code_of(Errc::os);
}

// Where this node's attempt was ended because another's had failed, that one's end is the job's.
void take_end_of(const std::vector<OtherNode>& others, int attempt, AttemptRecord& record) {
  if (!went_well(record) && !record.gave_way) return;
  const auto failed = std::ranges::find_if(
      others, [](const OtherNode& node) { return node.news.end && node.news.end->exit_code != 0; });
  if (failed == others.end()) return;
  record.gave_way = false;
  record.ended_elsewhere = true;
  record.command = ExitStatus{Exited{failed->news.end->exit_code}};
  take_failed_of(others, attempt, record);
}

std::vector<std::string> add_words_of(const std::vector<OtherNode>& others,
                                      diagnose::Evidence& evidence) {
  std::vector<std::string> troubles;
  std::map<int, std::string> hosts;
  for (const OtherNode& node : others) hosts[node.name.seat] = node.name.host;
  nodes::add_hosts(hosts, evidence);
  for (const OtherNode& node : others) {
    if (!node.news.end || node.news.end->diagnosis.empty()) continue;
    const auto added = nodes::add_evidence(node.news.end->diagnosis, node.name, evidence);
    if (!added) troubles.push_back(added.error().message);
  }
  return troubles;
}

namespace {

std::string describe_lost(const std::vector<ranks::NodeName>& lost, bool by_slurm) {
  std::vector<std::string> names;
  std::vector<std::string> hosts;
  for (const ranks::NodeName& node : lost) {
    names.push_back(node.host.empty() ? fmt::format("node {}", node.seat)
                                      : fmt::format("node {} ({})", node.seat, node.host));
    // Slurm's names of nodes have no domain, those of the kernel may.
    if (!node.host.empty()) hosts.push_back(node.host.substr(0, node.host.find('.')));
  }
  const std::string told =
      fmt::format("no word from {} for too long; the job was stopped", list_in_words(names));
  if (!by_slurm || hosts.empty()) return told;
  return fmt::format("{}; Slurm starts the job elsewhere with --exclude={}", told,
                     join(hosts, ","));
}

}  // namespace

std::optional<EndOfNodes> end_of_nodes(const std::vector<OtherNode>& others,
                                       const std::vector<ranks::NodeName>& lost, bool by_slurm) {
  if (!lost.empty())
    return EndOfNodes{exit_code_of(Errc::peer_lost), describe_lost(lost, by_slurm)};
  const auto idle = std::ranges::find_if(others, [](const OtherNode& node) {
    return node.news.end && !node.news.end->trouble.empty();
  });
  if (idle == others.end()) return std::nullopt;
  return EndOfNodes{idle->news.end->exit_code,
                    fmt::format("node {} ({}) has not started its ranks: {}", idle->name.seat,
                                idle->name.host, idle->news.end->trouble)};
}

}  // namespace safelaunch::run
