#include "catch.h"
#include "commands.h"

using namespace safelaunch;

using namespace safelaunch::job;
using namespace safelaunch::testing;

TEST_CASE("deepspeed's processes on one node", "[deepspeed]") {
  CHECK(command("deepspeed --num_gpus=4 t.py").processes_per_node == job::ProcessCount{4});
  CHECK(command("deepspeed --num_accelerators 2 t.py").processes_per_node == job::ProcessCount{2});
  CHECK(command("deepspeed t.py").processes_per_node ==
        job::ProcessCount{job::CountWord::automatic});
  CHECK(command("deepspeed -i localhost:1,3 t.py").processes_per_node == job::ProcessCount{2});
  CHECK(command("deepspeed -e localhost:1 t.py").processes_per_node ==
        job::ProcessCount{job::CountWord::automatic});
  CHECK(command("deepspeed t.py", {{"CUDA_VISIBLE_DEVICES", "1,2,5"}}).processes_per_node ==
        job::ProcessCount{3});
  CHECK(command("deepspeed --num_gpus 2 t.py", {{"CUDA_VISIBLE_DEVICES", "1,2,5"}})
            .processes_per_node == job::ProcessCount{2});
}

TEST_CASE("deepspeed's hostfile makes a job of many nodes that ssh starts", "[deepspeed]") {
  const Files files = {{"hosts", "a slots=8\n# no\n\nb slots=8  # fast\n"}};
  const job::Command seen = command("deepspeed -H hosts t.py", {}, files);
  CHECK(seen.nodes == job::NodeRange{2, 2});
  CHECK(seen.processes_per_node == job::ProcessCount{8});
  CHECK(seen.descendants == job::Descendants::none);
  REQUIRE(seen.warnings.size() == 1);
  CHECK(seen.warnings.front().id == job::Warning::starts_elsewhere);
  CHECK(seen.warnings.front().text.ends_with(
      "\n    safelaunch deepspeed --no_ssh --node_rank $NODE --master_addr a -H hosts t.py"));
  CHECK(command("deepspeed --no_ssh -H hosts t.py", {}, files).warnings.empty());
}

TEST_CASE("deepspeed's filters decide which hosts of the file are used", "[deepspeed]") {
  const Files files = {{"/job/hostfile", "a slots=8\nb slots=4\nc slots=4\n"}};
  const auto seen = [&](const std::string& options) {
    return command("deepspeed " + options + " t.py", {}, files);
  };
  CHECK(seen("").nodes == job::NodeRange{3, 3});
  CHECK_FALSE(seen("").processes_per_node);  // not the same everywhere
  CHECK(seen("--exclude a").processes_per_node == job::ProcessCount{4});
  CHECK(seen("--exclude a").nodes == job::NodeRange{2, 2});
  CHECK(seen("--include a:0,1@b:2,3").processes_per_node == job::ProcessCount{2});
  CHECK(seen("--exclude b:0,1,2,3@a").nodes == job::NodeRange{1, 1});
  CHECK(seen("--num_nodes 1").descendants == job::Descendants::all);
  CHECK(seen("--num_nodes 1 --force_multi").descendants == job::Descendants::none);
  CHECK(seen("--num_nodes 2 --num_gpus 2").processes_per_node == job::ProcessCount{2});
  CHECK(seen("--no_ssh --node_rank 1").descendants == job::Descendants::some);
}

TEST_CASE("a hostfile that deepspeed would refuse is warned of", "[deepspeed]") {
  for (const char* text : {"", "a\n", "a slots=x\n", "a slots=2\na slots=2\n", "slots=2\n"}) {
    INFO(text);
    CHECK(has_warning(command("deepspeed -H f t.py", {}, {{"f", text}}),
                      job::Warning::unreadable_config));
  }
}

TEST_CASE("deepspeed's port stands in its option alone", "[deepspeed]") {
  CHECK(command("deepspeed t.py", {{"MASTER_PORT", "5"}}).port.place ==
        job::PortPlace{job::NotWritten{}});
  CHECK(command("deepspeed --master_port 5 t.py").port.place ==
        job::PortPlace{job::InWord{2, 0, 1}});
  CHECK(command("deepspeed --master_port=5 t.py").port.value == 5);
}

TEST_CASE("autotuning starts many jobs in one call", "[deepspeed]") {
  CHECK(command("deepspeed --autotuning run t.py").autotuning);
  CHECK_FALSE(command("deepspeed t.py --autotuning run").autotuning);
}

