#include "safelaunch/probe/policy.h"

#include <functional>
#include <tuple>

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::probe;

namespace {

using PolicyActions = std::vector<CampaignAction>;

Situation eight_gpus_after_a_failure() {
  Situation situation;
  situation.moment = Moment::after_a_failure;
  situation.ranks = 8;
  situation.gpus = 8;
  return situation;
}

const Verdict kFailsAtInit = Failed{{{0, Phase::init, "system error"}}};

Verdict works_at(double gb_per_s) {
  return Works{300, 2, gb_per_s};
}

}  // namespace

TEST_CASE("after a failure in NCCL the host is probed") {
  CHECK(choose_to_probe(eight_gpus_after_a_failure()) == Choice{true, "an attempt failed in NCCL"});
}

TEST_CASE("the GPUs of a job that may be healthy are touched only where that is wished") {
  auto situation = eight_gpus_after_a_failure();
  situation.moment = Moment::beside_the_first;
  CHECK(choose_to_probe(situation) == Choice{false, "nothing has failed yet"});
  situation.wish = settings::WhenToProbe::always;
  CHECK(choose_to_probe(situation).probe);
}

TEST_CASE("a driver is asked for GPUs that the kernel does not show, where that is wished") {
  auto situation = eight_gpus_after_a_failure();
  situation.gpus = 0;
  situation.wish = settings::WhenToProbe::always;
  CHECK(choose_to_probe(situation).probe);
}

TEST_CASE("GPUs that nobody has counted are for the probe to find") {
  auto situation = eight_gpus_after_a_failure();
  situation.gpus = std::nullopt;
  situation.ranks = 9;
  CHECK(choose_to_probe(situation).probe);
}

TEST_CASE("nothing is probed where that is not wished, or cannot be") {
  auto situation = eight_gpus_after_a_failure();
  SECTION("never") {
    situation.wish = settings::WhenToProbe::never;
  }
  SECTION("no GPU") {
    situation.gpus = 0;
  }
  SECTION("unknown ranks") {
    situation.ranks = 0;
  }
  SECTION("one rank") {
    situation.ranks = 1;
  }
  SECTION("more ranks than GPUs") {
    situation.ranks = 9;
  }
  SECTION("several nodes") {
    situation.nodes = 2;
  }
  SECTION("gloo") {
    situation.profile_uses_nccl = false;
  }
  SECTION("no libnccl") {
    situation.missing = "there is no libnccl.so.2 in reach";
  }
  CHECK_FALSE(choose_to_probe(situation).probe);
  CHECK_FALSE(choose_to_probe(situation).why.empty());
}

TEST_CASE("a profile that works is left alone") {
  Campaign campaign("basic");
  CHECK(campaign.on(CampaignProbed{works_at(100), "conservative"}).empty());
  CHECK(campaign.on(CampaignRanksEntered{}).empty());
  CHECK(refuted(campaign.probed()).empty());
}

TEST_CASE("a profile that fails is followed by the next, until one works") {
  Campaign campaign("basic");
  CHECK(campaign.on(CampaignProbed{kFailsAtInit, "no-shm"}) == PolicyActions{StartProbe{"no-shm"}});
  CHECK(campaign.on(CampaignProbed{kFailsAtInit, "cumem-host"}) ==
        PolicyActions{StartProbe{"cumem-host"}});
  CHECK(campaign.on(CampaignProbed{works_at(100), ""}) ==
        PolicyActions{SwitchProfile{"cumem-host",
                                    "a probe showed that basic fails here and cumem-host works"}});
  CHECK(refuted(campaign.probed()) == std::vector<std::string>{"basic", "no-shm"});
  CHECK(campaign.on(CampaignRanksEntered{}).empty());
}

TEST_CASE("ranks that enter their communicator end a probe that has not told") {
  Campaign campaign("basic");
  CHECK(campaign.on(CampaignRanksEntered{}) == PolicyActions{StopProbe{}});
  CHECK(campaign.on(CampaignProbed{Untold{"not wanted"}, ""}).empty());
}

TEST_CASE("the search goes on though ranks enter what is known to fail") {
  Campaign campaign("basic");
  (void)campaign.on(CampaignProbed{kFailsAtInit, "no-shm"});
  CHECK(campaign.on(CampaignRanksEntered{}).empty());
  CHECK(campaign.on(CampaignProbed{works_at(1), ""}).size() == 1);
}

TEST_CASE("an attempt that ends takes its probe with it") {
  Campaign campaign("basic");
  (void)campaign.on(CampaignProbed{kFailsAtInit, "no-shm"});
  CHECK(campaign.on(CampaignAttemptEnded{}) == PolicyActions{StopProbe{}});
  CHECK(refuted(campaign.probed()) == std::vector<std::string>{"basic"});
}

TEST_CASE("a probe that could not tell is believed in nothing") {
  Campaign campaign("basic");
  CHECK(campaign.on(CampaignProbed{Untold{"no room beside the job"}, "no-shm"}).empty());
  CHECK(refuted(campaign.probed()).empty());
}

TEST_CASE("no profile is probed twice") {
  Campaign campaign("basic");
  (void)campaign.on(CampaignProbed{kFailsAtInit, "no-shm"});
  CHECK(campaign.on(CampaignProbed{kFailsAtInit, "basic"}).empty());
}

