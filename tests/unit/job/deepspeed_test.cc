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
