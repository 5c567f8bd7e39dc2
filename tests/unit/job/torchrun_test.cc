#include "catch.h"
#include "commands.h"

using namespace safelaunch;

using namespace safelaunch::job;
using namespace safelaunch::testing;

TEST_CASE("torchrun's topology is read from its options", "[torchrun]") {
  CHECK(command("torchrun t.py").processes_per_node == job::ProcessCount{1});
  CHECK(command("torchrun --nproc_per_node=8 t.py").processes_per_node == job::ProcessCount{8});
  CHECK(command("torchrun --nproc-per-node gpu t.py").processes_per_node ==
        job::ProcessCount{job::CountWord::gpu});
  CHECK(command("torchrun --nproc-per-node auto t.py").processes_per_node ==
        job::ProcessCount{job::CountWord::automatic});
  CHECK(command("torchrun --nproc-per-node 2 --nproc_per_node 3 t.py").processes_per_node ==
        job::ProcessCount{3});
  CHECK_FALSE(command("torchrun --nproc-per-node many t.py").processes_per_node);
}

TEST_CASE("torchrun's nodes may be a range", "[torchrun]") {
  CHECK(command("torchrun t.py").nodes == job::NodeRange{1, 1});
  CHECK(command("torchrun --nnodes 4 t.py").nodes == job::NodeRange{4, 4});
  CHECK(command("torchrun --nnodes=1:4 t.py").nodes == job::NodeRange{1, 4});
  CHECK(command("torchrun --nnodes=1:4 t.py").descendants == job::Descendants::some);
  CHECK_FALSE(command("torchrun --nnodes=x t.py").nodes);
  CHECK_FALSE(command("torchrun --nnodes=4:1 t.py").nodes);
  CHECK(command("torchrun --nnodes=x t.py").descendants == job::Descendants::some);
}

TEST_CASE("torchrun's PET variables count where argv says nothing", "[torchrun]") {
  const Environment environment = {{"PET_NPROC_PER_NODE", "4"}, {"PET_NNODES", "2"},
                                   {"PET_STANDALONE", "1"},     {"PET_MAX_RESTARTS", "3"},
                                   {"PET_MODULE", "1"},         {"PET_RDZV_BACKEND", "etcd"}};
  const job::Command seen = command("torchrun --nnodes=1 t.py", environment);
  CHECK(seen.processes_per_node == job::ProcessCount{4});
  CHECK(seen.nodes == job::NodeRange{1, 1});
  CHECK(seen.standalone);
  CHECK(seen.max_restarts == 3);
  CHECK(seen.rendezvous == "etcd");
  REQUIRE(seen.script);
  CHECK(seen.script->kind == job::ScriptKind::module);
  CHECK_FALSE(command("torchrun t.py", {{"PET_STANDALONE", "0"}}).standalone);
}

TEST_CASE("the time that torchrun is to give its workers is read", "[torchrun]") {
  CHECK(command("torchrun --shutdown-timeout 300 t.py").shutdown_timeout == 300);
  CHECK(command("torchrun t.py", {{"PET_SHUTDOWN_TIMEOUT", "60"}}).shutdown_timeout == 60);
  CHECK_FALSE(command("torchrun t.py --shutdown-timeout 300").shutdown_timeout);
}

TEST_CASE("env words before torchrun change the variables it reads", "[torchrun]") {
  const Environment outer = {{"PET_NPROC_PER_NODE", "4"}};
  CHECK(command("env PET_NPROC_PER_NODE=2 torchrun t.py", outer).processes_per_node ==
        job::ProcessCount{2});
  CHECK(command("env -u PET_NPROC_PER_NODE torchrun t.py", outer).processes_per_node ==
        job::ProcessCount{1});
  CHECK(command("env -i torchrun t.py", outer).processes_per_node == job::ProcessCount{1});
}

