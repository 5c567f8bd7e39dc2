#include "safelaunch/probe/node_conclusion.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::probe;

namespace {

using Sentences = std::vector<std::string>;

const Verdict kGroupWorks = Works{1, 1, 10.0};
const Verdict kGroupFails = Failed{{{0, Phase::init, "no way"}}};
const Verdict kGroupHangs = Hung{Phase::init, {0}};

/// Findings over profiles with these verdicts; the first that works is the one to use.
SearchFindings over_all(const std::vector<std::pair<std::string, Verdict>>& profiles) {
  SearchFindings found;
  for (const auto& [name, verdict] : profiles) {
    if (std::holds_alternative<Works>(verdict) && !found.works) found.works = found.over_all.size();
    found.over_all.push_back({name, verdict, ""});
  }
  return found;
}

NodeConclusion concluded(const SearchFindings& found, int nodes, bool by_name = false) {
  NodeGroup seats;
  std::map<int, std::string> hosts;
  for (int node = 0; node < nodes + static_cast<int>(found.ill.size()); ++node) {
    hosts[node] = "gpu-" + std::to_string(node);
    if (!found.ill.contains(node)) seats.push_back(node);
  }
  return conclude(found, seats, hosts, by_name);
}

Sentences said(const SearchFindings& found, int nodes) {
  return concluded(found, nodes).sentences;
}

}  // namespace

TEST_CASE("profiles are told by what they come to over all nodes", "[node_conclusion]") {
  CHECK(said(over_all({{"basic", kGroupWorks}}), 2) == Sentences{"basic works over both nodes"});
  CHECK(said(over_all({{"basic", kGroupWorks}, {"tcp", kGroupWorks}}), 3) ==
        Sentences{"basic and tcp work over all 3 nodes"});
  CHECK(said(over_all({{"basic", kGroupFails}, {"tcp", kGroupWorks}}), 3) ==
        Sentences{"tcp works over all 3 nodes; basic does not"});
  CHECK(said(over_all({{"a", kGroupFails}, {"b", kGroupHangs}, {"tcp", kGroupWorks}}), 3) ==
        Sentences{"tcp works over all 3 nodes; a and b do not"});
  CHECK(said(over_all({{"basic", kGroupHangs}}), 3) ==
        Sentences{"no profile works over all 3 nodes: basic fails"});
  CHECK(said(over_all({{"a", kGroupFails}, {"b", kGroupHangs}}), 2) ==
        Sentences{"no profile works over both nodes: a and b fail"});
  CHECK(said(over_all({{"gloo", Untold{"gloo does without NCCL"}}}), 2) ==
        Sentences{"nothing was probed"});
  CHECK(said(over_all({{"gloo", Untold{""}}, {"basic", kGroupWorks}}), 2) ==
        Sentences{"basic works over both nodes"});
}

TEST_CASE("the status tells what the probe has come to", "[node_conclusion]") {
  const auto status = [](const SearchFindings& found, int nodes = 2) {
    return concluded(found, nodes).exit_code;
  };
  CHECK(status(over_all({{"a", kGroupHangs}, {"b", kGroupWorks}})) == 0);
  CHECK(status(over_all({{"a", kGroupHangs}, {"b", kGroupFails}})) == 1);
  CHECK(status(over_all({{"a", kGroupHangs}, {"b", Untold{""}}})) == 124);
  CHECK(status(over_all({{"a", Untold{""}}})) == 69);
  CHECK(status({}) == 69);
  SearchFindings blamed = over_all({{"a", kGroupHangs}});
  blamed.bad_nodes = {1};
  CHECK(status(blamed) == 1);
  SearchFindings link = over_all({{"a", kGroupHangs}});
  link.bad_links = {{0, 1}};
  CHECK(status(link) == 1);
  SearchFindings ill = over_all({{"a", kGroupWorks}});
  ill.ill = {{2, "no driver"}};
  CHECK(status(ill) == 1);  // not all of the nodes can be used
  ill = over_all({{"a", kGroupHangs}});
  ill.ill = {{2, "no driver"}};
  CHECK(status(ill) == 1);
  ill.ill = {{0, "no driver"}};
  CHECK(concluded(ill, 0).exit_code == 124);  // no node is left that could tell more
}

