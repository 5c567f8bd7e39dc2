#include "safelaunch/job/worker.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::job;

namespace {

const RunIdentity kRun{"20261121-a1b2", "/run/errors"};

SpawnPlan second_node() {
  SpawnPlan plan;
  plan.workers = 2;
  plan.nodes = 2;
  plan.node_rank = 1;
  plan.start_rank = 2;
  plan.world_size = 4;
  plan.master_addr = "10.0.0.1";
  plan.master_port = 29501;
  return plan;
}

}  // namespace

TEST_CASE("a worker finds every variable that torch's launcher tests assert",
          "[worker_environment]") {
  const Environment variables = worker_environment(second_node(), 1, kRun, {});
  for (const char* name : {"LOCAL_RANK",
                           "RANK",
                           "GROUP_RANK",
                           "ROLE_RANK",
                           "ROLE_NAME",
                           "LOCAL_WORLD_SIZE",
                           "WORLD_SIZE",
                           "GROUP_WORLD_SIZE",
                           "ROLE_WORLD_SIZE",
                           "MASTER_ADDR",
                           "MASTER_PORT",
                           "TORCHELASTIC_RESTART_COUNT",
                           "TORCHELASTIC_MAX_RESTARTS",
                           "TORCHELASTIC_RUN_ID",
                           "TORCHELASTIC_USE_AGENT_STORE",
                           "TORCHELASTIC_ERROR_FILE",
                           "TORCHELASTIC_SIGNALS_TO_HANDLE",
                           "TORCH_NCCL_ASYNC_ERROR_HANDLING",
                           "OMP_NUM_THREADS",
                           "NODE_RANK"}) {
    INFO(name);
    CHECK(variables.contains(name));
  }
}

TEST_CASE("a worker's variables say who it is", "[worker_environment]") {
  Environment variables = worker_environment(second_node(), 1, kRun, {});
  CHECK(variables["RANK"] == "3");
  CHECK(variables["ROLE_RANK"] == "3");
  CHECK(variables["LOCAL_RANK"] == "1");
  CHECK(variables["WORLD_SIZE"] == "4");
  CHECK(variables["LOCAL_WORLD_SIZE"] == "2");
  CHECK(variables["GROUP_RANK"] == "1");
  CHECK(variables["NODE_RANK"] == "1");
  CHECK(variables["GROUP_WORLD_SIZE"] == "2");
  CHECK(variables["MASTER_ADDR"] == "10.0.0.1");
  CHECK(variables["MASTER_PORT"] == "29501");
  CHECK(variables["TORCHELASTIC_RUN_ID"] == "20261121-a1b2");
  CHECK(variables["TORCHELASTIC_ERROR_FILE"] == "/run/errors/rank-3.error.json");
  CHECK(variables["TORCHELASTIC_USE_AGENT_STORE"] == "False");
  CHECK(variables["TORCHELASTIC_SIGNALS_TO_HANDLE"] == "SIGTERM,SIGINT,SIGHUP,SIGQUIT");
}

TEST_CASE("where nothing is recorded a worker is told no file for its exception",
          "[worker_environment]") {
  CHECK_FALSE(worker_environment(second_node(), 0, {"20261121-a1b2", ""}, {})
                  .contains("TORCHELASTIC_ERROR_FILE"));
}

TEST_CASE("what the user set about threads and errors stays", "[worker_environment]") {
  const Environment user = {{"OMP_NUM_THREADS", "4"}, {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "0"}};
  const Environment variables = worker_environment(second_node(), 0, kRun, user);
  CHECK_FALSE(variables.contains("OMP_NUM_THREADS"));
  CHECK_FALSE(variables.contains("TORCH_NCCL_ASYNC_ERROR_HANDLING"));
}

TEST_CASE("a worker alone keeps all threads", "[worker_environment]") {
  SpawnPlan alone;
  alone.master_port = 1;
  CHECK_FALSE(worker_environment(alone, 0, kRun, {}).contains("OMP_NUM_THREADS"));
}

