#include <algorithm>

#include "catch.h"
#include "safelaunch/plan/plan.h"
#include "temporary_folder.h"

// --dry-run prints a plan that was made as that of a run: only how much of the chain is read at
// once is another.

using namespace safelaunch;

using namespace safelaunch::plan;
using safelaunch::testing::TemporaryFolder;
using Words = std::vector<std::string>;

namespace {

const Environment kHome{{"HOME", "/proc/nonexistent"}, {"NCCL_DEBUG", "WARN"}};

struct Typed {
  const char* what;
  Words command;
  void (*change)(settings::RunOptions& options);
};

const Typed kTyped[] = {
    {"a launcher", {"torchrun", "--nproc-per-node=4", "t.py"}, [](auto&) {}},
    {"a launcher's port", {"torchrun", "--master-port=29501", "t.py"}, [](auto&) {}},
    {"several nodes",
     {"torchrun", "--nnodes=2", "--node-rank=1", "--master-addr=n0", "t.py"},
     [](auto&) {}},
    {"deepspeed", {"deepspeed", "--num_gpus", "2", "t.py"}, [](auto&) {}},
    {"accelerate", {"accelerate", "launch", "--num_processes", "2", "t.py"}, [](auto&) {}},
    {"opaque", {"./run.sh", "a b"}, [](auto&) {}},
    {"mistakes", {"deepspeed", "--master_port", "0", "t.py", "--x"}, [](auto&) {}},
    {"own workers", {"./t", "x"}, [](settings::RunOptions& o) { o.nproc_per_node = "3"; }},
    {"own workers of two nodes",
     {"./t"},
     [](settings::RunOptions& o) {
       o.nproc_per_node = "2";
       o.nnodes = 2;
       o.node_rank = 1;
       o.master_addr = "[fd00::1]";
     }},
    {"a chain of one's own",
     {"torchrun", "t.py"},
     [](settings::RunOptions& o) {
       o.profiles = {"no-shm,basic", "gloo-fallback"};
     }},
    {"the first alone", {"torchrun", "t.py"}, [](settings::RunOptions& o) { o.only = true; }},
    {"attempts", {"torchrun", "t.py"}, [](settings::RunOptions& o) { o.max_attempts = 9; }},
    {"variables",
     {"torchrun", "t.py"},
     [](settings::RunOptions& o) {
       o.set = {"NCCL_TIMEOUT=5", "A=1"};
       o.unset = {"NCCL_DEBUG"};
     }},
    {"idle options",
     {"torchrun", "t.py"},
     [](settings::RunOptions& o) {
       o.prefix = true;
       o.given["binding"] = {"numa", "--binding"};
     }},
};

RunPlan planned(const Typed& typed, bool dry_run) {
  settings::RunOptions options;
  options.command = typed.command;
  typed.change(options);
  options.dry_run = dry_run;
  RunPlan plan = make_plan(options, {}, kHome).value();
  REQUIRE(read_rest_of_chain(plan).has_value());
  std::ranges::sort(plan.warnings);  // those of later profiles come when these are read
  return plan;
}

}  // namespace

TEST_CASE("a plan that is shown is the plan of the run", "[dry_run]") {
  for (const Typed& typed : kTyped) {
    INFO(typed.what);
    const RunPlan shown = planned(typed, true);
    const RunPlan run = planned(typed, false);
    CHECK(shown.command.argv == run.command.argv);
    CHECK(shown.command.launcher == run.command.launcher);
    CHECK(shown.chain_names == run.chain_names);
    CHECK(shown.chain_origin == run.chain_origin);
    CHECK(shown.max_attempts == run.max_attempts);
    CHECK(shown.warnings == run.warnings);
    CHECK(shown.port_policy() == run.port_policy());
    CHECK(shown.nodes() == run.nodes());
    CHECK(shown.others_start_ranks() == run.others_start_ranks());
    CHECK(job_of(shown) == job_of(run));
    REQUIRE(shown.spawn.has_value() == run.spawn.has_value());
    if (run.spawn) {
      CHECK(shown.spawn->workers == run.spawn->workers);
      CHECK(shown.spawn->start_rank == run.spawn->start_rank);
      CHECK(shown.spawn->world_size == run.spawn->world_size);
      CHECK(shown.spawn->master_addr == run.spawn->master_addr);
    }
    REQUIRE(shown.party.has_value() == run.party.has_value());
    if (run.party) {
      CHECK(shown.party->placement == run.party->placement);
      CHECK(shown.party->address == run.party->address);
      CHECK(shown.party->certain == run.party->certain);
    }
    REQUIRE(shown.chain.size() == run.chain.size());
    for (std::size_t i = 0; i < run.chain.size(); ++i) {
      CHECK(shown.chain[i].name == run.chain[i].name);
      const auto a = shown.environment_under(shown.chain[i]);
      const auto b = run.environment_under(run.chain[i]);
      CHECK(a.environment == b.environment);
      CHECK(a.differences == b.differences);
    }
  }
}

