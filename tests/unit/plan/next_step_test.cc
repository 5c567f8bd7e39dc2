#include "safelaunch/plan/next_step.h"

#include "catch.h"
#include "safelaunch/profile/library.h"

using namespace safelaunch;

using namespace safelaunch::plan;

namespace {

// A run of the default chain, or of named profiles, whose first attempt is over.
struct Story {
  RunPlan plan;
  RunProgress progress;
  diagnose::Diagnosis diagnosis;

  explicit Story(std::vector<std::string> named = {}) {
    plan.options.profiles = named;
    plan.chain_names = named.empty() ? profile::default_chain() : named;
    plan.max_attempts = static_cast<int>(plan.chain_names.size());
    for (const std::string& name : plan.chain_names)
      plan.chain.push_back(*profile::ProfileLibrary::standard({}).load(name));
    diagnosis.failure.cause = "rank-missing";
    diagnosis.decision = diagnose::FallBack{};
    progress.last = plan.chain.front();
    progress.attempts = 1;
    progress.tried = {plan.chain_names.front()};
  }

  [[nodiscard]] NextStep next() const { return next_step(plan, diagnosis, progress); }
  [[nodiscard]] std::string profile() const {
    const NextStep step = next();
    return !step.profile ? "" : step.profile->name;
  }
};

Impasse at_line(int line) {
  return {"rank-missing", Stage::group, {{Rank{1}, "train.py:" + std::to_string(line) + " f"}}};
}

}  // namespace

TEST_CASE("the chain goes on where its next profile may change something", "[next_step]") {
  Story story;
  CHECK(story.profile() == "conservative");
  story.progress.seen = {.backends = {"nccl"}, .gpu = false};
  CHECK(story.profile() == "gloo-fallback");
}

TEST_CASE("nothing is tried where no profile can change anything", "[next_step]") {
  Story story;
  story.progress.seen = {.backends = {"gloo"}, .gpu = false};
  const NextStep step = story.next();
  CHECK_FALSE(step.profile);
  CHECK(step.why == "no profile is left that could change anything");
  REQUIRE(step.struck_out.size() == 3);
  CHECK(step.struck_out[0].why ==
        "the same as basic here: nothing here reads NCCL's variables without a GPU");
  CHECK(step.struck_out[2].why == "the same as basic here: the job does not ask for NCCL");
}

TEST_CASE("a second profile that the user names is tried on any job", "[next_step]") {
  Story story({"basic", "no-p2p"});
  story.progress.seen = {.backends = {"gloo"}, .gpu = false};
  CHECK(story.profile() == "no-p2p");
}

TEST_CASE("a rank that stands at the same place again ends the chain", "[next_step]") {
  Story story({"basic", "conservative", "no-shm"});
  story.progress.impasse = at_line(50);
  CHECK(story.profile() == "conservative");
  story.progress.tried = {"basic", "conservative"};
  story.progress.attempts = 2;
  story.progress.former = {at_line(49)};
  CHECK(story.profile() == "no-shm");
  story.progress.former = {at_line(50)};
  CHECK(story.next().why ==
        "rank 1 stands in train.py:50 f again, where no profile changes anything");
  CHECK(story.profile().empty());
}

TEST_CASE("what passes by itself is tried again, but not for ever at the same place",
          "[next_step]") {
  Story story;
  story.diagnosis.decision = diagnose::RetrySame{};
  story.progress.impasse = at_line(1);
  CHECK(story.profile() == "basic");
  story.progress.former = {at_line(1)};
  CHECK(story.profile().empty());
  story.progress.former.clear();
  story.plan.options.only = true;
  CHECK(story.next().why == "--only: the job is started once");
}

TEST_CASE("a node alone starts no job of several nodes again", "[next_step]") {
  Story story;
  story.plan.spawn.emplace().nodes = 2;
  CHECK(story.profile().empty());
  CHECK(story.next().why == "one node alone cannot start a job of 2 nodes again");
}

TEST_CASE("a rank whose peers others start is not started again alone", "[next_step]") {
  Story story;
  story.plan.command.launcher = job::Launcher::python;
  story.plan.command.descendants = job::Descendants::some;
  CHECK(story.profile().empty());
  story.plan.command.launcher = job::Launcher::opaque;  // mpirun
  CHECK(story.profile() == "conservative");
  story.plan.environment["RANK"] = "1";
  CHECK(story.profile().empty());
}