TEST_CASE("JAX finds its coordinator, and its device where each worker has one",
          "[worker_environment]") {
  SpawnPlan plan = second_node();
  CHECK(worker_environment(plan, 1, kRun, {})["JAX_COORDINATOR_ADDRESS"] == "10.0.0.1:29501");
  CHECK_FALSE(worker_environment(plan, 1, kRun, {}).contains("JAX_LOCAL_DEVICE_IDS"));
  plan.devices = {"4", "5"};
  CHECK(worker_environment(plan, 1, kRun, {})["JAX_LOCAL_DEVICE_IDS"] == "1");
  plan.master_addr = "::1";
  CHECK(worker_environment(plan, 1, kRun, {})["JAX_COORDINATOR_ADDRESS"] == "[::1]:29501");
}

TEST_CASE("CUDA_VISIBLE_DEVICES is set only by --devices", "[worker_environment]") {
  SpawnPlan plan = second_node();
  plan.devices = {"4", "5"};
  CHECK_FALSE(worker_environment(plan, 0, kRun, {}).contains("CUDA_VISIBLE_DEVICES"));
  plan.devices_selected = true;
  CHECK(worker_environment(plan, 0, kRun, {})["CUDA_VISIBLE_DEVICES"] == "4,5");
}

TEST_CASE("the whole environment of a worker, and nothing else", "[worker_environment]") {
  CHECK(worker_environment(second_node(), 0, kRun, {}) ==
        Environment{{"GROUP_RANK", "1"},
                    {"GROUP_WORLD_SIZE", "2"},
                    {"JAX_COORDINATOR_ADDRESS", "10.0.0.1:29501"},
                    {"LOCAL_RANK", "0"},
                    {"LOCAL_WORLD_SIZE", "2"},
                    {"MASTER_ADDR", "10.0.0.1"},
                    {"MASTER_PORT", "29501"},
                    {"NODE_RANK", "1"},
                    {"OMP_NUM_THREADS", "1"},
                    {"RANK", "2"},
                    {"ROLE_NAME", "default"},
                    {"ROLE_RANK", "2"},
                    {"ROLE_WORLD_SIZE", "4"},
                    {"TORCHELASTIC_ERROR_FILE", "/run/errors/rank-2.error.json"},
                    {"TORCHELASTIC_MAX_RESTARTS", "0"},
                    {"TORCHELASTIC_RESTART_COUNT", "0"},
                    {"TORCHELASTIC_RUN_ID", "20261121-a1b2"},
                    {"TORCHELASTIC_SIGNALS_TO_HANDLE", "SIGTERM,SIGINT,SIGHUP,SIGQUIT"},
                    {"TORCHELASTIC_USE_AGENT_STORE", "False"},
                    {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
                    {"WORLD_SIZE", "4"}});
}

TEST_CASE("JAX is told a device only where there is one for each worker", "[worker_environment]") {
  SpawnPlan plan = second_node();
  struct Row {
    std::vector<std::string> devices;
    bool told;
  };
  for (const Row& row :
       {Row{{}, false}, Row{{"4"}, false}, Row{{"4", "5"}, true}, Row{{"4", "5", "6"}, true}}) {
    plan.devices = row.devices;
    CHECK(worker_environment(plan, 0, kRun, {}).contains("JAX_LOCAL_DEVICE_IDS") == row.told);
  }
}

TEST_CASE("no two workers of a job share a rank, over all nodes", "[worker_environment]") {
  std::vector<std::string> ranks;
  for (int node = 0; node < 3; ++node) {
    SpawnPlan plan;
    plan.workers = 4;
    plan.nodes = 3;
    plan.node_rank = node;
    plan.start_rank = node * 4;
    plan.world_size = 12;
    plan.master_port = 1;
    for (int local = 0; local < plan.workers; ++local)
      ranks.push_back(worker_environment(plan, local, kRun, {})["RANK"]);
  }
  CHECK(ranks ==
        std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"});
}