TEST_CASE("torchrun's port stands where its rendezvous reads it", "[torchrun]") {
  const auto place = [](const std::string& text, const Environment& environment = {}) {
    return command(text, environment).port.place;
  };
  CHECK(place("torchrun t.py") == job::PortPlace{job::NotWritten{}});
  CHECK(place("torchrun --master_port 29501 t.py") == job::PortPlace{job::InWord{2, 0, 5}});
  CHECK(place("torchrun --master-port=29501 t.py") == job::PortPlace{job::InWord{1, 14, 5}});
  CHECK(place("torchrun --rdzv-endpoint=h:123 t.py") == job::PortPlace{job::InWord{1, 18, 3}});
  CHECK(place("torchrun --rdzv_backend c10d --rdzv_endpoint h t.py") ==
        job::PortPlace{job::InWord{4, 1, 0}});
  CHECK(place("torchrun t.py", {{"PET_MASTER_PORT", "7"}}) ==
        job::PortPlace{job::InVariable{"PET_MASTER_PORT", "7", 0, 1}});
  CHECK(place("torchrun t.py", {{"PET_RDZV_ENDPOINT", "h:7"}}) ==
        job::PortPlace{job::InVariable{"PET_RDZV_ENDPOINT", "h:7", 2, 1}});
  CHECK(place("env PET_MASTER_PORT=7 torchrun t.py") == job::PortPlace{job::InWord{1, 16, 1}});
  // The static rendezvous prefers the endpoint, c10d knows no master port, etcd's is a server's.
  CHECK(place("torchrun --rdzv-endpoint h:1 --master-port 2 t.py") ==
        job::PortPlace{job::InWord{2, 2, 1}});
  CHECK(place("torchrun --rdzv-backend c10d --master-port 2 t.py") ==
        job::PortPlace{job::NotWritten{}});
  CHECK(place("torchrun --rdzv-backend etcd --rdzv-endpoint h:1 t.py") ==
        job::PortPlace{job::NotWritten{}});
  CHECK(place("torchrun --standalone --master-port 2 t.py") == job::PortPlace{job::NotWritten{}});
}

TEST_CASE("torchrun's port value is read with its place", "[torchrun]") {
  CHECK(command("torchrun --master_port 29501 t.py").port.value == 29501);
  CHECK(command("torchrun --rdzv-endpoint=[::1]:29400 t.py").port.value == 29400);
  CHECK(command("torchrun --rdzv-backend c10d --rdzv-endpoint localhost:0 t.py").port.value == 0);
  CHECK_FALSE(command("torchrun --rdzv-endpoint=host t.py").port.value);
  CHECK_FALSE(command("torchrun t.py").port.value);
}

TEST_CASE("options behind the script do not reach torchrun", "[torchrun]") {
  const job::Command seen = command("torchrun t.py --nproc_per_node 8 --standalone --nnodes 2");
  CHECK(seen.processes_per_node == job::ProcessCount{1});
  CHECK_FALSE(seen.standalone);
  CHECK(seen.nodes == job::NodeRange{1, 1});
}

TEST_CASE("every form of torchrun's numbers of nodes and processes", "[torchrun]") {
  struct Nodes {
    const char* text;
    std::optional<job::NodeRange> range;
  };
  const Nodes nodes[] = {
      {"1", {{1, 1}}},
      {"8", {{8, 8}}},
      {"1:1", {{1, 1}}},
      {"2:16", {{2, 16}}},
      {"0", std::nullopt},
      {"-1", std::nullopt},
      {"1:", std::nullopt},
      {":2", std::nullopt},
      {"1:2:3", std::nullopt},
      {"2:1", std::nullopt},
      {"0:2", std::nullopt},
      {"1.5", std::nullopt},
      {"", std::nullopt},
      {"1-2", std::nullopt},
      {"99999999999", std::nullopt},
      {"2147483647", {{2147483647, 2147483647}}},
  };
  for (const Nodes& row : nodes) {
    INFO(row.text);
    CHECK(command(std::string("torchrun --nnodes=") + row.text + " t.py").nodes == row.range);
  }
  struct Processes {
    const char* text;
    std::optional<job::ProcessCount> count;
  };
  const Processes processes[] = {
      {"1", job::ProcessCount{1}},
      {"gpu", job::ProcessCount{job::CountWord::gpu}},
      {"xpu", job::ProcessCount{job::CountWord::xpu}},
      {"cpu", job::ProcessCount{job::CountWord::cpu}},
      {"auto", job::ProcessCount{job::CountWord::automatic}},
      {"0", std::nullopt},
      {"GPU", std::nullopt},
      {"", std::nullopt},
      {"99999999999", std::nullopt},
  };
  for (const Processes& row : processes) {
    INFO(row.text);
    const std::string option = std::string("--nproc-per-node=") + row.text;
    CHECK(command("torchrun " + option + " t.py").processes_per_node == row.count);
    CHECK(command("torchrun t.py", {{"PET_NPROC_PER_NODE", row.text}}).processes_per_node ==
          row.count);
  }
}

