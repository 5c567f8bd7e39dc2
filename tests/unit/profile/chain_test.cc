#include "safelaunch/profile/chain.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::profile;

namespace {

using Words = std::vector<std::string>;

struct Traits {
  std::string name;
  Words heals = {};
  Words worsens = {};
  Cost cost = Cost::none;
  Nodes nodes = Nodes::any;
};

Profile profile_with(Traits traits) {
  Profile result;
  result.name = std::move(traits.name);
  result.heals = std::move(traits.heals);
  result.worsens = std::move(traits.worsens);
  result.cost = traits.cost;
  result.nodes = traits.nodes;
  return result;
}

const std::vector<Profile>& chain() {
  static const std::vector<Profile> profiles{
      profile_with({"basic"}),
      profile_with({"conservative", {"mnnvl"}, {"shm-small"}, Cost::small}),
      profile_with({"no-shm", {"shm-attach"}, {}, Cost::medium}),
      profile_with({"gloo-fallback", {"no-gpu"}, {}, Cost::large})};
  return profiles;
}

const std::vector<Profile>& others() {
  static const std::vector<Profile> profiles{
      profile_with({"slow-cure", {"shm-small", "ib-peer"}, {}, Cost::large}),
      profile_with({"cumem-host", {"shm-small"}, {}, Cost::none}),
      profile_with({"loopback", {"wrong-interface"}, {}, Cost::none, Nodes::one})};
  return profiles;
}

ChainState state(const Words& tried, std::string_view cause = {}) {
  return {.chain = chain(), .known = others(), .tried = tried, .cause = cause};
}

std::string chosen(const NextProfile& next) {
  return next.profile == nullptr ? "none" : next.profile->name;
}

}  // namespace

TEST_CASE("a chain is read from lists and repeats of the option", "[chain]") {
  CHECK(parse_chain(Words{"basic,no-shm", "x.yaml"}).value() == Words{"basic", "no-shm", "x.yaml"});
  CHECK(parse_chain(Words{"a,b", "c"}).value() == Words{"a", "b", "c"});
  CHECK(parse_chain(Words{}).value().empty());
  for (const char* word : {"", ",", "a,", ",a", "a,,b"}) {
    INFO(word);
    CHECK(parse_chain(Words{word}).error().code == Errc::usage);
  }
}

TEST_CASE("without a cause the chain is walked in its order and then ends", "[chain]") {
  CHECK(chosen(next_profile(state({}))) == "basic");
  CHECK(chosen(next_profile(state({"basic"}))) == "conservative");
  CHECK(next_profile(state({"basic"})).why == "next in the chain");
  CHECK(chosen(next_profile(state({"basic", "conservative", "no-shm"}))) == "gloo-fallback");
  CHECK(chosen(next_profile(state({"basic", "conservative", "no-shm", "gloo-fallback"}))) ==
        "none");
}

TEST_CASE("what heals the cause comes first", "[chain]") {
  const NextProfile next = next_profile(state({"basic"}, "shm-attach"));

  CHECK(chosen(next) == "no-shm");
  CHECK(next.why == "heals shm-attach");
  CHECK(next.struck_out.empty());
}

TEST_CASE("a healer outside the chain is found, the cheapest first", "[chain]") {
  CHECK(chosen(next_profile(state({"basic"}, "shm-small"))) == "cumem-host");
  CHECK(chosen(next_profile(state({"basic", "cumem-host"}, "shm-small"))) == "slow-cure");
}

TEST_CASE("a healer in the chain comes before one outside it", "[chain]") {
  std::vector<Profile> mine = chain();
  mine[3].heals = {"shm-small"};
  const Words tried;
  ChainState asked = state(tried, "shm-small");
  asked.chain = mine;

  CHECK(chosen(next_profile(asked)) == "gloo-fallback");
}

TEST_CASE("what worsens the cause is struck out and named", "[chain]") {
  const NextProfile next = next_profile(state({"basic", "cumem-host", "slow-cure"}, "shm-small"));

  CHECK(chosen(next) == "no-shm");
  CHECK(next.struck_out == std::vector<StruckOut>{{"conservative", "worsens shm-small"}});
}

TEST_CASE("a healer that was tried is not tried again", "[chain]") {
  CHECK(chosen(next_profile(state({"basic", "no-shm"}, "shm-attach"))) == "conservative");
}

TEST_CASE("a profile for one node is left out of a job with more", "[chain]") {
  const Words tried{"basic"};
  ChainState asked = state(tried, "wrong-interface");
  CHECK(chosen(next_profile(asked)) == "loopback");

  asked.nodes = 2;
  const NextProfile next = next_profile(asked);
  CHECK(chosen(next) == "conservative");
  CHECK(next.struck_out ==
        std::vector<StruckOut>{{"loopback", "works on one node only, the job has 2"}});
}

