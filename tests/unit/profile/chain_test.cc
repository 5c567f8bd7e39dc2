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

Profile profile(Traits traits) {
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
      profile({"basic"}), profile({"conservative", {"mnnvl"}, {"shm-small"}, Cost::small}),
      profile({"no-shm", {"shm-attach"}, {}, Cost::medium}),
      profile({"gloo-fallback", {"no-gpu"}, {}, Cost::large})};
  return profiles;
}

const std::vector<Profile>& others() {
  static const std::vector<Profile> profiles{
      profile({"slow-cure", {"shm-small", "ib-peer"}, {}, Cost::large}),
      profile({"cumem-host", {"shm-small"}, {}, Cost::none}),
      profile({"loopback", {"wrong-interface"}, {}, Cost::none, Nodes::one})};
  return profiles;
}

ChainState state(const Words& tried, std::string_view cause = {}) {
  return {.chain = chain(), .known = others(), .tried = tried, .cause = cause};
}

std::string chosen(const NextProfile& next) {
  return next.profile == nullptr ? "none" : next.profile->name;
}

}  // namespace

TEST_CASE("a chain is read from lists and repeats, and names nothing twice", "[chain]") {
  CHECK(parse_chain(Words{"basic,no-shm", "x.yaml"}).value() == Words{"basic", "no-shm", "x.yaml"});
  CHECK(parse_chain(Words{"a,b", "b,a,c"}).value() == Words{"a", "b", "c"});
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

TEST_CASE("slow profiles are left out with --fail-on-slow", "[chain]") {
  const Words tried{"basic"};
  ChainState asked = state(tried, "no-gpu");
  asked.slow = SlowProfiles::refuse;
  const NextProfile next = next_profile(asked);

  CHECK(chosen(next) == "conservative");
  CHECK(next.struck_out ==
        std::vector<StruckOut>{{"gloo-fallback", "slow, and --fail-on-slow is given"}});
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