TEST_CASE("the options --only and --max-attempts end the chain, and an end says so",
          "[next_step]") {
  Story story;
  story.progress.attempts = 4;
  CHECK(story.next().why == "4 attempts were made");
  story.plan.options.only = true;
  CHECK(story.next().why == "--only: the job is started once");
  story.diagnosis.decision = diagnose::Stop{diagnose::StopReason::users_own};
  CHECK(story.next().why == describe(diagnose::StopReason::users_own));
}

TEST_CASE("variables of NCCL may count unless all that is seen speaks against it", "[next_step]") {
  struct Row {
    SeenOfJob seen;
    bool counts;
  };
  const Row rows[] = {
      {{.gpu = true}, true},                                    // nobody came so far
      {{.gpu = false}, false},                                  // there is nothing to use
      {{.nccl = nccl::Version{2, 27, 3}, .gpu = false}, true},  // another node's GPU
      {{.nccl_spoke = true, .gpu = false}, true},               // whatever the host shows
      {{.backends = {"gloo"}, .gpu = true}, false},             // the job has chosen
      {{.backends = {"mpi"}, .gpu = true}, false},
      {{.backends = {"cpu:gloo,cuda:gloo"}, .gpu = true}, false},
      {{.backends = {"cpu:gloo,cuda:nccl"}, .gpu = true}, true},
      {{.backends = {"gloo", "nccl"}, .gpu = true}, true},  // one of two groups
      {{.backends = {"ucc"}, .gpu = true}, true},           // may use NCCL below
      {{.backends = {""}, .gpu = true}, true},              // torch's own choice
  };
  for (const Row& row : rows) {
    CAPTURE(row.seen.backends, row.seen.gpu);
    CHECK(may_use_nccl(row.seen) == row.counts);
  }
}

TEST_CASE("gloo in place of NCCL may change something where the job asks for NCCL", "[next_step]") {
  struct Row {
    SeenOfJob seen;
    bool changes;
  };
  const Row rows[] = {
      {{.gpu = false}, true},  // nobody came so far
      {{.backends = {"nccl"}, .gpu = false}, true},
      {{.backends = {"gloo"}, .gpu = true}, false},
      {{.backends = {"cpu:gloo,cuda:nccl"}, .gpu = true}, true},
      {{.backends = {""}, .gpu = true}, true},    // torch takes NCCL for a GPU's tensors
      {{.backends = {""}, .gpu = false}, false},  // and gloo for all others
      {{.backends = {"jax"}, .gpu = true}, false},
      {{.backends = {"gloo", "nccl"}, .gpu = true}, true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.seen.backends, row.seen.gpu);
    CHECK(may_change_to_gloo(row.seen) == row.changes);
  }
}

TEST_CASE("what heals the cause comes before what stands next in the chain", "[next_step]") {
  Story story({"basic", "conservative", "no-shm"});
  story.diagnosis.failure.cause = "shm-attach";
  CHECK(story.profile() == "no-shm");
  CHECK(story.next().why == "heals shm-attach");
}

TEST_CASE("what would make the cause worse is passed over, and the reason kept", "[next_step]") {
  Story story({"basic", "no-shm", "conservative"});
  story.diagnosis.failure.cause = "connect-failed";
  const NextStep step = story.next();
  REQUIRE(step.profile);
  CHECK(step.profile->name == "conservative");
  REQUIRE(step.struck_out.size() == 1);
  CHECK(step.struck_out.front().name == "no-shm");
}

TEST_CASE("slow profiles are refused with --fail-on-slow", "[next_step]") {
  Story story({"basic", "conservative"});
  story.plan.chain.back().cost = profile::Cost::large;
  CHECK(story.profile() == "conservative");
  story.plan.options.fail_on_slow = true;
  CHECK(story.profile().empty());
  CHECK(story.next().why == "no profile is left that could change anything");
  CHECK(story.next().struck_out ==
        std::vector<profile::StruckOut>{{"conservative", "slow, and --fail-on-slow is given"}});
}

TEST_CASE("gloo is slow only where a GPU is", "[next_step]") {
  Story story({"basic", "gloo-fallback"});
  story.plan.options.fail_on_slow = true;
  const bool has_driver = std::filesystem::exists("/proc/driver/nvidia/version");
  CHECK(story.profile() == (has_driver ? "" : "gloo-fallback"));
}

TEST_CASE("a chain of which every profile was tried is over", "[next_step]") {
  Story story({"basic"});
  story.plan.max_attempts = 5;
  CHECK(story.next().why == "every profile of the chain was tried");
}