TEST_CASE("whatever the causes, walking a chain ends and repeats nothing", "[chain]") {
  for (const char* cause : {"", "shm-small", "no-gpu", "mnnvl", "never-heard-of"}) {
    Words tried;
    while (const Profile* next = next_profile(state(tried, cause)).profile) {
      INFO(next->name);
      CHECK(std::find(tried.begin(), tried.end(), next->name) == tried.end());
      tried.push_back(next->name);
      REQUIRE(tried.size() <= chain().size() + others().size());
    }
    CHECK(tried.size() >= chain().size() - 1);
  }
}

TEST_CASE("of several objections the first in this order is told: worsens, nodes, hopeless",
          "[chain]") {
  const Profile all = profile_with({"all", {}, {"c"}, Cost::large, Nodes::one});
  const std::vector<StruckOut> hopeless{{"all", "the same as basic here"}};
  struct Row {
    std::string_view cause;
    int nodes;
    const char* why;
  };
  const Row rows[] = {
      {"c", 2, "worsens c"},
      {"d", 2, "works on one node only, the job has 2"},
      {"", 1, "the same as basic here"},
  };
  for (const Row& row : rows) {
    ChainState asked;
    asked.chain = {&all, 1};
    asked.cause = row.cause;
    asked.nodes = row.nodes;
    asked.hopeless = hopeless;
    const NextProfile next = next_profile(asked);
    CHECK(next.profile == nullptr);
    CHECK(next.struck_out == std::vector<StruckOut>{{"all", row.why}});
  }
}

TEST_CASE("a profile that is both in the chain and known is told once", "[chain]") {
  const std::vector<Profile> same{profile_with({"a", {"c"}, {}, Cost::large})};
  ChainState asked;
  asked.chain = same;
  asked.known = same;
  asked.cause = "c";
  const std::vector<StruckOut> slow{{"a", "slow, and --fail-on-slow is given"}};
  asked.hopeless = slow;
  CHECK(next_profile(asked).struck_out == slow);
  asked.hopeless = {};
  CHECK(chosen(next_profile(asked)) == "a");
}

TEST_CASE("healers of one cost are tried in the order in which they are known", "[chain]") {
  const std::vector<Profile> known{profile_with({"medium", {"c"}, {}, Cost::medium}),
                                   profile_with({"small-2", {"c"}, {}, Cost::small}),
                                   profile_with({"small-1", {"c"}, {}, Cost::small}),
                                   profile_with({"none", {"c"}, {}, Cost::none})};
  Words tried;
  ChainState asked;
  asked.known = known;
  asked.cause = "c";
  while (true) {
    asked.tried = tried;
    const NextProfile next = next_profile(asked);
    if (next.profile == nullptr) break;
    CHECK(next.why == "heals c");
    tried.push_back(next.profile->name);
  }
  CHECK(tried == Words{"none", "small-2", "small-1", "medium"});
}

TEST_CASE("without a cause nothing is healed, also where a profile heals the empty word",
          "[chain]") {
  const std::vector<Profile> known{profile_with({"odd", {""}, {""}})};
  ChainState asked;
  asked.known = known;
  CHECK(next_profile(asked).profile == nullptr);
  asked.chain = known;
  CHECK(next_profile(asked).why == "next in the chain");
}

TEST_CASE("an empty chain has no next profile, and nothing is struck out", "[chain]") {
  const NextProfile next = next_profile({});
  CHECK(next.profile == nullptr);
  CHECK(next.struck_out.empty());
}

TEST_CASE("a word of a chain that has an empty name is quoted in whole", "[chain]") {
  CHECK(parse_chain(Words{"a", "b,,c"}).error().message ==
        "'a,b,,c' is not a list of profiles: a name between the commas is empty");
  CHECK(parse_chain(Words{""}).error().message ==
        "'' is not a list of profiles: a name between the commas is empty");
  CHECK(parse_chain(Words{" a"}).value() == Words{" a"});
}

TEST_CASE("a profile that a chain names twice is refused, not taken for one attempt", "[chain]") {
  CHECK(parse_chain(Words{"basic,basic"}).error().message ==
        "'basic,basic' is not a list of profiles: basic is there twice");
  CHECK(parse_chain(Words{"a,b", "b,c"}).error().message ==
        "'a,b,b,c' is not a list of profiles: b is there twice");
  CHECK(parse_chain(Words{"basic,basic"}).error().code == Errc::usage);
  CHECK(parse_chain(Words{"basic,basic@2"}).value() == Words{"basic", "basic@2"});
}
