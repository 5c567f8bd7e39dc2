#include <numeric>

#include "catch.h"
#include "safelaunch/base/format.h"
#include "safelaunch/probe/node_conclusion.h"
#include "safelaunch/probe/node_search.h"

// Small clusters with every pattern of broken links there is. The search's findings on each are
// held against the truth.

using namespace safelaunch;

using namespace safelaunch::probe;

namespace {

using Links = std::set<NodePair>;

std::vector<NodePair> all_links(int nodes) {
  std::vector<NodePair> links;
  for (int one = 0; one < nodes; ++one)
    for (int other = one + 1; other < nodes; ++other) links.emplace_back(one, other);
  return links;
}

Links chosen_links(const std::vector<NodePair>& links, unsigned pattern) {
  Links chosen;
  for (std::size_t i = 0; i < links.size(); ++i)
    if ((pattern >> i & 1U) != 0) chosen.insert(links[i]);
  return chosen;
}

bool holds_one_of(const NodeGroup& nodes, const Links& links) {
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (std::size_t j = i + 1; j < nodes.size(); ++j)
      if (links.contains(pair_of(nodes[i], nodes[j]))) return true;
  return false;
}

/// A cluster in which a group works where all of its links do.
struct PatternCluster {
  Links broken{};
  Links slow{};
  std::set<int> fail_alone{};

  Verdict operator()(const NodeGroup& nodes) const {
    if (nodes.size() == 1 && !fail_alone.contains(nodes.front())) return Works{1, 1, std::nullopt};
    for (const int node : nodes)
      if (fail_alone.contains(node)) return Failed{{{node, Phase::init, "it is ill"}}};
    if (holds_one_of(nodes, broken)) return Hung{Phase::init, {nodes.front()}};
    return Works{1, 1, holds_one_of(nodes, slow) ? 1.0 : 10.0};
  }
};

struct PatternSearch {
  NodeSearch search;
  std::size_t rounds = 0;

  PatternSearch(int nodes, const PatternCluster& cluster)
      : search(seats_to(nodes), {}, {{"basic"}}) {
    for (; search.next() != nullptr && rounds < 30; ++rounds) {
      std::vector<GroupResult> results;
      for (const NodeGroup& group : search.next()->groups)
        results.push_back({group, cluster(group)});
      search.take(results);
    }
  }

  static NodeGroup seats_to(int nodes) {
    NodeGroup seats(static_cast<std::size_t>(nodes));
    std::iota(seats.begin(), seats.end(), 0);
    return seats;
  }

  const SearchFindings& found() const { return search.findings(); }
  NodeConclusion conclusion() const { return conclude(found(), search.nodes(), {}, false); }
};

bool was_seen_to_work(const SearchFindings& found, int node) {
  for (const auto& [pair, seen] : found.pairs)
    if ((pair.first == node || pair.second == node) && std::holds_alternative<Works>(seen.verdict))
      return true;
  return false;
}

/// The finding that contradicts the truth; empty: none does.
std::string lie_about_broken(int nodes, const PatternCluster& cluster, const PatternSearch& run) {
  const SearchFindings& found = run.found();
  const bool healthy = cluster.broken.empty();
  if (run.search.next() != nullptr) return "it does not end";
  if (found.works.has_value() != healthy) return "whether all work together";
  if (!std::ranges::includes(cluster.broken, found.bad_links)) return "a link that works is blamed";
  for (const auto& [one, other] : found.bad_links)
    if (!was_seen_to_work(found, one) || !was_seen_to_work(found, other))
      return "a link is blamed though a node may be bad";
  for (const int bad : found.bad_nodes) {
    bool met_proved = false;
    for (const auto& [pair, seen] : found.pairs) {
      if (pair.first != bad && pair.second != bad) continue;
      if (std::holds_alternative<Works>(seen.verdict)) return "a node that has worked is blamed";
      met_proved =
          met_proved || was_seen_to_work(found, pair.first == bad ? pair.second : pair.first);
    }
    if (!met_proved) return "a node is blamed that has met no proved partner";
  }
  if (found.every_pair_fails)
    for (const auto& [pair, seen] : found.pairs)
      if (!cluster.broken.contains(pair)) return "not every pair fails";
  if (!found.smallest.empty() && !holds_one_of(found.smallest, cluster.broken))
    return "the smallest group works";
  const bool blames = !found.bad_nodes.empty() || !found.bad_links.empty() ||
                      found.every_pair_fails || !found.smallest.empty();
  if (blames == healthy) return "who is blamed where all is well, or nobody where it is not";
  if (found.without) {
    NodeGroup rest = PatternSearch::seats_to(nodes);
    std::erase_if(rest, [&](int node) {
      return std::ranges::find(found.left_out, node) != found.left_out.end();
    });
    if (*found.without != cluster(rest)) return "what the others come to";
  }
  const NodeConclusion end = run.conclusion();
  const bool rest_works = found.without && std::holds_alternative<Works>(*found.without);
  if (end.use.empty() != !(healthy || rest_works)) return "a line that does not work, or none";
  if (healthy ? end.exit_code != 0 : end.exit_code != 1 && end.exit_code != 124)
    return "the exit status";
  return "";
}

}  // namespace

