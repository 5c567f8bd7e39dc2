#include "safelaunch/probe/policy.h"

#include "catch.h"

using namespace safelaunch;

namespace {

using Actions = std::vector<CampaignAction>;

ProbeSituation eight_new_gpus() {
  ProbeSituation situation;
  situation.ranks = 8;
  situation.gpus = 8;
  return situation;
}

const ProbeVerdict kFails = ProbeFailed{{{0, ProbePhase::init, "system error"}}};

ProbeVerdict works(double gb_per_s) {
  return ProbeWorks{300, 2, gb_per_s};
}

}  // namespace

TEST_CASE("a host that is not known to work is probed") {
  CHECK(choose_to_probe(eight_new_gpus()) == ProbeChoice{true, "this host is not known to work"});
}

TEST_CASE("a host that is known to work is probed only where that is wished") {
  auto situation = eight_new_gpus();
  situation.worked_here = true;
  CHECK_FALSE(choose_to_probe(situation).probe);
  situation.wish = WhenToProbe::always;
  CHECK(choose_to_probe(situation).probe);
}

TEST_CASE("a driver is asked for GPUs that the kernel does not show, where that is wished") {
  auto situation = eight_new_gpus();
  situation.gpus = 0;
  situation.wish = WhenToProbe::always;
  CHECK(choose_to_probe(situation).probe);
}

TEST_CASE("nothing is probed where that is not wished, or cannot be") {
  auto situation = eight_new_gpus();
  SECTION("never") {
    situation.wish = WhenToProbe::never;
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
  ProbeCampaign campaign("basic");
  CHECK(campaign.on(CampaignProbed{works(100), "conservative"}).empty());
  CHECK(campaign.on(CampaignRanksEntered{}).empty());
  CHECK(campaign.refuted().empty());
}

TEST_CASE("a profile that fails is followed by the next, until one works") {
  ProbeCampaign campaign("basic");
  CHECK(campaign.on(CampaignProbed{kFails, "no-shm"}) == Actions{StartProbe{"no-shm"}});
  CHECK(campaign.on(CampaignProbed{kFails, "cumem-host"}) == Actions{StartProbe{"cumem-host"}});
  CHECK(campaign.on(CampaignProbed{works(100), ""}) ==
        Actions{SwitchProfile{"cumem-host",
                              "a probe showed that basic fails here and cumem-host works"}});
  CHECK(campaign.refuted() == std::vector<std::string>{"basic", "no-shm"});
  CHECK(campaign.on(CampaignRanksEntered{}).empty());
}

TEST_CASE("ranks that enter their communicator end a probe that has not told") {
  ProbeCampaign campaign("basic");
  CHECK(campaign.on(CampaignRanksEntered{}) == Actions{StopProbe{}});
  CHECK(campaign.on(CampaignProbed{ProbeUntold{"not wanted"}, ""}).empty());
}

TEST_CASE("the search goes on though ranks enter what is known to fail") {
  ProbeCampaign campaign("basic");
  (void)campaign.on(CampaignProbed{kFails, "no-shm"});
  CHECK(campaign.on(CampaignRanksEntered{}).empty());
  CHECK(campaign.on(CampaignProbed{works(1), ""}).size() == 1);
}

TEST_CASE("an attempt that ends takes its probe with it") {
  ProbeCampaign campaign("basic");
  (void)campaign.on(CampaignProbed{kFails, "no-shm"});
  CHECK(campaign.on(CampaignAttemptEnded{}) == Actions{StopProbe{}});
  CHECK(campaign.refuted() == std::vector<std::string>{"basic"});
}

TEST_CASE("a probe that could not tell is believed in nothing") {
  ProbeCampaign campaign("basic");
  CHECK(campaign.on(CampaignProbed{ProbeUntold{"no room beside the job"}, "no-shm"}).empty());
  CHECK(campaign.refuted().empty());
}

TEST_CASE("no profile is probed twice") {
  ProbeCampaign campaign("basic");
  (void)campaign.on(CampaignProbed{kFails, "no-shm"});
  CHECK(campaign.on(CampaignProbed{kFails, "basic"}).empty());
}
