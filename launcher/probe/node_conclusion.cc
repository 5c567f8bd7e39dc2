#include "safelaunch/probe/node_conclusion.h"

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/base/result.h"
#include "safelaunch/base/strings.h"

// The sentences go from what keeps a job from running at all (nodes that cannot take part, bad
// nodes and links) to what only costs time. The line to use leaves a node out only where the search
// has seen the others work without it.
namespace safelaunch::probe {
namespace {

// More names than these make no sentence clearer.
constexpr std::size_t kMostNames = 8;

/// Makes the sentences, with the names of hosts in place of numbers.
class Words {
 public:
  Words(const SearchFindings& findings, const NodeGroup& nodes,
        const std::map<int, std::string>& hosts)
      : found_(findings), nodes_(nodes), hosts_(hosts) {}

  [[nodiscard]] std::vector<std::string> sentences() {
    say_ill();
    say_bad_nodes();
    say_bad_links();
    say_every_pair();
    say_smallest();
    say_profiles();
    say_slow();
    return std::move(said_);
  }

  [[nodiscard]] std::string host(int node) const {
    const auto known = hosts_.find(node);
    return known != hosts_.end() && !known->second.empty() ? known->second
                                                           : fmt::format("node {}", node);
  }

 private:
  template <class Nodes>
  [[nodiscard]] std::string list(const Nodes& nodes) const {
    std::vector<std::string> names;
    for (const int node : nodes)
      if (names.size() < kMostNames) names.push_back(host(node));
    if (names.size() == nodes.size()) return list_in_words(names);
    return fmt::format("{} and {} more", join(names, ", "), nodes.size() - names.size());
  }

  [[nodiscard]] std::string link(const NodePair& pair) const {
    return fmt::format("{} and {}", host(pair.first), host(pair.second));
  }

  [[nodiscard]] const std::string& searched() const {
    return found_.over_all[found_.searched].profile;
  }

  void say_ill() {
    for (const auto& [node, why] : found_.ill)
      said_.push_back(fmt::format("{} cannot take part: {}", host(node), why));
    if (nodes_.size() == 1 && !found_.ill.empty())
      said_.push_back(fmt::format("{} is left alone, and meets nobody", host(nodes_.front())));
  }

  [[nodiscard]] std::string without() const {
    if (!found_.without || std::holds_alternative<Untold>(*found_.without)) return "";
    const bool several = found_.left_out.size() > 1;
    const char* them = several ? "them" : "it";
    if (std::holds_alternative<Works>(*found_.without))
      return fmt::format("; without {} all_reduce works under {}",
                         found_.bad_links.empty() ? them : list(found_.left_out), searched());
    return fmt::format("; the others fail without {} too",
                       found_.bad_links.empty() ? them : list(found_.left_out));
  }

  [[nodiscard]] std::string alone(const std::set<int>& nodes) const {
    if (!found_.were_alone) return "";
    const auto ill =
        std::ranges::count_if(nodes, [&](int node) { return found_.fail_alone.contains(node); });
    const bool all = static_cast<std::size_t>(ill) == nodes.size();
    if (ill > 0) return all ? ", and alone too" : fmt::format(", {} of them alone too", ill);
    return nodes.size() == 1 ? " and works alone" : " and work alone";
  }

  void say_bad_nodes() {
    if (found_.bad_nodes.empty()) return;
    said_.push_back(fmt::format("{} {} with every partner{}{}", list(found_.bad_nodes),
                                found_.bad_nodes.size() == 1 ? "fails" : "fail",
                                alone(found_.bad_nodes), without()));
    const auto shown = std::ranges::find_if(found_.pairs, [&](const auto& one) {
      return found_.bad_nodes.contains(one.first.first) ||
             found_.bad_nodes.contains(one.first.second);
    });
    if (shown == found_.pairs.end()) return;
    const std::string why = reason(shown->second.verdict);
    if (!why.empty()) said_.push_back(fmt::format("the pair {}: {}", link(shown->first), why));
  }

  void say_bad_links() {
    for (const NodePair& pair : found_.bad_links)
      said_.push_back(fmt::format(
          "{} fail with each other, and work with others: the link between them{}", link(pair),
          pair == *found_.bad_links.begin() && found_.bad_nodes.empty() ? without() : ""));
  }

  void say_every_pair() {
    if (!found_.every_pair_fails) return;
    const bool ill = !found_.fail_alone.empty();
    if (nodes_.size() == 2)
      said_.push_back(
          fmt::format("{} and {} fail with each other under {}; alone each {}", host(nodes_[0]),
                      host(nodes_[1]), searched(),
                      ill ? "fails too" : "works: the link between them, or the profile over it"));
    else
      said_.push_back(
          fmt::format("every two nodes fail under {}: the profile, or something that "
                      "all of them share{}",
                      searched(), ill ? "; alone they fail too" : ""));
  }