TEST_CASE("over every pattern of broken links of up to five nodes the search tells no lie",
          "[node_patterns]") {
  for (int nodes = 2; nodes <= 5; ++nodes) {
    const auto links = all_links(nodes);
    std::size_t longest = 0;
    for (unsigned pattern = 0; pattern < 1U << links.size(); ++pattern) {
      const PatternCluster cluster{.broken = chosen_links(links, pattern)};
      const PatternSearch run(nodes, cluster);
      longest = std::max(longest, run.rounds);
      const std::string lie = lie_about_broken(nodes, cluster, run);
      if (!lie.empty()) FAIL_CHECK(nodes << " nodes, pattern " << pattern << ": " << lie);
    }
    CHECK(longest <= 8);
  }
}

TEST_CASE("of up to six nodes each set that cannot be reached is found, where a pair is left",
          "[node_patterns]") {
  for (int nodes = 3; nodes <= 6; ++nodes)
    for (unsigned pattern = 1; pattern < 1U << nodes; ++pattern) {
      std::set<int> bad;
      for (int node = 0; node < nodes; ++node)
        if ((pattern >> node & 1U) != 0) bad.insert(node);
      PatternCluster cluster;
      for (const NodePair& link : all_links(nodes))
        if (bad.contains(link.first) || bad.contains(link.second)) cluster.broken.insert(link);
      const PatternSearch run(nodes, cluster);
      INFO(nodes << " nodes, pattern " << pattern);
      // With no two good neighbours in the ring nothing is proved: then no node is named.
      if (run.found().every_pair_fails)
        CHECK(run.found().bad_nodes.empty());
      else
        CHECK(run.found().bad_nodes == bad);
      CHECK(run.found().bad_links.empty());
    }
}

TEST_CASE("a healthy node among many bad ones is cleared by a proved partner", "[node_patterns]") {
  // Only 0, 1 and 6 are well, and 6 stands between two bad ones.
  for (const int nodes : {8, 9, 10, 12}) {
    PatternCluster cluster;
    const std::set<int> well{0, 1, 6};
    for (const NodePair& link : all_links(nodes))
      if (!well.contains(link.first) || !well.contains(link.second)) cluster.broken.insert(link);
    const PatternSearch run(nodes, cluster);
    std::set<int> bad;
    for (int node = 0; node < nodes; ++node)
      if (!well.contains(node)) bad.insert(node);
    INFO(nodes);
    CHECK(run.found().bad_nodes == bad);
    CHECK(run.found().left_out == NodeGroup(bad.begin(), bad.end()));
    CHECK(run.found().without == Verdict{Works{1, 1, 10.0}});
  }
}