TEST_CASE("a port that cannot be read is no port, and its place is still known", "[torchrun]") {
  struct Row {
    const char* option;
    std::optional<int> value;
    job::PortPlace place;
  };
  const Row rows[] = {
      {"--master_port=x", std::nullopt, job::InWord{1, 14, 1}},
      {"--master_port=", std::nullopt, job::InWord{1, 14, 0}},
      {"--rdzv-endpoint=h:", std::nullopt, job::InWord{1, 18, 0}},
      {"--rdzv-endpoint=h:x", std::nullopt, job::InWord{1, 18, 1}},
      {"--rdzv-endpoint=:5", 5, job::InWord{1, 17, 1}},
      {"--rdzv-endpoint=a.b:5", 5, job::InWord{1, 20, 1}},
      {"--rdzv-endpoint=", std::nullopt, job::NotWritten{}},
  };
  for (const Row& row : rows) {
    INFO(row.option);
    const job::Command seen = command(std::string("torchrun ") + row.option + " t.py");
    CHECK(seen.port.value == row.value);
    CHECK(seen.port.place == row.place);
  }
}

TEST_CASE("torchrun's flags count in the environment as numbers that are not 0", "[torchrun]") {
  const auto kind = [](const Environment& environment) {
    return command("torchrun t", environment).script.value().kind;
  };
  CHECK(kind({}) == job::ScriptKind::file);
  CHECK(kind({{"PET_MODULE", "1"}}) == job::ScriptKind::module);
  CHECK(kind({{"PET_MODULE", "0"}}) == job::ScriptKind::file);
  CHECK(kind({{"PET_NO_PYTHON", "1"}}) == job::ScriptKind::program);
  CHECK(kind({{"PET_NO_PYTHON", "1"}, {"PET_MODULE", "1"}}) == job::ScriptKind::program);
  CHECK(kind({{"PET_MODULE", "yes"}}) == job::ScriptKind::file);
}

TEST_CASE("any word of the user's on the output of ranks is a wish for files", "[torchrun]") {
  struct Row {
    const char* option;
    bool keeps;
    const char* folder;
  };
  const Row rows[] = {{"", false, ""},
                      {"--log-dir d", true, "d"},
                      {"--log_dir=d", true, "d"},
                      {"-t 3", true, ""},
                      {"--tee=0:1", true, ""},
                      {"-r3", true, ""},
                      {"--redirects 3", true, ""},
                      {"--local-ranks-filter 0", false, ""}};
  for (const Row& row : rows) {
    INFO(row.option);
    const job::Command seen = command(std::string("torchrun ") + row.option + " t.py");
    CHECK(seen.keeps_rank_logs == row.keeps);
    CHECK(seen.rank_logs == row.folder);
  }
  CHECK(command("torchrun t.py", {{"PET_TEE", "3"}}).keeps_rank_logs);
  CHECK(command("torchrun t.py", {{"PET_REDIRECTS", "3"}}).keeps_rank_logs);
}