TEST_CASE("the same profile is tried again after its pause, on the same port", "[next_step]") {
  Story story;
  story.diagnosis.decision = diagnose::RetrySame{.backoff = Duration(7'000)};
  const NextStep step = story.next();
  REQUIRE(step.profile);
  CHECK(step.profile->name == "basic");
  CHECK(step.wait == Duration(7'000));
  CHECK_FALSE(step.other_port);
  CHECK(step.why == "the same settings; this passes by itself");
}

TEST_CASE("another port is tried at once under the same profile", "[next_step]") {
  Story story;
  story.diagnosis.decision = diagnose::RetrySame{.with = diagnose::RetrySame::With::another_port};
  CHECK(story.next().other_port);
  CHECK(story.next().why == "the same settings on another port");
}

TEST_CASE("another attempt with the same settings is bounded by what the user allows",
          "[next_step]") {
  struct Row {
    bool only;
    std::optional<int> max_attempts;
    int attempts;
    bool other_port;
    const char* why;
  };
  constexpr const char* kSame = "the same settings; this passes by itself";
  constexpr const char* kPort = "the same settings on another port";
  const Row rows[] = {
      {false, std::nullopt, 1, false, kSame},
      {false, std::nullopt, 9, false, kSame},  // the chain's length bounds the chain alone
      {false, 3, 2, false, kSame},
      {false, 3, 3, false, "3 attempts were made"},
      {false, 1, 1, true, "1 attempt was made"},
      {true, std::nullopt, 1, false, "--only: the job is started once"},
      {true, std::nullopt, 1, true, "--only: the job is started once"},
      {false, std::nullopt, 1, true, kPort},
  };
  for (const Row& row : rows) {
    using With = diagnose::RetrySame::With;
    Story story;
    story.plan.options.only = row.only;
    story.plan.options.max_attempts = row.max_attempts;
    story.progress.attempts = row.attempts;
    story.diagnosis.decision =
        diagnose::RetrySame{.with = row.other_port ? With::another_port : With::nothing_new};
    CHECK(story.next().why == row.why);
  }
}

TEST_CASE("agents that have agreed may start a job of several nodes again", "[next_step]") {
  Story story;
  story.plan.spawn.emplace().nodes = 2;
  story.progress.agreed = true;
  CHECK(story.profile() == "conservative");
  story.diagnosis.failure.cause = "wrong-interface";
  for (const profile::Profile& known : story.plan.chain)
    CHECK((known.nodes == profile::Nodes::any || story.profile() != known.name));
}

TEST_CASE("a rank of somebody else's is not started again, and the words say whose",
          "[next_step]") {
  Story story;
  story.plan.command.launcher = job::Launcher::python;
  story.plan.command.descendants = job::Descendants::some;
  CHECK(story.next().why ==
        "one node alone cannot start a job whose other ranks are started elsewhere again");
  story.plan.command.nodes = job::NodeRange{4, 4};
  CHECK(story.next().why == "one node alone cannot start a job of 4 nodes again");
}

TEST_CASE("what ends a job for good is asked before all else", "[next_step]") {
  Story story;
  story.diagnosis.decision = diagnose::Stop{diagnose::StopReason::hopeless};
  story.progress.impasse = at_line(1);
  story.progress.former = {at_line(1)};
  CHECK(story.next().why == describe(diagnose::StopReason::hopeless));
  story.diagnosis.decision = diagnose::RetrySame{};
  CHECK(story.next().why ==
        "rank 1 stands in train.py:1 f again, where no profile changes anything");
}

TEST_CASE("a healer outside the chain is taken from all that are known", "[next_step]") {
  Story story({"basic"});
  story.plan.max_attempts = 5;
  const std::vector<profile::Profile> known{*profile::ProfileLibrary::standard({}).load("no-shm")};
  story.progress.known = known;
  CHECK(story.profile().empty());
  story.diagnosis.failure.cause = "shm-attach";
  CHECK(story.profile() == "no-shm");
  CHECK(story.next().why == "heals shm-attach");
}

TEST_CASE("a healer outside the chain, which heals nothing, takes no link's place", "[next_step]") {
  Story story({"basic", "gloo-fallback"});
  story.progress.seen = {.backends = {"nccl"}, .gpu = true};
  story.progress.tried = {"basic", "no-p2p"};
  story.progress.attempts = 2;
  CHECK(story.profile() == "gloo-fallback");
  story.plan.options.max_attempts = 2;
  CHECK(story.next().why == "2 attempts were made");
}
