#include "launcher/run/attempt_spec.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::plan;
using namespace safelaunch::ranks;
using namespace safelaunch::run;
using namespace std::chrono_literals;

namespace {

/// An attempt under a profile of the test's own.
struct Settled {
  RunPlan plan;
  profile::Profile profile;
  std::optional<int> port;
  std::optional<HookDoor> hook;
  std::filesystem::path directory;
  bool by_loopback = false;
  std::optional<agree::Decision> agreed{};

  explicit Settled(std::vector<std::string> command = {"torchrun", "--nproc-per-node=4",
                                                       "train.py"},
                   const std::string& workers = {}) {
    settings::RunOptions options;
    options.command = std::move(command);
    options.nproc_per_node = workers;
    plan = *make_plan(options, {}, {{"HOME", "/proc/nonexistent"}, {"MINE", "1"}});
    profile.name = "mine";
  }

  [[nodiscard]] Result<SettledAttempt> settle() const {
    return safelaunch::run::settle({.plan = plan,
                                    .profile = profile,
                                    .number = 2,
                                    .run_id = "a-run",
                                    .directory = directory,
                                    .port = port,
                                    .agreed = agreed,
                                    .by_loopback = by_loopback,
                                    .hook = hook,
                                    .nccl = {},
                                    .streams = {}});
  }
  [[nodiscard]] AttemptSpec spec() const { return settle()->spec; }
  [[nodiscard]] Environment environment() const { return spec().workers.front().environment; }
};

Settled settled_own_spawn() {
  return Settled({"python3", "train.py"}, "2");
}

}  // namespace

TEST_CASE("every process of a job carries whose it is", "[attempt_spec]") {
  Settled attempt;
  attempt.plan.environment["SAFELAUNCH_KEEP"] = "1";  // meant for safelaunch itself
  const Environment environment = attempt.environment();
  CHECK(environment.at("SAFELAUNCH_RUN_ID") == "a-run");
  CHECK(environment.at("SAFELAUNCH_ATTEMPT") == "2");
  CHECK_FALSE(environment.at("SAFELAUNCH_OWNER").empty());
  CHECK_FALSE(environment.contains("SAFELAUNCH_KEEP"));
  CHECK(environment.at("MINE") == "1");
}

TEST_CASE("where the host's name leads nowhere torchrun is told the loopback, unless the user said",
          "[attempt_spec]") {
  Settled attempt;
  CHECK_FALSE(attempt.environment().contains("PET_LOCAL_ADDR"));
  attempt.by_loopback = true;
  CHECK(attempt.environment().at("PET_LOCAL_ADDR") == "127.0.0.1");
  attempt.plan.environment["PET_LOCAL_ADDR"] = "10.0.0.5";
  CHECK(attempt.environment().at("PET_LOCAL_ADDR") == "10.0.0.5");
}

TEST_CASE("a launcher waits for nodes where their agents were not found, or not to be looked for",
          "[attempt_spec][bug]") {
  Settled attempt({"torchrun", "--nnodes=2", "--nproc-per-node=2", "train.py"});
  attempt.plan.party.reset();  // --rendezvous none
  CHECK(attempt.spec().stages.awaited_nodes == 2);
  attempt.plan.party.emplace();
  CHECK(attempt.spec().stages.awaited_nodes == 2);
  attempt.agreed.emplace();  // its agent leads those of the other nodes
  CHECK(attempt.spec().stages.awaited_nodes == 2);
  CHECK(attempt.spec().stages.nodes_have_met);
  Settled elastic({"torchrun", "--nnodes=1:2", "--nproc-per-node=2", "train.py"});
  elastic.plan.party.emplace();
  CHECK(elastic.spec().stages.awaited_nodes < 2);
}

TEST_CASE("the deadlines are the profile's where the user has named none", "[attempt_spec]") {
  Settled attempt;
  attempt.profile.timeouts.init = 7s;
  attempt.profile.timeouts.stall = {9s};
  attempt.plan.options.quiet_timeout = 3s;
  const AttemptSpec spec = attempt.spec();
  CHECK(spec.stages.limits.init == 7s);
  CHECK(spec.stages.limits.quiet == 3s);
  CHECK(spec.stall == StallTimeout{9s});
}

