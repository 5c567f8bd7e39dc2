#include "safelaunch/plan/plan.h"

#include "safelaunch/base/strings.h"
#include "safelaunch/plan/json_file.h"
#include "safelaunch/run/dry_run.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "planned.h"
#include "temporary_folder.h"

using namespace safelaunch;

using namespace safelaunch::plan;
using namespace safelaunch::run;
using namespace safelaunch::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("without a word of the user's the default chain is tried", "[plan]") {
  const auto made = planned(options_for(kTorchrun));
  REQUIRE(made.has_value());
  CHECK(made->command.launcher == job::Launcher::torchrun);
  CHECK(made->chain_origin == "the default");
  CHECK(made->chain_names.front() == "basic");
  CHECK(made->chain.front().name == "basic");
  CHECK(made->max_attempts == static_cast<int>(made->chain_names.size()));
}

TEST_CASE("the rest of a chain is read when it is needed, and once", "[plan]") {
  auto made = planned(options_for(kTorchrun));
  REQUIRE(made.has_value());
  REQUIRE(plan::read_rest_of_chain(*made).has_value());
  REQUIRE(plan::read_rest_of_chain(*made).has_value());
  REQUIRE(made->chain.size() == made->chain_names.size());
  for (std::size_t i = 0; i < made->chain.size(); ++i)
    CHECK(made->chain[i].name == made->chain_names[i]);
}

TEST_CASE("what is shown before a run is read whole", "[plan]") {
  settings::RunOptions options = options_for(kTorchrun);
  options.dry_run = true;
  const auto made = planned(options);
  REQUIRE(made.has_value());
  CHECK(made->chain.size() == made->chain_names.size());
}

TEST_CASE("a mistake in a profile of the user's is told before anything runs", "[plan]") {
  const TemporaryFolder folder;
  settings::RunOptions options = options_for(kTorchrun);
  options.profiles = {"basic", folder.write("mine.yaml", "enviroment: {}\n")};
  const auto made = planned(options);
  REQUIRE_FALSE(made.has_value());
  CHECK_THAT(made.error().message, ContainsSubstring("mine.yaml:1:1"));
}

TEST_CASE("the option --profile beats a file's chain, which beats the default", "[plan]") {
  plan::Configuration configuration;
  configuration.rules.chain = {"no-p2p"};
  configuration.rules.chain_place = {"s.yaml", 3, 8};
  settings::RunOptions options = options_for(kTorchrun);
  CHECK(planned(options, configuration)->chain_origin == "s.yaml:3:8");
  CHECK(planned(options, configuration)->chain_names == std::vector<std::string>{"no-p2p"});
  options.profiles = {"conservative"};
  CHECK(planned(options, configuration)->chain_origin == "--profile");
}

TEST_CASE("the number of attempts is the chain's length, --max-attempts, or one with --only",
          "[plan]") {
  settings::RunOptions options = options_for(kTorchrun);
  options.max_attempts = 2;
  CHECK(planned(options)->max_attempts == 2);
  options.only = true;
  CHECK(planned(options)->max_attempts == 1);
}

namespace {

void note_that_it_worked(const RunPlan& plan, const std::string& profile) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const std::string file = profile::memory_file(plan.environment);
  std::filesystem::create_directories(std::filesystem::path(file).parent_path());
  const auto saved =
      profile::save_memory(file, profile::remember({}, {plan::host_key(plan), profile, now}));
  REQUIRE(saved.has_value());
}

}  // namespace

TEST_CASE("a chain begins with what worked here lately, unless that is to be forgotten", "[plan]") {
  const TemporaryFolder home;
  const Environment environment{{"HOME", home / ""}, {"XDG_STATE_HOME", home / "state"}};
  settings::RunOptions options = options_for({"true"});
  const auto first = planned(options, {}, environment);
  REQUIRE(first.has_value());
  note_that_it_worked(*first, "conservative");
  const auto second = planned(options, {}, environment);
  CHECK(second->chain_names.front() == "conservative");
  CHECK_THAT(second->warnings.front(), ContainsSubstring("begins with conservative"));
  options.forget = true;
  CHECK(planned(options, {}, environment)->chain_names.front() == "basic");
}