TEST_CASE("of two nodes and of more those that fail alone are named, unless all do",
          "[node_patterns]") {
  for (int nodes = 2; nodes <= 5; ++nodes)
    for (unsigned pattern = 1; pattern < 1U << nodes; ++pattern) {
      PatternCluster cluster;
      for (int node = 0; node < nodes; ++node)
        if ((pattern >> node & 1U) != 0) cluster.fail_alone.insert(node);
      const PatternSearch run(nodes, cluster);
      INFO(nodes << " nodes, pattern " << pattern);
      CHECK(run.search.next() == nullptr);
      if (cluster.fail_alone.size() == static_cast<std::size_t>(nodes))
        CHECK(run.found().bad_nodes.empty());
      else
        CHECK(run.found().bad_nodes == cluster.fail_alone);
      CHECK(run.conclusion().exit_code == 1);
    }
}

TEST_CASE("over every pattern of slow links of up to five nodes only slow ones are named",
          "[node_patterns]") {
  for (int nodes = 2; nodes <= 5; ++nodes) {
    const auto links = all_links(nodes);
    for (unsigned pattern = 0; pattern < 1U << links.size(); ++pattern) {
      const PatternCluster cluster{.slow = chosen_links(links, pattern)};
      const PatternSearch run(nodes, cluster);
      const SearchFindings& found = run.found();
      INFO(nodes << " nodes, pattern " << pattern);
      bool truth = run.search.next() == nullptr && found.works && found.bad_nodes.empty() &&
                   found.bad_links.empty() && run.conclusion().exit_code == 0 &&
                   std::ranges::includes(cluster.slow, found.slow_links);
      for (const int node : found.slow_nodes)
        for (const auto& [pair, seen] : found.pairs)
          if (pair.first == node || pair.second == node)
            truth = truth && cluster.slow.contains(pair);
      if (cluster.slow.empty()) truth = truth && found.slow_nodes.empty();
      if (!truth) FAIL_CHECK("it names what is not slow");
    }
  }
}

TEST_CASE("a slow node is named alone, and where all are slow none is", "[node_patterns]") {
  for (int nodes = 3; nodes <= 6; ++nodes) {
    PatternCluster all_slow;
    for (const NodePair& link : all_links(nodes)) all_slow.slow.insert(link);
    CHECK(PatternSearch(nodes, all_slow).found().slow_nodes.empty());
    for (int slow = 0; slow < nodes; ++slow) {
      PatternCluster cluster;
      for (const NodePair& link : all_links(nodes))
        if (link.first == slow || link.second == slow) cluster.slow.insert(link);
      const PatternSearch run(nodes, cluster);
      CHECK(run.found().slow_nodes == std::set<int>{slow});
      CHECK(run.found().slow_links.empty());
    }
  }
}

TEST_CASE("a link that fails among slow ones is bad, and slowness is not looked for",
          "[node_patterns]") {
  const PatternSearch run(4, {.broken = {{0, 1}}, .slow = {{2, 3}}});
  CHECK(run.found().bad_links == Links{{0, 1}});
  CHECK(run.found().slow_links.empty());
}

TEST_CASE("a bad link and a bad node at once are told apart", "[node_patterns]") {
  // 5 reaches nobody; 0 and 1 do not reach each other.
  PatternCluster cluster{.broken = {{0, 1}}};
  for (int node = 0; node < 5; ++node) cluster.broken.insert({node, 5});
  const PatternSearch run(6, cluster);
  CHECK(run.found().bad_nodes == std::set<int>{5});
  CHECK(run.found().bad_links == Links{{0, 1}});
  CHECK(run.found().left_out == NodeGroup{1, 5});
  CHECK(std::holds_alternative<Works>(*run.found().without));
}

TEST_CASE("of links that share a node that node is left out, whatever its seat",
          "[node_patterns]") {
  for (const int hub : {0, 3, 5}) {
    PatternCluster cluster;
    // Both its neighbours in the ring, so that both links are probed; it works with the others.
    cluster.broken = {pair_of(hub, (hub + 1) % 6), pair_of(hub, (hub + 5) % 6)};
    const PatternSearch run(6, cluster);
    INFO(hub);
    CHECK(run.found().bad_nodes.empty());
    CHECK(run.found().bad_links == cluster.broken);
    CHECK(run.found().left_out == NodeGroup{hub});
    CHECK(std::holds_alternative<Works>(*run.found().without));
  }
}