TEST_CASE("a launcher's command is started once, and its world is known", "[attempt_spec]") {
  const AttemptSpec spec = Settled().spec();
  REQUIRE(spec.workers.size() == 1);
  CHECK_FALSE(spec.workers.front().rank);
  CHECK(spec.stages.world_size == 4);
  CHECK(spec.stages.ranks_here == 4);
  CHECK(spec.stages.expected_here.empty());
}

TEST_CASE("workers of our own are started one by one with their ranks", "[attempt_spec]") {
  Settled attempt = settled_own_spawn();
  attempt.port = 23456;
  const AttemptSpec spec = attempt.spec();
  REQUIRE(spec.workers.size() == 2);
  CHECK(spec.workers[1].rank == Rank{1});
  CHECK(spec.workers[1].environment.at("RANK") == "1");
  CHECK(spec.workers[1].environment.at("WORLD_SIZE") == "2");
  CHECK(spec.workers[1].environment.at("MASTER_PORT") == "23456");
  CHECK(spec.stages.expected_here == std::vector<Rank>{Rank{0}, Rank{1}});
  CHECK(spec.stages.world_size == 2);
}

TEST_CASE("what a dead rank means is the launcher's to say", "[attempt_spec]") {
  const auto meaning = [](const std::vector<std::string>& command) {
    return Settled(command).spec().stages.dead_rank;
  };
  CHECK(meaning({"torchrun", "train.py"}) == watch::DeadRank::ends_the_job);
  CHECK(meaning({"torchrun", "--max-restarts=3", "train.py"}) == watch::DeadRank::is_restarted);
  CHECK(meaning({"deepspeed", "train.py"}) == watch::DeadRank::ends_the_job);
  CHECK(meaning({"./run.sh"}) == watch::DeadRank::hangs_the_others);
  CHECK(settled_own_spawn().spec().stages.dead_rank == watch::DeadRank::ends_the_job);
}

TEST_CASE("a profile changes the script's arguments, not the launcher's", "[attempt_spec]") {
  Settled attempt({"torchrun", "train.py", "--batch", "8"});
  attempt.profile.args.append = {"--debug"};
  CHECK(attempt.spec().workers.front().argv ==
        std::vector<std::string>{"torchrun", "train.py", "--batch", "8", "--debug"});
}

TEST_CASE("where no script can be told in a command its arguments cannot be changed",
          "[attempt_spec]") {
  Settled attempt({"./run.sh"});
  attempt.profile.args.append = {"--debug"};
  const auto settled = attempt.settle();
  REQUIRE_FALSE(settled.has_value());
  CHECK(settled.error().code == Errc::usage);
}

TEST_CASE("a profile with fewer processes makes a smaller world", "[attempt_spec]") {
  Settled attempt = settled_own_spawn();
  attempt.profile.processes = 1;
  const AttemptSpec spec = attempt.spec();
  CHECK(spec.workers.size() == 1);
  CHECK(spec.stages.world_size == 1);
  CHECK(spec.stages.expected_here.size() == 1);
}

TEST_CASE("the leased port stands where the launcher looks for it", "[attempt_spec]") {
  Settled attempt({"torchrun", "--master-port=29500", "train.py"});
  attempt.port = 23456;
  const auto argv = attempt.spec().workers.front().argv;
  CHECK(argv[1] == "--master-port=23456");
}

TEST_CASE("the hook is put into the ranks where there is a door for it", "[attempt_spec]") {
  Settled attempt;
  CHECK_FALSE(attempt.environment().contains("SAFELAUNCH_HOOK"));
  attempt.hook = HookDoor{"/cache/hook", {}, "@safelaunch/hook/x", "secret"};
  CHECK(attempt.environment().at("SAFELAUNCH_HOOK") == "@safelaunch/hook/x");
  CHECK(attempt.environment().at("PYTHONPATH").find("/cache/hook") != std::string::npos);
}