TEST_CASE("a slow profile that worked here is not begun with under --fail-on-slow", "[plan]") {
  const TemporaryFolder home;
  const std::filesystem::path profiles(home / ".config/safelaunch/profiles");
  std::filesystem::create_directories(profiles);
  std::ofstream(profiles / "no-shm.yaml") << "cost: large\nenv: {NCCL_SHM_DISABLE: '1'}\n";
  const Environment environment{{"HOME", home / ""}, {"XDG_STATE_HOME", home / "state"}};
  settings::RunOptions options = options_for({"true"});
  const auto first = planned(options, {}, environment);
  REQUIRE(first.has_value());
  const bool has_driver = std::filesystem::exists("/proc/driver/nvidia/version");
  for (const auto& [worked, is_slow] : {std::pair{"no-shm", true}, {"gloo-fallback", has_driver}}) {
    note_that_it_worked(*first, worked);
    options.fail_on_slow = false;
    CHECK(planned(options, {}, environment)->chain_names.front() == worked);
    options.fail_on_slow = true;
    CHECK(planned(options, {}, environment)->chain_names.front() == (is_slow ? "basic" : worked));
  }
}

TEST_CASE("safelaunch spawns the workers where it is told how many", "[plan]") {
  const auto made = planned(spawning("3"));
  REQUIRE(made.has_value());
  REQUIRE(made->spawn.has_value());
  CHECK(made->spawn->workers == 3);
  CHECK(made->nodes() == 1);
  CHECK_FALSE(made->others_start_ranks());
}

TEST_CASE("a launcher and safelaunch do not both spawn", "[plan]") {
  settings::RunOptions options = spawning("3");
  options.command = kTorchrun;
  const auto made = planned(options);
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error().code == Errc::usage);
  CHECK_THAT(made.error().message, ContainsSubstring("torchrun spawns its own"));
}

TEST_CASE("a number of workers that no node has is a mistake", "[plan]") {
  CHECK(planned(spawning("99999")).error().code == Errc::usage);
  CHECK(planned(spawning("many")).error().code == Errc::usage);
}

TEST_CASE("a choice of ranks that are not there would hide all output, and is refused", "[plan]") {
  settings::RunOptions options = spawning("2");
  options.ranks = "5";
  const auto made = planned(options);
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error().message == "--ranks 5: this job has no rank 5; its last is 1");
}

TEST_CASE("an option that does nothing for this command is told", "[plan]") {
  settings::RunOptions options = options_for(kTorchrun);
  options.prefix = true;
  const auto made = planned(options);
  REQUIRE(made.has_value());
  REQUIRE(made->warnings.size() == 1);
  CHECK_THAT(made->warnings.front(), ContainsSubstring("--prefix and --ranks have no effect"));
}

TEST_CASE("a port for a command that takes none is told to have no effect", "[plan]") {
  const auto warned = [](std::vector<std::string> command, const std::string& port,
                         const Environment& environment = {}) {
    settings::RunOptions options = options_for(std::move(command));
    options.port = settings::parse_port_wish(port).value();
    options.given["port"] = {port, "--port"};
    const auto made = planned(options, {}, environment);
    REQUIRE(made.has_value());
    return join(made->warnings, "\n");
  };
  const std::vector<std::string> shell{"sh", "-c", "true"};
  CHECK_THAT(warned(shell, "20001"), ContainsSubstring("--port 20001 has no effect: the command "
                                                       "takes no port"));
  for (const char* port : {"auto", "keep"}) CHECK(warned(shell, port).empty());
  CHECK(warned(shell, "20001", {{"MASTER_PORT", "29501"}}).empty());
  CHECK(warned(kTorchrun, "20001").empty());
}

TEST_CASE("one attempt alone and several contradict each other where both are typed", "[plan]") {
  settings::RunOptions options = options_for(kTorchrun);
  options.only = true;
  options.max_attempts = 5;
  options.given["only"] = {"true", "--only"};
  options.given["max-attempts"] = {"5", "--max-attempts"};
  const auto made = planned(options);
  REQUIRE(made.has_error());
  CHECK(made.error().code == Errc::usage);
  CHECK_THAT(made.error().message, ContainsSubstring("give one of the two"));
  options.given["max-attempts"] = {"5", "safelaunch.yaml:3"};
  CHECK(planned(options)->max_attempts == 1);
  options.given["max-attempts"] = {"1", "--max-attempts"};
  options.max_attempts = 1;
  CHECK(planned(options)->max_attempts == 1);
}