TEST_CASE("nodes that cannot take part are told first, each with its reason", "[node_conclusion]") {
  SearchFindings found = over_all({{"basic", kGroupWorks}});
  found.ill = {{0, "no CUDA driver"}, {2, "rank 3: cannot load NCCL"}};
  CHECK(said(found, 2) == Sentences{"gpu-0 cannot take part: no CUDA driver",
                                    "gpu-2 cannot take part: rank 3: cannot load NCCL",
                                    "basic works over the 2 nodes"});
  CHECK(concluded(found, 2).use ==
        "safelaunch --profile basic -- COMMAND, without gpu-0 and gpu-2");
  CHECK(concluded(found, 2, true).use ==
        "srun --exclude=gpu-0,gpu-2 safelaunch --profile basic -- COMMAND");
}

TEST_CASE("a host without a name is told by its seat", "[node_conclusion]") {
  SearchFindings found = over_all({{"basic", kGroupFails}});
  found.ill = {{1, "no driver"}, {2, "no driver"}};
  const auto sentences = conclude(found, {0}, {{1, ""}}, false).sentences;
  CHECK(sentences[0] == "node 1 cannot take part: no driver");
  CHECK(sentences[1] == "node 2 cannot take part: no driver");
  CHECK(sentences[2] == "node 0 is left alone, and meets nobody");
}

TEST_CASE("bad nodes are told with what is known of them alone, and of the rest without them",
          "[node_conclusion]") {
  struct Row {
    std::set<int> bad;
    bool were_alone;
    std::set<int> fail_alone;
    std::optional<Verdict> without;
    const char* sentence;
  };
  for (const Row& row : {
           Row{{1}, false, {}, std::nullopt, "gpu-1 fails with every partner"},
           Row{{1}, true, {}, std::nullopt, "gpu-1 fails with every partner and works alone"},
           Row{{1}, true, {1}, std::nullopt, "gpu-1 fails with every partner, and alone too"},
           Row{{1, 2},
               true,
               {},
               std::nullopt,
               "gpu-1 and gpu-2 fail with every partner and work alone"},
           Row{{1, 2},
               true,
               {1, 2},
               std::nullopt,
               "gpu-1 and gpu-2 fail with every partner, and alone too"},
           Row{{1, 2},
               true,
               {2},
               std::nullopt,
               "gpu-1 and gpu-2 fail with every partner, 1 of them alone too"},
           Row{{1},
               true,
               {},
               kGroupWorks,
               "gpu-1 fails with every partner and works alone; without it all_reduce works under "
               "basic"},
           Row{{1, 2},
               true,
               {},
               kGroupWorks,
               "gpu-1 and gpu-2 fail with every partner and work alone; without them all_reduce "
               "works under basic"},
           Row{{1},
               true,
               {},
               kGroupFails,
               "gpu-1 fails with every partner and works alone; the others fail without it too"},
           Row{{1, 2},
               true,
               {},
               Untold{"stopped"},
               "gpu-1 and gpu-2 fail with every partner and work alone"},
       }) {
    SearchFindings found = over_all({{"basic", kGroupHangs}});
    found.bad_nodes = row.bad;
    found.were_alone = row.were_alone;
    found.fail_alone = row.fail_alone;
    found.without = row.without;
    found.left_out = {row.bad.begin(), row.bad.end()};
    CHECK(said(found, 6).front() == row.sentence);
  }
}

TEST_CASE("a bad node is shown by a pair of it, with the error of that pair", "[node_conclusion]") {
  SearchFindings found = over_all({{"basic", kGroupHangs}});
  found.bad_nodes = {2};
  found.pairs = {{{0, 1}, {kGroupWorks, ""}}, {{1, 2}, {kGroupFails, ""}}};
  CHECK(said(found, 4)[1] == "the pair gpu-1 and gpu-2: rank 0: no way");
}

TEST_CASE("of many bad nodes eight are named", "[node_conclusion]") {
  SearchFindings found = over_all({{"basic", kGroupHangs}});
  for (int node = 0; node < 9; ++node) found.bad_nodes.insert(node);
  CHECK(said(found, 20).front() ==
        "gpu-0, gpu-1, gpu-2, gpu-3, gpu-4, gpu-5, gpu-6, gpu-7 and 1 more fail with every "
        "partner");
}

TEST_CASE("bad links are told each, and what works without one end once", "[node_conclusion]") {
  SearchFindings found = over_all({{"basic", kGroupHangs}});
  found.bad_links = {{0, 1}, {2, 3}};
  found.left_out = {1, 3};
  found.without = kGroupWorks;
  CHECK(said(found, 6) ==
        Sentences{"gpu-0 and gpu-1 fail with each other, and work with others: the link between "
                  "them; without gpu-1 and gpu-3 all_reduce works under basic",
                  "gpu-2 and gpu-3 fail with each other, and work with others: the link between "
                  "them",
                  "no profile works over all 6 nodes: basic fails"});
  CHECK(concluded(found, 6).use ==
        "safelaunch --profile basic -- COMMAND, without gpu-1 and gpu-3");
  found.without = kGroupFails;
  CHECK(concluded(found, 6).use.empty());
  CHECK(said(found, 6).front().ends_with("; the others fail without gpu-1 and gpu-3 too"));
}