TEST_CASE("a hostfile is read as deepspeed reads it, or refused as it would", "[deepspeed]") {
  struct Row {
    const char* text;
    std::optional<job::NodeRange> nodes;  ///< nullopt: refused
    std::optional<job::ProcessCount> processes = std::nullopt;
  };
  const Row rows[] = {
      {"a slots=2", {{1, 1}}, job::ProcessCount{2}},
      {"a slots=2\r\nb slots=2\r\n", {{2, 2}}, job::ProcessCount{2}},
      {"a\tslots=2 # note\n\n  # only a note\n", {{1, 1}}, job::ProcessCount{2}},
      {"  a   slots=2  \n", {{1, 1}}, job::ProcessCount{2}},
      {"a slots=2#note\nb slots=2\textra\n", {{2, 2}}, job::ProcessCount{2}},
      {"10.0.0.1 slots=1024\n", {{1, 1}}, job::ProcessCount{1024}},
      {"a slots=1025\n", std::nullopt},
      {"a slots=-1\n", std::nullopt},
      {"a slots=\n", std::nullopt},
      {"a slots=2147483648\n", std::nullopt},
      {"a slot=2\n", std::nullopt},
      {"a 2\n", std::nullopt},
      {"a slots =2\n", std::nullopt},
      {"a slots=2\nb\n", std::nullopt},
      {"a slots=2\nb slots=1\na slots=2\n", std::nullopt},
      {"# nothing\n\n", std::nullopt},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    const job::Command seen = command("deepspeed --no_ssh -H f t.py", {}, {{"f", row.text}});
    CHECK(has_warning(seen, job::Warning::unreadable_config) == !row.nodes);
    CHECK(seen.nodes == row.nodes.value_or(job::NodeRange{}));
    if (row.nodes) CHECK(seen.processes_per_node == row.processes);
  }
}

TEST_CASE("a hostfile that would be refused is named with what each line must be", "[deepspeed]") {
  const job::Command seen = command("deepspeed t.py", {}, {{"/job/hostfile", "a\n"}});
  REQUIRE(seen.warnings.size() == 1);
  CHECK(seen.warnings[0].text ==
        "deepspeed will refuse its hostfile /job/hostfile: each line must read HOST slots=N, each "
        "host once");
}

TEST_CASE("deepspeed without a hostfile counts what its filters or the environment leave",
          "[deepspeed]") {
  struct Row {
    const char* options;
    const char* visible;
    job::ProcessCount count;
  };
  constexpr job::CountWord kAll = job::CountWord::automatic;
  const Row rows[] = {
      {"", "0,1", 2},
      {"", "", kAll},
      {"", "GPU-1,GPU-2", kAll},
      {"-i localhost:0,1,2", "0", 3},
      {"--include=localhost", "0", kAll},
      {"--include localhost:0@other:1", "0", kAll},
      {"--include localhost:a,b", "0", kAll},
      {"-e localhost:0", "0,1", kAll},
      {"--num_gpus 3", "0,1", 3},
      {"--num_gpus 0", "0,1", 2},
      {"--num_gpus -1", "0,1", 2},
      {"--num_gpus x", "0,1", 2},
  };
  for (const Row& row : rows) {
    INFO(row.options << " " << row.visible);
    const job::Command seen = command(std::string("deepspeed ") + row.options + " t.py",
                                      {{"CUDA_VISIBLE_DEVICES", row.visible}});
    CHECK(seen.processes_per_node == row.count);
    CHECK(seen.nodes == job::NodeRange{1, 1});
  }
}

TEST_CASE("a filter that leaves no host leaves one node of unknown size", "[deepspeed]") {
  const Files files = {{"/job/hostfile", "a slots=2\nb slots=2\n"}};
  for (const char* filter : {"--include c", "--exclude a@b", "--exclude a:0,1@b:0,1"}) {
    INFO(filter);
    const job::Command seen = command(std::string("deepspeed ") + filter + " t.py", {}, files);
    CHECK(seen.nodes == job::NodeRange{1, 1});
    CHECK_FALSE(seen.processes_per_node);
    CHECK(seen.descendants == job::Descendants::all);
  }
}

TEST_CASE("ranks that deepspeed starts by ssh are told of, with the words for each host",
          "[deepspeed]") {
  const Files files = {{"h", "n1 slots=8\nn2 slots=8\nn3 slots=8\n"}};
  const job::Command seen = command("nice deepspeed --hostfile h t.py --x", {}, files);
  REQUIRE(seen.warnings.size() == 1);
  CHECK(seen.warnings[0].text ==
        "deepspeed starts the ranks of 3 hosts by ssh, and safelaunch sees none of them; start "
        "this on each host instead, with NODE=0 on n1 up to NODE=2:\n"
        "    safelaunch nice deepspeed --no_ssh --node_rank $NODE --master_addr n1 --hostfile h "
        "t.py --x");
  // A job of one host that is forced through ssh has no other way to start.
  CHECK(command("deepspeed --force_multi t.py", {}, {}).warnings.empty());
  CHECK(command("deepspeed --force_multi t.py", {}, {}).descendants == job::Descendants::none);
  CHECK(command("deepspeed -H h --num_nodes 1 --force_multi t.py", {}, files).warnings.empty());
}