TEST_CASE("a plan may take the place of an earlier plan in its file", "[plan]") {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("plan.json", run::plan_json(*planned(options_for(kTorchrun)), {}).text);
  CHECK(plan::check_json_file(file).has_value());
}

TEST_CASE("whoever counts nodes or ranks gets them spawned, without --nproc-per-node", "[plan]") {
  settings::RunOptions options = options_for({"python3", "train.py"});
  options.nnodes = 2;
  options.node_rank = 1;
  options.master_addr = "10.0.0.1";
  options.world_size = 3;
  options.start_rank = 2;
  const auto made = planned(options, {}, {{"CUDA_VISIBLE_DEVICES", ""}});
  REQUIRE(made.has_value());
  REQUIRE(made->spawn);
  CHECK(made->spawn->workers == 1);
  CHECK(made->spawn->nodes == 2);
  CHECK(made->spawn->start_rank == 2);
  CHECK(made->party);
}

TEST_CASE("options of own workers that have no effect are told, where they were typed", "[plan]") {
  const auto warned = [](std::vector<std::string> command, const std::string& origin) {
    settings::RunOptions options = options_for(std::move(command));
    options.given["master-port"] = {"29501", origin};
    const auto made = planned(options);
    REQUIRE(made.has_value());
    return join(made->warnings, "\n");
  };
  CHECK_THAT(warned(kTorchrun, "--master-port"),
             ContainsSubstring("--master-port has no effect") &&
                 ContainsSubstring("torchrun has options of its own for that"));
  CHECK_THAT(warned({"python3", "train.py"}, "--master-port"),
             ContainsSubstring("it does with --nproc-per-node"));
  CHECK(warned(kTorchrun, "safelaunch.yaml:3").empty());
}

TEST_CASE("the option --set wants NAME=VALUE", "[plan]") {
  settings::RunOptions options = options_for(kTorchrun);
  options.set = {"NCCL_DEBUG"};
  CHECK_FALSE(planned(options).has_value());
  options.set = {"NCCL_DEBUG=WARN"};
  const auto made = planned(options);
  REQUIRE(made.has_value());
  CHECK(made->environment_under(made->chain.front()).environment.at("NCCL_DEBUG") == "WARN");
}

TEST_CASE("a plan names chain, port and what each profile changes, and no secret", "[plan]") {
  settings::RunOptions options = options_for({"torchrun", "train.py", "--token", "hunter2hunter2"});
  options.dry_run = true;
  options.set = {"HF_TOKEN=hf_abcdefghijklmnop"};
  const auto made = planned(options);
  REQUIRE(made.has_value());
  const std::string text = run::render_plan(*made, {}).text;
  CHECK_THAT(text, ContainsSubstring("launcher  torchrun"));
  CHECK_THAT(text, ContainsSubstring("port      chosen by torchrun"));
  CHECK_THAT(text, ContainsSubstring("chain     from the default"));
  CHECK_THAT(text, ContainsSubstring("    NCCL_SHM_DISABLE=1  (profile no-shm)\n"));
  CHECK_THAT(text, !ContainsSubstring("hf_abcdefghijklmnop"));
}

TEST_CASE("a plan tells what each variable was, and its own variables only to whoever asks",
          "[plan]") {
  settings::RunOptions options = options_for(kTorchrun);
  options.dry_run = true;
  options.set = {"NCCL_DEBUG=WARN"};
  const auto text_of = [&] {
    const auto made = planned(options, {}, {{"NCCL_DEBUG", "INFO"}});
    REQUIRE(made.has_value());
    return run::render_plan(*made, {}).text;
  };
  const std::string text = text_of();
  CHECK_THAT(text, ContainsSubstring("NCCL_DEBUG=WARN in place of INFO  (--set)"));
  CHECK_THAT(text, ContainsSubstring("variables of safelaunch's own (-v shows them)"));
  CHECK_THAT(text, !ContainsSubstring("SAFELAUNCH_RUN_ID"));
  options.verbosity = Verbosity::verbose;
  CHECK_THAT(text_of(), ContainsSubstring("SAFELAUNCH_RUN_ID=<run id>"));
  CHECK_THAT(text_of(), ContainsSubstring("  (profile no-shm (profiles/no-shm.yaml (built in):"));
}