  void say_smallest() {
    if (found_.smallest.empty()) return;
    said_.push_back(fmt::format(
        "every two neighbours work under {}, {} nodes together do not{}", searched(),
        found_.smallest.size(),
        found_.smallest.size() < nodes_.size() ? fmt::format(" ({})", list(found_.smallest)) : ""));
  }

  void say_profiles() {
    std::vector<std::string> working;
    std::vector<std::string> failing;
    for (const ProbedProfile& one : found_.over_all) {
      if (std::holds_alternative<Works>(one.verdict)) working.push_back(one.profile);
      if (stopped_at(one.verdict)) failing.push_back(one.profile);
    }
    const std::string over = !found_.ill.empty() ? fmt::format(" over the {} nodes", nodes_.size())
                             : nodes_.size() == 2
                                 ? std::string(" over both nodes")
                                 : fmt::format(" over all {} nodes", nodes_.size());
    if (working.empty() && failing.empty()) return;
    if (working.empty())
      return said_.push_back(fmt::format("no profile works{}: {} {}", over, list_in_words(failing),
                                         failing.size() == 1 ? "fails" : "fail"));
    said_.push_back(fmt::format(
        "{} {}{}{}", list_in_words(working), working.size() == 1 ? "works" : "work", over,
        failing.empty() ? ""
                        : fmt::format("; {} {} not", list_in_words(failing),
                                      failing.size() == 1 ? "does" : "do")));
  }

  [[nodiscard]] double best_of(int node) const {
    double best = 0;
    for (const auto& [pair, seen] : found_.pairs)
      if (pair.first == node || pair.second == node)
        if (const auto* works = std::get_if<Works>(&seen.verdict))
          best = std::max(best, works->bus_gb_per_s.value_or(0));
    return best;
  }

  void say_slow() {
    for (const int node : found_.slow_nodes)
      said_.push_back(fmt::format(
          "{} is slow with every partner: {:.2f} GB/s at best, and {:.2f} GB/s are usual here",
          host(node), best_of(node), found_.usual_gb_per_s));
    for (const NodePair& pair : found_.slow_links) {
      const auto* works = std::get_if<Works>(&found_.pairs.at(pair).verdict);
      said_.push_back(fmt::format(
          "the link between {} is slow: {}, and {:.2f} GB/s are usual here", link(pair),
          works == nullptr ? std::string("it failed once")
                           : fmt::format("{:.2f} GB/s", works->bus_gb_per_s.value_or(0)),
          found_.usual_gb_per_s));
    }
  }

  const SearchFindings& found_;
  const NodeGroup& nodes_;
  const std::map<int, std::string>& hosts_;
  std::vector<std::string> said_;
};

/// The nodes without which the rest works, as far as the search has shown it.
std::vector<int> nodes_to_leave_out(const SearchFindings& findings) {
  std::vector<int> nodes;
  for (const auto& [node, why] : findings.ill) nodes.push_back(node);
  if (!findings.works && findings.without && std::holds_alternative<Works>(*findings.without))
    nodes.insert(nodes.end(), findings.left_out.begin(), findings.left_out.end());
  return nodes;
}

std::string use_line(const SearchFindings& findings, const Words& words, bool excludes_by_name) {
  const std::vector<int> leave_out = nodes_to_leave_out(findings);
  const bool rest_works =
      findings.works || (findings.without && std::holds_alternative<Works>(*findings.without));
  if (!rest_works) return "";
  const std::string profile = findings.over_all[findings.works.value_or(findings.searched)].profile;
  const std::string command = fmt::format("safelaunch --profile {} -- COMMAND", profile);
  if (leave_out.empty()) return command;
  std::vector<std::string> names;
  for (const int node : leave_out) names.push_back(words.host(node));
  if (excludes_by_name) return fmt::format("srun --exclude={} {}", join(names, ","), command);
  return fmt::format("{}, without {}", command, list_in_words(names));
}

int status_of(const SearchFindings& findings, std::size_t nodes) {
  if (findings.works) return findings.ill.empty() ? 0 : 1;
  const bool blames = !findings.bad_nodes.empty() || !findings.bad_links.empty();
  if (blames || (nodes > 0 && !findings.ill.empty())) return 1;
  return exit_code_for(findings.over_all);
}

}  // namespace

const char* word_for(const Verdict& verdict) {
  if (std::holds_alternative<Works>(verdict)) return "works";
  if (std::holds_alternative<Failed>(verdict)) return "fails";
  return std::holds_alternative<Hung>(verdict) ? "hangs" : "untold";
}

NodeConclusion conclude(const SearchFindings& findings, const NodeGroup& nodes,
                        const std::map<int, std::string>& hosts, bool excludes_by_name) {
  Words words(findings, nodes, hosts);
  NodeConclusion conclusion;
  conclusion.exit_code = status_of(findings, nodes.size());
  conclusion.use = use_line(findings, words, excludes_by_name);
  conclusion.sentences = words.sentences();
  if (conclusion.sentences.empty()) conclusion.sentences = {"nothing was probed"};
  return conclusion;
}

}  // namespace safelaunch::probe
