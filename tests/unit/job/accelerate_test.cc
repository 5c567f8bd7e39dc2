#include "catch.h"
#include "commands.h"

using namespace safelaunch;

using namespace safelaunch::job;
using namespace safelaunch::testing;

namespace {

constexpr const char* kTwoGpus = R"(compute_environment: LOCAL_MACHINE
distributed_type: MULTI_GPU
num_processes: 2
num_machines: 1
machine_rank: 0
main_process_port: 29777
mixed_precision: 'no'
)";

}  // namespace

TEST_CASE("accelerate's topology is read from its flags", "[accelerate]") {
  const job::Command two = command("accelerate launch --multi_gpu --num_processes 2 t.py");
  CHECK(two.processes_per_node == job::ProcessCount{2});
  CHECK(two.nodes == job::NodeRange{1, 1});
  CHECK(two.descendants == job::Descendants::all);
  CHECK(command("accelerate launch t.py").processes_per_node ==
        job::ProcessCount{job::CountWord::gpu});
}

TEST_CASE("accelerate counts the processes of all machines together", "[accelerate]") {
  const job::Command seen = command("accelerate launch --num_processes 16 --num_machines 2 t.py");
  CHECK(seen.processes_per_node == job::ProcessCount{8});
  CHECK(seen.nodes == job::NodeRange{2, 2});
  CHECK(seen.descendants == job::Descendants::some);

  const job::Command uneven = command("accelerate launch --num_processes 7 --num_machines 2 t.py");
  CHECK(has_warning(uneven, job::Warning::uneven_processes));
  CHECK(uneven.processes_per_node == job::ProcessCount{3});
}

TEST_CASE("accelerate on CPU starts one process, whatever it is told", "[accelerate]") {
  const job::Command seen = command("accelerate launch --cpu --num_processes 2 t.py");
  CHECK(seen.processes_per_node == job::ProcessCount{1});
  CHECK(has_warning(seen, job::Warning::one_process_on_cpu));
  CHECK_FALSE(
      has_warning(command("accelerate launch --cpu t.py"), job::Warning::one_process_on_cpu));
  CHECK(command("accelerate launch --cpu --num_processes 2 --mpirun_hostfile h t.py")
            .processes_per_node == job::ProcessCount{2});
  const Files files = {{"c.yaml", "distributed_type: MULTI_CPU\nnum_processes: 4\n"}};
  CHECK(has_warning(command("accelerate launch --config_file c.yaml t.py", {}, files),
                    job::Warning::one_process_on_cpu));
}

TEST_CASE("accelerate's configuration file holds what argv does not say", "[accelerate]") {
  const Files files = {{"c.yaml", kTwoGpus}};
  const job::Command seen = command("accelerate launch --config_file c.yaml t.py", {}, files);
  CHECK(seen.processes_per_node == job::ProcessCount{2});
  CHECK(seen.port.place == job::PortPlace{job::InFile{"c.yaml"}});
  CHECK(seen.port.value == 29777);
  CHECK(seen.warnings.empty());

  const job::Command flags =
      command("accelerate launch --config-file=c.yaml --num_processes 4 --main_process_port 5 t.py",
              {}, files);
  CHECK(flags.processes_per_node == job::ProcessCount{4});
  CHECK(flags.port.value == 5);
}

TEST_CASE("accelerate's cached default configuration is found as it finds it", "[accelerate]") {
  const Files files = {{"/hf/accelerate/default_config.yaml", kTwoGpus}};
  const auto port = [&](const std::string& text, const Environment& environment) {
    return command(text, environment, files).port.value;
  };
  CHECK(port("accelerate launch t.py", {{"HF_HOME", "/hf"}}) == 29777);
  CHECK_FALSE(port("accelerate launch t.py", {{"HOME", "/root"}}));
  CHECK_FALSE(port("accelerate launch --cpu t.py", {{"HF_HOME", "/hf"}}));

  const Files home = {{"/h/.cache/huggingface/accelerate/default_config.yaml", kTwoGpus}};
  CHECK(command("accelerate launch t.py", {{"HOME", "/h"}}, home).port.value == 29777);
  const Files cache = {{"/c/huggingface/accelerate/default_config.yaml", kTwoGpus}};
  CHECK(command("accelerate launch t.py", {{"XDG_CACHE_HOME", "/c"}}, cache).port.value == 29777);
}

TEST_CASE("a JSON configuration of accelerate is read too", "[accelerate]") {
  const Files files = {
      {"c.json", R"({"distributed_type": "FSDP", "num_processes": 8, "num_machines": 2})"}};
  const job::Command seen = command("accelerate launch --config_file c.json t.py", {}, files);
  CHECK(seen.processes_per_node == job::ProcessCount{4});
  CHECK(seen.nodes == job::NodeRange{2, 2});
}

TEST_CASE("a configuration that is none is warned of", "[accelerate]") {
  const Files files = {
      {"list", "- a\n- b\n"}, {"broken", "a: [1\n"}, {"huge", std::string(1 << 20, ' ')}};
  for (const char* path : {"list", "broken", "huge", "missing"}) {
    INFO(path);
    const auto seen =
        command(std::string("accelerate launch --config_file ") + path + " t.py", {}, files);
    CHECK(has_warning(seen, job::Warning::unreadable_config));
    CHECK(script_of(seen) == "t.py");
  }
}

TEST_CASE("accelerate's ways to start ranks elsewhere are known", "[accelerate]") {
  const auto descendants = [](const std::string& options, const Files& files = {}) {
    return command("accelerate launch " + options + " t.py", {}, files).descendants;
  };
  CHECK(descendants("--use_deepspeed --num_processes 8 --num_machines 2") ==
        job::Descendants::none);
  CHECK(descendants("--use_deepspeed --num_machines 2 --deepspeed_multinode_launcher standard") ==
        job::Descendants::some);
  CHECK(descendants("--use_deepspeed --num_processes 8") == job::Descendants::all);
  CHECK(descendants("--tpu --tpu_cluster") == job::Descendants::none);
  CHECK(descendants("--config_file c", {{"c", "compute_environment: AMAZON_SAGEMAKER\n"}}) ==
        job::Descendants::none);
  const Files standard = {{"c",
                           "distributed_type: DEEPSPEED\nnum_machines: 2\nnum_processes: 4\n"
                           "deepspeed_config: {deepspeed_multinode_launcher: standard}\n"}};
  CHECK(descendants("--config_file c", standard) == job::Descendants::some);
}

TEST_CASE("accelerate passes torchrun's restarts on", "[accelerate]") {
  CHECK(command("accelerate launch --multi_gpu --max_restarts 2 t.py").max_restarts == 2);
  CHECK(command("accelerate launch t.py --max_restarts 2").max_restarts == 0);
}