TEST_CASE("a plan tells of later attempts only what is different", "[plan]") {
  settings::RunOptions options = options_for(kTorchrun);
  options.dry_run = true;
  const auto made = planned(options);
  REQUIRE(made.has_value());
  const std::string text = run::render_plan(*made, {}).text;
  const auto times = [&](std::string_view word) {
    int count = 0;
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
    return count;
  };
  CHECK(times("    runs: ") == 1);
  CHECK(times("    and ") == 1);
  CHECK(times("    NCCL_SHM_DISABLE=") == 1);
  CHECK(times("only what differs from basic") == 1);
}

TEST_CASE("a plan as JSON has the chain with the environment of each profile", "[plan]") {
  settings::RunOptions options = options_for(kTorchrun);
  options.dry_run = true;
  const auto made = planned(options);
  REQUIRE(made.has_value());
  const auto json = nlohmann::json::parse(run::plan_json(*made, {}).text);
  CHECK(json["launcher"] == "torchrun");
  CHECK(json["processes_per_node"] == "4");
  CHECK(json["chain"].size() == made->chain_names.size());
  CHECK(json["chain"][0]["profile"] == "basic");
}

TEST_CASE("a plan says in words who starts how many ranks", "[plan]") {
  const auto ranks = [](settings::RunOptions options) {
    const std::string text = run::render_plan(*planned(std::move(options)), {}).text;
    const std::size_t at = text.find("ranks     ");
    return text.substr(at + 10, text.find('\n', at) - at - 10);
  };
  CHECK(ranks(spawning("2")) == "2 of 2, spawned by safelaunch");
  CHECK(ranks(options_for(kTorchrun)) == "4 on each node, by torchrun");
  CHECK(ranks(options_for({"./run.sh"})) == "not known before they start");
}

TEST_CASE("a secret that a user gives with --set stands in no plan", "[plan]") {
  settings::RunOptions options = options_for(kTorchrun);
  options.set = {"WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567"};
  const auto made = planned(std::move(options));
  REQUIRE(made.has_value());
  CHECK_THAT(run::render_plan(*made, {}).text, !ContainsSubstring("0123456789abcdef"));
  CHECK_THAT(run::plan_json(*made, {}).text, !ContainsSubstring("0123456789abcdef"));
}

TEST_CASE("a plan marks the profiles that would change nothing without a GPU", "[plan]") {
  settings::RunOptions options = options_for(kTorchrun);
  options.dry_run = true;
  options.max_attempts = 2;
  const auto made = planned(std::move(options));
  REQUIRE(made.has_value());
  const auto chain = [&](const SeenOfJob& seen) {
    const auto json = nlohmann::json::parse(run::plan_json(*made, seen).text);
    std::string names;
    for (const auto& attempt : json["chain"])
      names += fmt::format("{}{} ", attempt.contains("passed_over") ? "-" : "",
                           attempt["profile"].get<std::string>());
    return names;
  };
  CHECK(chain({.gpu = true}) == "basic conservative ");
  CHECK(chain({.gpu = false}) == "basic -conservative -no-shm gloo-fallback ");
}

TEST_CASE("a plan's JSON tells of workers or of processes per node, as who starts them", "[plan]") {
  const auto json = [](settings::RunOptions options) {
    return nlohmann::json::parse(run::plan_json(*planned(std::move(options)), {}).text);
  };
  CHECK(json(spawning("2"))["workers"] == 2);
  CHECK_FALSE(json(spawning("2")).contains("processes_per_node"));
  CHECK(json(options_for(kTorchrun))["processes_per_node"] == "4");
  CHECK_FALSE(json(options_for(kTorchrun)).contains("workers"));
}