TEST_CASE("of a bad node and a bad link at once the nodes to leave out are named",
          "[node_conclusion]") {
  SearchFindings found = over_all({{"basic", kGroupHangs}});
  found.bad_nodes = {4};
  found.bad_links = {{0, 1}};
  found.left_out = {1, 4};
  found.without = kGroupWorks;
  const auto sentences = said(found, 6);
  CHECK(sentences[0] ==
        "gpu-4 fails with every partner; without gpu-1 and gpu-4 all_reduce works under basic");
  CHECK(sentences[1] ==
        "gpu-0 and gpu-1 fail with each other, and work with others: the link between them");
}

TEST_CASE("pairs that all fail are told by whether their nodes work alone", "[node_conclusion]") {
  SearchFindings found = over_all({{"basic", kGroupHangs}});
  found.every_pair_fails = true;
  CHECK(said(found, 2).front() ==
        "gpu-0 and gpu-1 fail with each other under basic; alone each works: the link between "
        "them, or the profile over it");
  CHECK(said(found, 4).front() ==
        "every two nodes fail under basic: the profile, or something that all of them share");
  found.fail_alone = {0, 1};
  CHECK(said(found, 2).front() ==
        "gpu-0 and gpu-1 fail with each other under basic; alone each fails too");
  CHECK(said(found, 4).front() ==
        "every two nodes fail under basic: the profile, or something that all of them share; alone "
        "they fail too");
}

TEST_CASE("the profile of the pairs is told, not the first", "[node_conclusion]") {
  SearchFindings found = over_all({{"basic", Untold{"no room"}}, {"tcp", kGroupHangs}});
  found.searched = 1;
  found.every_pair_fails = true;
  CHECK(said(found, 4).front().starts_with("every two nodes fail under tcp"));
}

TEST_CASE("the smallest group that fails is named, where it is not all of them",
          "[node_conclusion]") {
  SearchFindings found = over_all({{"basic", kGroupHangs}});
  found.smallest = {0, 1, 2, 3};
  CHECK(said(found, 4).front() == "every two neighbours work under basic, 4 nodes together do not");
  CHECK(said(found, 8).front() ==
        "every two neighbours work under basic, 4 nodes together do not (gpu-0, gpu-1, gpu-2 and "
        "gpu-3)");
}

TEST_CASE("slow nodes and links are told last, with what is usual", "[node_conclusion]") {
  SearchFindings found = over_all({{"basic", kGroupWorks}});
  found.slow_nodes = {1};
  found.slow_links = {{2, 3}};
  found.usual_gb_per_s = 20;
  found.pairs = {{{0, 1}, {Works{1, 1, 4.0}, ""}},
                 {{1, 2}, {Works{1, 1, 4.5}, ""}},
                 {{1, 3}, {kGroupFails, ""}},
                 {{2, 3}, {Works{1, 1, std::nullopt}, ""}}};
  CHECK(said(found, 4) ==
        Sentences{"basic works over all 4 nodes",
                  "gpu-1 is slow with every partner: 4.50 GB/s at best, and 20.00 GB/s are usual "
                  "here",
                  "the link between gpu-2 and gpu-3 is slow: 0.00 GB/s, and 20.00 GB/s are usual "
                  "here"});
}

TEST_CASE("a line takes the profile that works over all, though a bad node was found",
          "[node_conclusion]") {
  SearchFindings found = over_all({{"basic", kGroupHangs}, {"tcp", kGroupWorks}});
  found.bad_nodes = {1};
  found.left_out = {1};
  found.without = kGroupWorks;
  CHECK(concluded(found, 4).use == "safelaunch --profile tcp -- COMMAND");
  CHECK(concluded(found, 4, true).use == "safelaunch --profile tcp -- COMMAND");
  CHECK(concluded(found, 4).exit_code == 0);
}

TEST_CASE("each verdict has its word for tables", "[node_conclusion]") {
  CHECK(std::string(word_for(kGroupWorks)) == "works");
  CHECK(std::string(word_for(kGroupFails)) == "fails");
  CHECK(std::string(word_for(kGroupHangs)) == "hangs");
  CHECK(std::string(word_for(Untold{})) == "untold");
}