TEST_CASE("what a plan that is shown refuses, the run refuses in the same words", "[dry_run]") {
  struct Row {
    Words command;
    void (*change)(settings::RunOptions& options);
    const char* refusal;
  };
  const Row rows[] = {
      {{"torchrun", "t.py"},
       [](settings::RunOptions& o) { o.nproc_per_node = "2"; },
       "--nproc-per-node 2 makes safelaunch spawn the workers, and torchrun spawns its own; give "
       "the option to one of the two"},
      {{"./t"},
       [](settings::RunOptions& o) { o.nproc_per_node = "4097"; },
       "--nproc-per-node 4097: a node has at most 4096 ranks"},
      {{"./t"},
       [](settings::RunOptions& o) { o.nnodes = 2; },
       "several nodes need --master-addr: the address of node 0"},
      {{"torchrun", "t.py"},
       [](settings::RunOptions& o) { o.rendezvous = "tcp://h:5"; },
       "--rendezvous tcp://h:5: this is a job of one node; say how many there are (--nnodes, or "
       "the launcher's own option)"},
      {{"torchrun", "t.py"},
       [](settings::RunOptions& o) { o.set = {"A"}; },
       "--set A: write NAME=VALUE"},
      {{"torchrun", "t.py"},
       [](settings::RunOptions& o) {
         o.profiles = {"basic", "no-smh"};
       },
       "--profile: there is no profile 'no-smh'; did you mean 'no-shm'?"},
      {{"torchrun", "t.py"},
       [](settings::RunOptions& o) { o.profiles = {"basic,,no-shm"}; },
       "'basic,,no-shm' is not a list of profiles: a name between the commas is empty"},
  };
  for (const Row& row : rows) {
    for (const bool dry_run : {true, false}) {
      settings::RunOptions options;
      options.command = row.command;
      row.change(options);
      options.dry_run = dry_run;
      const auto plan = make_plan(options, {}, kHome);
      CHECK((plan.has_error() ? plan.error().message : "accepted") == row.refusal);
    }
  }
}

TEST_CASE("a plan reads the first of a built-in chain, and all of what is shown", "[dry_run]") {
  settings::RunOptions options;
  options.command = {"torchrun", "t.py"};
  CHECK(make_plan(options, {}, kHome)->chain.size() == 1);
  options.dry_run = true;
  CHECK(make_plan(options, {}, kHome)->chain.size() == 4);
  const TemporaryFolder folder;
  options.dry_run = false;
  options.profiles = {"basic", folder.write("mine.yaml", "extends: no-shm")};
  CHECK(make_plan(options, {}, kHome)->chain.size() == 2);
}

TEST_CASE("a job is known by its launcher and its script's whole path", "[dry_run]") {
  const auto job = [](Words command, const char* workers = "") {
    settings::RunOptions options;
    options.command = std::move(command);
    options.nproc_per_node = workers;
    return job_of(make_plan(options, {}, kHome).value());
  };
  const std::string here = std::filesystem::current_path().native();
  CHECK(job({"torchrun", "t.py", "--lr", "1"}) == "torchrun " + here + "/t.py");
  CHECK(job({"torchrun", "./x/../t.py"}) == "torchrun " + here + "/t.py");
  CHECK(job({"torchrun", "/a/t.py"}) == "torchrun /a/t.py");
  CHECK(job({"torchrun", "-m", "pkg.train"}) == "torchrun pkg.train");
  CHECK(job({"./run.sh"}) == "command " + here + "/run.sh");
  CHECK(job({"true"}) == "command true");
  CHECK(job({"true"}, "2") == "safelaunch true");
}

TEST_CASE("a cost is told with the profile's own words", "[dry_run]") {
  profile::Profile profile;
  CHECK(cost_in_words(profile) == "none");
  profile.cost = profile::Cost::large;
  profile.description = "gloo over TCP";
  CHECK(cost_in_words(profile) == "large (gloo over TCP)");
}

TEST_CASE("what each layer of a plan knows of secrets is taken out of what is told", "[dry_run]") {
  RunPlan plan;
  plan.environment = {{"HF_TOKEN", "canary-in-env-1"}};
  plan.overrides.env["WANDB_API_KEY"] = {"canary-in-set-2", {}};
  plan.configuration.rules.variables.env["MY_SECRET"] = {"canary-in-file-3", {}};
  plan.chain.emplace_back().env["MY_PASSWORD"] = {"canary-in-profile-4", {}};
  plan.options.command = {"torchrun", "t.py", "--api-key", "canary-in-argv-5"};
  const std::string told =
      "canary-in-env-1 canary-in-set-2 canary-in-file-3 canary-in-profile-4 canary-in-argv-5 end";
  const std::string redacted = redactor_for(plan).redact(told);
  CHECK(redacted.find("canary") == std::string::npos);
  CHECK(redacted.ends_with(" end"));
}

TEST_CASE("gloo costs something only where there is a GPU", "[dry_run]") {
  settings::RunOptions options;
  options.command = {"torchrun", "t.py"};
  const RunPlan plan = make_plan(options, {}, kHome).value();
  profile::Profile gloo;
  gloo.cost = profile::Cost::large;
  gloo.backend = profile::Backend::gloo;
  const bool has_driver = std::filesystem::exists("/proc/driver/nvidia/version");
  CHECK(cost_in_words(plan, gloo).starts_with(has_driver ? "large" : "none (gloo"));
}
