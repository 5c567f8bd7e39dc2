#include "safelaunch/probe/node_search.h"

#include <functional>
#include <numeric>

#include "catch.h"
#include "safelaunch/probe/node_conclusion.h"

using Catch::Matchers::ContainsSubstring;

using namespace safelaunch;

using namespace safelaunch::probe;

namespace {

Verdict works(double bandwidth) {
  return Works{1, 1, bandwidth};
}

const Verdict kHangs = Hung{Phase::first_all_reduce, {0, 1}};
const Verdict kFails = Failed{{{0, Phase::init, "no way"}}};

NodeGroup seats(int count) {
  NodeGroup nodes(static_cast<std::size_t>(count));
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

bool has(const NodeGroup& nodes, int node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

/// A cluster: what a group of nodes does under a profile.
using Cluster = std::function<Verdict(const NodeGroup& nodes, std::size_t profile)>;

/// A search that has come to its end over such a cluster.
struct Search {
  NodeSearch search;
  std::vector<SearchRound> rounds;

  Search(int nodes, const Cluster& cluster, std::vector<SearchProfile> profiles = {{"basic"}},
         IllNodes ill = {})
      : search(able(nodes, ill), ill, std::move(profiles)) {
    while (const SearchRound* next = search.next()) {
      rounds.push_back(*next);
      REQUIRE(rounds.size() < 40);
      std::vector<GroupResult> results;
      NodeGroup busy;
      for (const NodeGroup& group : next->groups) {
        for (const int node : group) {
          REQUIRE_FALSE(has(busy, node));
          busy.push_back(node);
        }
        results.push_back({group, cluster(group, next->profile)});
      }
      search.take(results);
    }
  }

  static NodeGroup able(int nodes, const IllNodes& ill) {
    NodeGroup all = seats(nodes);
    std::erase_if(all, [&](int node) { return ill.contains(node); });
    return all;
  }

  const SearchFindings& found() const { return search.findings(); }
  NodeConclusion conclusion(bool slurm = false) const {
    std::map<int, std::string> hosts;
    for (int i = 0; i < 16; ++i) hosts[i] = "gpu-" + std::to_string(i);
    return conclude(found(), search.nodes(), hosts, slurm);
  }
  std::string words(bool slurm = false) const {
    std::string text;
    for (const std::string& one : conclusion(slurm).sentences) text += one + "\n";
    return text;
  }
};

Cluster bad_node(int bad, Verdict how = kHangs) {
  return [=](const NodeGroup& nodes, std::size_t) { return has(nodes, bad) ? how : works(10); };
}

}  // namespace

TEST_CASE("two healthy nodes need one round") {
  const Search two(2, [](const NodeGroup&, std::size_t) { return works(10); });
  CHECK(two.rounds.size() == 1);
  CHECK(two.conclusion().exit_code == 0);
  CHECK(two.conclusion().use == "safelaunch --profile basic -- COMMAND");
}

TEST_CASE("of healthy nodes each meets two partners, whatever their number") {
  for (const int count : {3, 4, 5, 8, 9}) {
    const Search healthy(count, [](const NodeGroup&, std::size_t) { return works(10); });
    CHECK(healthy.rounds.size() == (count % 2 == 0 ? 3U : 4U));
    CHECK(healthy.found().pairs.size() == static_cast<std::size_t>(count));
    CHECK(healthy.found().slow_nodes.empty());
    CHECK(healthy.conclusion().exit_code == 0);
  }
}

TEST_CASE("of a thousand nodes no round has more pairs than one word has room for") {
  const Search many(1'001, bad_node(700));
  CHECK(many.found().bad_nodes == std::set<int>{700});
  CHECK(many.rounds.size() <= 12);
  for (const SearchRound& round : many.rounds) {
    RoundWord word{1, round.groups};
    const std::string id(256, 'a');
    for (std::size_t i = 0; i < round.groups.size(); ++i)
      if (round.groups[i].size() > 1) word.ids[static_cast<int>(i)] = id;
    CHECK(to_text(word).size() < 128 * 1024);
  }
}

TEST_CASE("a node that fails with every partner is found, wherever it stands") {
  for (const int count : {3, 4, 5, 8, 16})
    for (int bad = 0; bad < count; ++bad) {
      const Search search(count, bad_node(bad));
      CHECK(search.found().bad_nodes == std::set<int>{bad});
      CHECK(search.found().bad_links.empty());
      CHECK(search.rounds.size() <= 8);
      CHECK(search.conclusion().exit_code == 1);
    }
}

TEST_CASE("a bad node is named with what works without it") {
  const Search search(4, bad_node(3));
  CHECK_THAT(search.words(),
             ContainsSubstring("gpu-3 fails with every partner, and alone too; without it "
                               "all_reduce works under basic"));
  CHECK(search.conclusion(true).use ==
        "srun --exclude=gpu-3 safelaunch --profile basic -- COMMAND");
  CHECK(search.conclusion(false).use == "safelaunch --profile basic -- COMMAND, without gpu-3");
}

TEST_CASE("a node whose network is ill works alone") {
  const Search search(4, [](const NodeGroup& nodes, std::size_t) {
    return has(nodes, 1) && nodes.size() > 1 ? kHangs : works(10);
  });
  CHECK(search.found().bad_nodes == std::set<int>{1});
  CHECK(search.found().fail_alone.empty());
  CHECK_THAT(search.words(), ContainsSubstring("gpu-1 fails with every partner and works alone"));
}

TEST_CASE("a healthy node between two bad ones is not blamed") {
  const Search search(8, [](const NodeGroup& nodes, std::size_t) {
    return has(nodes, 2) || has(nodes, 4) ? kFails : works(10);
  });
  CHECK(search.found().bad_nodes == std::set<int>{2, 4});
  CHECK(std::holds_alternative<Works>(*search.found().without));
}

TEST_CASE("a link is bad where both of its nodes work with others") {
  for (const int count : {3, 4, 8}) {
    const Search search(count, [](const NodeGroup& nodes, std::size_t) {
      return has(nodes, 0) && has(nodes, 1) ? kHangs : works(10);
    });
    CHECK(search.found().bad_nodes.empty());
    CHECK(search.found().bad_links == std::set<NodePair>{{0, 1}});
    CHECK_THAT(search.words(),
               ContainsSubstring("gpu-0 and gpu-1 fail with each other, and work with "
                                 "others: the link between them"));
    CHECK(search.conclusion().exit_code == 1);
  }
}

TEST_CASE("a pair that failed once and then works is no bad link") {
  int tries = 0;
  const Search search(4, [&](const NodeGroup& nodes, std::size_t) -> Verdict {
    if (nodes.size() > 2) return kHangs;
    return nodes == NodeGroup{0, 1} && tries++ == 0 ? kHangs : works(10);
  });
  CHECK(search.found().bad_links.empty());
  CHECK(search.found().bad_nodes.empty());
}

TEST_CASE("where every pair fails it is the profile, not a node") {
  const Search search(
      6, [](const NodeGroup& nodes, std::size_t) { return nodes.size() > 1 ? kFails : works(10); });
  CHECK(search.found().every_pair_fails);
  CHECK(search.found().bad_nodes.empty());
  CHECK_THAT(search.words(), ContainsSubstring("every two nodes fail under basic"));
  CHECK(search.conclusion().exit_code == 1);
}

TEST_CASE("where all hang the status is that of a hang") {
  const Search search(4, [](const NodeGroup&, std::size_t) { return kHangs; });
  CHECK(search.conclusion().exit_code == 124);
}

TEST_CASE("of two nodes that fail with each other the one that fails alone is to blame") {
  const Search search(2, bad_node(1));
  CHECK(search.found().bad_nodes == std::set<int>{1});
  CHECK(search.conclusion().exit_code == 1);
}

TEST_CASE("of two nodes that work alone the link is named") {
  const Search search(
      2, [](const NodeGroup& nodes, std::size_t) { return nodes.size() > 1 ? kHangs : works(10); });
  CHECK(search.found().every_pair_fails);
  CHECK_THAT(search.words(),
             ContainsSubstring("gpu-0 and gpu-1 fail with each other under basic; alone "
                               "each works"));
}

TEST_CASE("nodes that fail only together are halved until the smallest group is known") {
  const Search search(16, [](const NodeGroup& nodes, std::size_t) {
    const bool both = has(nodes, 0) && has(nodes, 3);  // no neighbours
    return both ? kFails : works(10);
  });
  CHECK(search.found().smallest == NodeGroup{0, 1, 2, 3});
  CHECK(search.rounds.size() <= 3 + 4);
  CHECK_THAT(search.words(),
             ContainsSubstring("every two neighbours work under basic, 4 nodes together do "
                               "not (gpu-0, gpu-1, gpu-2 and gpu-3)"));
}

TEST_CASE("a profile that fails everywhere is passed over for one that works") {
  const std::vector<SearchProfile> profiles{{"basic"}, {"no-ib"}, {"gloo-fallback", "no NCCL"}};
  const Search search(
      4,
      [](const NodeGroup& nodes, std::size_t profile) {
        return profile == 0 && nodes.size() > 1 ? kFails : works(5);
      },
      profiles);
  CHECK(search.found().works == 1U);
  CHECK(search.found().every_pair_fails);
  CHECK(search.conclusion().exit_code == 0);
  CHECK(search.conclusion().use == "safelaunch --profile no-ib -- COMMAND");
  CHECK_THAT(search.words(), ContainsSubstring("no-ib works over all 4 nodes; basic does not"));
}

TEST_CASE("a node that spoils the first profile is named although a slower one works") {
  const Search search(4,
                      [](const NodeGroup& nodes, std::size_t profile) {
                        return profile == 0 && has(nodes, 2) ? kFails
                                                             : works(profile == 0 ? 50 : 5);
                      },
                      {{"basic"}, {"no-ib"}});
  CHECK(search.found().bad_nodes == std::set<int>{2});
  CHECK(search.conclusion().exit_code == 0);
  CHECK_THAT(search.words(), ContainsSubstring("gpu-2 fails with every partner"));
}

TEST_CASE("a node that is slow with every partner is named") {
  for (const int count : {3, 4, 7, 8}) {
    const Search search(
        count, [](const NodeGroup& nodes, std::size_t) { return works(has(nodes, 1) ? 2 : 10); });
    CHECK(search.found().slow_nodes == std::set<int>{1});
    CHECK(search.found().slow_links.empty());
    CHECK(search.conclusion().exit_code == 0);  // the job runs
    CHECK_THAT(search.words(),
               ContainsSubstring("gpu-1 is slow with every partner: 2.00 GB/s at best, and 10.00"));
  }
}

TEST_CASE("a link that is slow is named, and neither of its nodes") {
  const Search search(6, [](const NodeGroup& nodes, std::size_t) {
    return works(has(nodes, 2) && has(nodes, 3) ? 3 : 10);
  });
  CHECK(search.found().slow_nodes.empty());
  CHECK(search.found().slow_links == std::set<NodePair>{{2, 3}});
  CHECK_THAT(search.words(),
             ContainsSubstring("the link between gpu-2 and gpu-3 is slow: 3.00 GB/s"));
}

TEST_CASE("what a busy host changes from one measurement to the next is not slow") {
  const Search search(
      6, [](const NodeGroup& nodes, std::size_t) { return works(has(nodes, 1) ? 6 : 10); });
  CHECK(search.found().slow_nodes.empty());
  CHECK(search.found().slow_links.empty());
}

TEST_CASE("a pair that was slow once is measured again before it is named") {
  int tries = 0;
  const Search search(4, [&](const NodeGroup& nodes, std::size_t) {
    return works(nodes == NodeGroup{0, 1} && tries++ == 0 ? 1 : 10);
  });
  CHECK(search.found().slow_links.empty());
  CHECK(search.found().slow_nodes.empty());
}

TEST_CASE("a node without a driver is left out and named") {
  const Search search(3, [](const NodeGroup&, std::size_t) { return works(10); }, {{"basic"}},
                      {{1, "no CUDA driver"}});
  CHECK_FALSE(has(search.rounds.front().groups.front(), 1));
  CHECK(search.conclusion().exit_code == 1);
  CHECK_THAT(search.words(), ContainsSubstring("gpu-1 cannot take part: no CUDA driver"));
  CHECK_THAT(search.words(), ContainsSubstring("basic works over the 2 nodes"));
  CHECK(search.conclusion(true).use ==
        "srun --exclude=gpu-1 safelaunch --profile basic -- COMMAND");
}

TEST_CASE("where no node can take part nothing can be told") {
  const Search search(2, [](const NodeGroup&, std::size_t) { return works(10); }, {{"basic"}},
                      {{0, "no CUDA driver"}, {1, "no CUDA driver"}});
  CHECK(search.rounds.empty());
  CHECK(search.conclusion().exit_code == 69);
}

TEST_CASE("a node that stops before it meets others is to blame, and the rest is probed anew") {
  NodeSearch search(seats(3), {}, {{"basic"}});
  GroupResult all{seats(3), Hung{Phase::driver, {1}}};
  all.ill = {{1, "rank 1: no answer"}};
  search.take({all});
  REQUIRE(search.next() != nullptr);
  CHECK(search.next()->groups == std::vector<NodeGroup>{{0, 2}});
  CHECK(search.findings().ill.contains(1));
}

TEST_CASE("profiles that need no probe cost no round") {
  const Search search(2, [](const NodeGroup&, std::size_t) { return works(10); },
                      {{"gloo-fallback", "gloo does without NCCL"}, {"single-gpu", "one process"}});
  CHECK(search.rounds.empty());
  CHECK(search.conclusion().exit_code == 69);
}