TEST_CASE("of all profiles that may follow the fastest that works is chosen") {
  Selection selection({"conservative", "no-shm", "no-p2p"});
  for (const Verdict& verdict : {kFailsAtInit, works_at(40), works_at(90)}) {
    REQUIRE(selection.probing() != nullptr);
    CHECK(selection.chosen() == (selection.probed().size() == 2 ? "no-shm" : ""));
    selection.take(verdict);
  }
  CHECK(selection.probing() == nullptr);
  CHECK(selection.chosen() == "no-p2p");
  CHECK(refuted(selection.probed()) == std::vector<std::string>{"conservative"});
}

TEST_CASE("profiles that are as fast are chosen in the chain's order, and none where none works") {
  Selection alike({"a", "b"});
  alike.take(works_at(80));
  alike.take(works_at(90));
  CHECK(alike.chosen() == "a");
  Selection none({"a", "b"});
  none.take(kFailsAtInit);
  none.take(Untold{"no room"});
  CHECK(none.chosen().empty());
  CHECK(refuted(none.probed()) == std::vector<std::string>{"a"});
  CHECK(Selection({}).chosen().empty());
}

TEST_CASE("why nothing is probed is told, the plainest reason first") {
  struct Row {
    std::function<void(Situation&)> but;
    const char* why;
  };
  using settings::WhenToProbe;
  for (const Row& row : {
           Row{[](Situation& s) {
                 s.wish = WhenToProbe::never;
                 s.gpus = 0;
               },
               "--probe never"},
           Row{[](Situation& s) {
                 s.ranks = 0;
                 s.gpus = 0;
               },
               "how many ranks come is not known"},
           Row{[](Situation& s) { s.gpus = 0; }, "there is no GPU"},
           Row{[](Situation& s) { s.missing = "there is no libnccl.so.2 in reach"; },
               "there is no libnccl.so.2 in reach"},
           Row{[](Situation& s) { s.profile_uses_nccl = false; }, "the profile does without NCCL"},
           Row{[](Situation& s) { s.ranks = 9; }, "there are more ranks than GPUs"},
           Row{[](Situation& s) { s.nodes = 2; }, "the ranks are on several nodes"},
           Row{[](Situation& s) { s.ranks = 1; }, "one rank meets nobody"},
       }) {
    auto situation = eight_gpus_after_a_failure();
    row.but(situation);
    CHECK(choose_to_probe(situation) == Choice{false, row.why});
  }
}

TEST_CASE(
    "a probe that is always wanted is obeyed wherever it could begin, and told why not elsewhere") {
  const auto chosen = [](const std::function<void(Situation&)>& but) {
    auto situation = eight_gpus_after_a_failure();
    situation.wish = settings::WhenToProbe::always;
    situation.moment = Moment::beside_the_first;
    but(situation);
    return choose_to_probe(situation);
  };
  const Choice yes{true, "--probe always"};
  CHECK(chosen([](Situation&) {}) == yes);
  CHECK(chosen([](Situation& s) { s.nodes = 2; }) == yes);
  CHECK(chosen([](Situation& s) { s.ranks = 1; }) == yes);
  CHECK(chosen([](Situation& s) {
          s.gpus = 0;
          s.ranks = 9;
        }) == yes);
  CHECK(chosen([](Situation& s) { s.ranks = 9; }) ==
        Choice{false, "there are more ranks than GPUs"});
  CHECK(chosen([](Situation& s) { s.missing = "no probe"; }) == Choice{false, "no probe"});
  CHECK(chosen([](Situation& s) { s.ranks = 0; }) ==
        Choice{false, "how many ranks come is not known"});
}

TEST_CASE("as many ranks as GPUs are probed, and two at least") {
  for (const auto& [ranks, gpus, probe] :
       {std::tuple(2, 2, true), std::tuple(2, 8, true), std::tuple(8, 8, true),
        std::tuple(3, 2, false), std::tuple(1, 1, false)}) {
    auto situation = eight_gpus_after_a_failure();
    situation.ranks = ranks;
    situation.gpus = gpus;
    CHECK(choose_to_probe(situation).probe == probe);
  }
}

TEST_CASE("a hang is followed by the next profile as a failure is") {
  Campaign campaign("basic");
  CHECK(campaign.probing() == "basic");
  CHECK(campaign.on(CampaignProbed{Hung{Phase::init, {0}}, "no-shm"}) ==
        PolicyActions{StartProbe{"no-shm"}});
  CHECK(campaign.probing() == "no-shm");
}

TEST_CASE("a search ends where a profile has no successor, or could not be told") {
  for (const Verdict& verdict : {kFailsAtInit, Verdict{Untold{"no room"}}}) {
    Campaign campaign("basic");
    (void)campaign.on(CampaignProbed{kFailsAtInit, "no-shm"});
    CHECK(campaign.on(CampaignProbed{verdict, verdict == kFailsAtInit ? "" : "next"}).empty());
    CHECK(campaign.on(CampaignProbed{works_at(1), ""}).empty());  // it is over
    CHECK(campaign.on(CampaignAttemptEnded{}).empty());
    CHECK(campaign.probed().size() == 2);
  }
}

TEST_CASE("after a switch nothing is stopped a second time") {
  Campaign campaign("basic");
  (void)campaign.on(CampaignProbed{kFailsAtInit, "no-shm"});
  (void)campaign.on(CampaignProbed{works_at(1), ""});
  CHECK(campaign.on(CampaignAttemptEnded{}).empty());
}

TEST_CASE("a failure without ranks refutes nothing") {
  const std::vector<ProbedProfile> probed{{"a", Failed{}, ""}, {"b", Hung{Phase::init, {}}, ""}};
  CHECK(refuted(probed) == std::vector<std::string>{"b"});
  CHECK(refuted({}).empty());
}