TEST_CASE("three nodes that fail only together are told so", "[node_patterns]") {
  NodeSearch search(PatternSearch::seats_to(3), {}, {{"basic"}});
  for (int round = 0; search.next() != nullptr && round < 10; ++round) {
    std::vector<GroupResult> results;
    for (const NodeGroup& group : search.next()->groups)
      results.push_back(
          {group, group.size() > 2 ? Verdict{Hung{Phase::init, {0}}} : Verdict{Works{1, 1, 10.0}}});
    search.take(results);
  }
  CHECK(search.next() == nullptr);
  CHECK(search.findings().smallest == NodeGroup{0, 1, 2});
  CHECK(conclude(search.findings(), search.nodes(), {}, false).sentences.front() ==
        "every two neighbours work under basic, 3 nodes together do not");
}

// ---- answers that contradict each other, or do not come -----------------------------------------

namespace {

/// Plays a search over verdicts that a test makes up by the purpose of the round.
template <class Answer>
NodeSearch played(int nodes, Answer answer, std::vector<SearchProfile> profiles = {{"basic"}}) {
  NodeSearch search(PatternSearch::seats_to(nodes), {}, std::move(profiles));
  for (int round = 0; search.next() != nullptr && round < 30; ++round) {
    const SearchRound now = *search.next();
    std::vector<GroupResult> results;
    for (const NodeGroup& group : now.groups) results.push_back({group, answer(now, group)});
    search.take(results);
  }
  CHECK(search.next() == nullptr);
  return search;
}

using Purpose = SearchRound::Purpose;

}  // namespace

TEST_CASE("all that fail together and then work in every group blame nobody", "[node_patterns]") {
  const auto search = played(8, [](const SearchRound& round, const NodeGroup&) -> Verdict {
    if (round.purpose == Purpose::everywhere) return Hung{Phase::init, {0}};
    return Works{1, 1, 10.0};
  });
  CHECK(search.findings().bad_nodes.empty());
  CHECK(search.findings().bad_links.empty());
  CHECK(search.findings().smallest.size() == 8);
  CHECK(conclude(search.findings(), search.nodes(), {}, false).exit_code == 124);
}

TEST_CASE("a pair that fails once though all work together is told as a link that failed",
          "[node_patterns]") {
  const auto search = played(4, [](const SearchRound& round, const NodeGroup& group) -> Verdict {
    if (round.purpose != Purpose::everywhere && group == NodeGroup{0, 1})
      return Failed{{{0, Phase::init, "no"}}};
    return Works{1, 1, 10.0};
  });
  CHECK(search.findings().slow_links == Links{{0, 1}});
  const NodeConclusion end = conclude(search.findings(), search.nodes(), {}, false);
  CHECK(end.exit_code == 0);
  CHECK(
      end.sentences.back() ==
      "the link between node 0 and node 1 is slow: it failed once, and 10.00 GB/s are usual here");
}

TEST_CASE("suspects that all work when they are probed again are cleared", "[node_patterns]") {
  const auto search = played(6, [](const SearchRound& round, const NodeGroup& group) -> Verdict {
    const bool first = round.purpose == Purpose::everywhere || round.purpose == Purpose::pairs;
    const bool with_three = std::ranges::find(group, 3) != group.end();
    if (first && with_three) return Failed{{{0, Phase::init, "no"}}};
    return Works{1, 1, 10.0};
  });
  CHECK(search.findings().bad_nodes.empty());
}

TEST_CASE("profiles of which none could be told end the search without a pair", "[node_patterns]") {
  int rounds = 0;
  const auto search = played(4,
                             [&](const SearchRound&, const NodeGroup&) -> Verdict {
                               ++rounds;
                               return Untold{"stopped"};
                             },
                             {{"basic"}, {"no-shm"}});
  CHECK(rounds == 2);
  CHECK(search.findings().pairs.empty());
  CHECK(conclude(search.findings(), search.nodes(), {}, false).exit_code == 69);
}