TEST_CASE("NCCL loads one profiler, and the user's own wins", "[attempt_spec]") {
  Settled attempt;
  attempt.hook = HookDoor{{}, "/cache/plugin.so", "@safelaunch/hook/x", "secret"};
  CHECK(attempt.settle()->notice.empty());
  attempt.plan.environment["NCCL_PROFILER_PLUGIN"] = "/mine/profiler.so";
  const auto settled = attempt.settle();
  CHECK(settled->notice.find("safelaunch's own plugin stays away") != std::string::npos);
  CHECK(settled->spec.workers.front().environment.at("NCCL_PROFILER_PLUGIN") ==
        "/mine/profiler.so");
}

TEST_CASE("only the variables that are not the user's own were set for NCCL", "[attempt_spec]") {
  Settled attempt;
  attempt.plan.environment["NCCL_IB_DISABLE"] = "0";
  attempt.profile.env["NCCL_IB_DISABLE"] = {"1", {}};
  attempt.profile.env["NCCL_P2P_DISABLE"] = {"1", {}};
  attempt.profile.env["GLOO_X"] = {"1", {}};
  CHECK(attempt.spec().nccl.set == std::vector<std::string>{"NCCL_P2P_DISABLE"});
}

TEST_CASE("a command that fills the kernel's room starts without our variables", "[attempt_spec]") {
  Settled attempt({"./run.sh", std::string(120'000, 'x')});
  for (int i = 0; i < 17; ++i)
    attempt.plan.environment["FULL_" + std::to_string(i)] = std::string(120'000, 'x');
  const auto settled = attempt.settle();
  REQUIRE(settled.has_value());
  CHECK(settled->notice.find("take all the room") != std::string::npos);
  CHECK(settled->spec.workers.front().environment == attempt.plan.environment);
}

TEST_CASE("the output of one worker is passed on as it comes, that of several by lines",
          "[attempt_spec]") {
  CHECK(settled_own_spawn().spec().output.mode == output::OutputPlan::Mode::lines);
  CHECK(Settled({"python3", "x.py"}, "1").spec().output.mode != output::OutputPlan::Mode::lines);
  CHECK(Settled().spec().output.mode != output::OutputPlan::Mode::lines);
}

TEST_CASE("a folder for the logs beats the attempt's own", "[attempt_spec]") {
  Settled attempt;
  attempt.directory = "/runs/a/attempt-1";
  CHECK(attempt.spec().output.directory == "/runs/a/attempt-1");
  attempt.plan.options.log_dir = "/logs";
  CHECK(attempt.spec().output.directory == "/logs");
}

TEST_CASE("a prefix is coloured on a terminal alone", "[attempt_spec]") {
  Settled attempt = settled_own_spawn();
  attempt.plan.options.prefix = true;
  CHECK(attempt.spec().output.prefix == output::OutputPlan::Prefix::rank);
}

TEST_CASE("the world is known only where the number of nodes is fixed", "[attempt_spec]") {
  const auto world = [](const std::vector<std::string>& command) {
    return Settled(command).spec().stages.world_size;
  };
  CHECK(world({"torchrun", "--nnodes=1", "--nproc-per-node=4", "x.py"}) == 4);
  CHECK(world({"torchrun", "--nnodes=1:2", "--nproc-per-node=4", "x.py"}) == std::nullopt);
  CHECK(world({"torchrun", "--nproc-per-node=gpu", "x.py"}) == std::nullopt);
  CHECK(world({"./run.sh"}) == std::nullopt);
}

TEST_CASE("a deadline of the user's beats the profile's, also where it is off", "[attempt_spec]") {
  Settled attempt;
  attempt.profile.timeouts.init = 7s;
  attempt.profile.timeouts.collective = 8s;
  attempt.profile.timeouts.work = 9s;
  attempt.plan.options.init_timeout = Duration::zero();
  const watch::StageLimits limits = attempt.spec().stages.limits;
  CHECK(limits.init == Duration::zero());
  CHECK(limits.collective == 8s);
  CHECK(limits.work == 9s);
}

TEST_CASE("the arguments of our own ranks change under a profile too", "[attempt_spec]") {
  Settled attempt({"python3", "train.py", "--batch", "8"}, "2");
  attempt.profile.args.replace["--batch"] = "4";
  for (const WorkerSpec& worker : attempt.spec().workers)
    CHECK(std::vector<std::string>(worker.argv.end() - 3, worker.argv.end()) ==
          std::vector<std::string>{"train.py", "--batch", "4"});
}

TEST_CASE("a rank of our own keeps its number when a profile makes the world smaller",
          "[attempt_spec]") {
  Settled attempt = settled_own_spawn();
  attempt.plan.spawn->start_rank = 4;
  attempt.plan.options.start_rank = 4;
  attempt.profile.processes = 1;
  const AttemptSpec spec = attempt.spec();
  REQUIRE(spec.workers.size() == 1);
  CHECK(spec.workers.front().rank == Rank{4});
  CHECK(spec.workers.front().environment.at("RANK") == "4");
}

TEST_CASE("the second of two nodes begins where the first ends, also under a profile with fewer",
          "[attempt_spec]") {
  Settled attempt({"python3", "train.py"}, "8");
  attempt.plan.spawn->nodes = 2;
  attempt.plan.spawn->node_rank = 1;
  attempt.plan.spawn->start_rank = 8;
  attempt.plan.spawn->world_size = 16;
  attempt.profile.processes = 2;
  const AttemptSpec spec = attempt.spec();
  std::vector<std::string> ranks;
  for (const WorkerSpec& worker : spec.workers) {
    ranks.push_back(worker.environment.at("RANK"));
    CHECK(worker.environment.at("WORLD_SIZE") == "4");
  }
  CHECK(ranks == std::vector<std::string>{"2", "3"});
  CHECK(spec.stages.expected_here == std::vector<Rank>{Rank{2}, Rank{3}});
}

TEST_CASE("a profile with more processes expects each of its ranks", "[attempt_spec]") {
  Settled attempt = settled_own_spawn();
  attempt.profile.processes = 4;
  CHECK(attempt.spec().stages.expected_here ==
        std::vector<Rank>{Rank{0}, Rank{1}, Rank{2}, Rank{3}});
}

TEST_CASE("ranks that are not there cannot be chosen for the screen", "[attempt_spec]") {
  Settled attempt = settled_own_spawn();
  attempt.plan.options.ranks = "0-x";
  CHECK_FALSE(attempt.settle().has_value());
}

TEST_CASE("a prefix without a terminal has no colour, and none is shown unasked",
          "[attempt_spec]") {
  Settled attempt = settled_own_spawn();
  attempt.plan.options.colour = ColourWish::automatic;
  attempt.plan.options.prefix = false;
  CHECK(attempt.spec().output.prefix == output::OutputPlan::Prefix::none);
  attempt.plan.options.prefix = true;
  CHECK(attempt.spec().output.prefix == output::OutputPlan::Prefix::rank);
}

TEST_CASE("with --rank-files torchrun keeps each rank's output in the attempt's folder",
          "[attempt_spec]") {
  Settled attempt;
  attempt.plan.options.rank_files = true;
  attempt.directory = "/runs/a-run/attempt-2-mine";
  const AttemptSpec spec = attempt.spec();
  CHECK(spec.workers.front().argv ==
        std::vector<std::string>{"torchrun", "--nproc-per-node=4", "--tee", "3", "--log_dir",
                                 "/runs/a-run/attempt-2-mine/launcher", "train.py"});
  CHECK(spec.rank_logs_are_of_ranks);
}

TEST_CASE(
    "the option for ranks' files changes nothing where nothing is recorded, or where we spawn",
    "[attempt_spec]") {
  Settled unrecorded;
  unrecorded.plan.options.rank_files = true;
  CHECK(unrecorded.spec().workers.front().argv.size() == 3);
  Settled spawned = settled_own_spawn();
  spawned.plan.options.rank_files = true;
  spawned.directory = "/runs/a-run";
  CHECK(spawned.spec().workers.front().argv == std::vector<std::string>{"python3", "train.py"});
}