TEST_CASE("pairs are probed under the first profile that could be told", "[node_patterns]") {
  const auto search = played(3,
                             [](const SearchRound& round, const NodeGroup&) -> Verdict {
                               if (round.profile == 0) return Untold{"no room"};
                               return Hung{Phase::init, {0}};
                             },
                             {{"basic"}, {"no-shm"}, {"no-ib"}});
  CHECK(search.findings().searched == 1);
}

TEST_CASE("nodes that stop by themselves are left out until two are left", "[node_patterns]") {
  NodeSearch search(PatternSearch::seats_to(5), {}, {{"basic"}});
  for (const int ill : {4, 2, 0}) {
    REQUIRE(search.next() != nullptr);
    GroupResult result{search.next()->groups.front(), Failed{{{0, Phase::driver, "no"}}}};
    result.ill = {{ill, "rank 7: node " + std::to_string(ill) + " has no driver"}};
    search.take({result});
  }
  REQUIRE(search.next() != nullptr);
  CHECK(search.next()->groups == std::vector<NodeGroup>{{1, 3}});
  CHECK(search.findings().ill == IllNodes{{0, "rank 7: node 0 has no driver"},
                                          {2, "rank 7: node 2 has no driver"},
                                          {4, "rank 7: node 4 has no driver"}});
}

TEST_CASE("a node that is left alone ends the search, and is told", "[node_patterns]") {
  NodeSearch search(PatternSearch::seats_to(2), {}, {{"basic"}});
  GroupResult result{{0, 1}, Hung{Phase::driver, {0}}};
  result.ill = {{0, "rank 0: no answer within the deadline"}};
  search.take({result});
  CHECK(search.next() == nullptr);
  const NodeConclusion end = conclude(search.findings(), search.nodes(), {{1, "gpu-1"}}, false);
  CHECK(end.sentences ==
        std::vector<std::string>{"node 0 cannot take part: rank 0: no answer within the deadline",
                                 "gpu-1 is left alone, and meets nobody"});
  CHECK(end.exit_code == 1);
  CHECK(end.use.empty());
}

TEST_CASE("pairs that could not be told blame nobody, nor clear anybody", "[node_patterns]") {
  // Node 3 is reached by nobody who could tell.
  const auto untold_pairs = [](Verdict together) {
    return played(5, [=](const SearchRound& round, const NodeGroup& group) -> Verdict {
      if (round.purpose == Purpose::everywhere) return together;
      if (std::ranges::find(group, 3) != group.end()) return Untold{"it was not probed"};
      return Works{1, 1, 10.0};
    });
  };
  for (const Verdict& together : {Verdict{Hung{Phase::init, {0}}}, Verdict{Works{1, 1, 10.0}}}) {
    const auto search = untold_pairs(together);
    CHECK(search.findings().bad_nodes.empty());
    CHECK(search.findings().bad_links.empty());
    CHECK(search.findings().slow_nodes.empty());
    CHECK(search.findings().slow_links.empty());
    CHECK(search.findings().smallest.empty());  // not every two neighbours work
  }
}

TEST_CASE("where no pair at all could be told nothing is said of pairs", "[node_patterns]") {
  const auto search = played(4, [](const SearchRound& round, const NodeGroup&) -> Verdict {
    if (round.purpose == Purpose::everywhere) return Hung{Phase::init, {0}};
    return Untold{"it was not probed"};
  });
  CHECK_FALSE(search.findings().every_pair_fails);
  CHECK(conclude(search.findings(), search.nodes(), {}, false).sentences ==
        std::vector<std::string>{"no profile works over all 4 nodes: basic fails"});
}

TEST_CASE("a bad node beside one that could not be told is found", "[node_patterns]") {
  const auto search = played(6, [](const SearchRound& round, const NodeGroup& group) -> Verdict {
    const auto holds = [&](int node) { return std::ranges::find(group, node) != group.end(); };
    if (round.purpose == Purpose::everywhere) return Hung{Phase::init, {0}};
    if (holds(1)) return Hung{Phase::init, {0}};
    if (holds(3)) return Untold{"it was not probed"};
    return Works{1, 1, 10.0};
  });
  CHECK(search.findings().bad_nodes == std::set<int>{1});
}
