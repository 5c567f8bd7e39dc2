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

TEST_CASE("each kind of job in accelerate's configuration starts its ranks in its own way",
          "[accelerate]") {
  struct Row {
    const char* config;
    std::optional<job::ProcessCount> processes;
    job::Descendants descendants;
  };
  constexpr auto kAll = job::Descendants::all;
  constexpr auto kSome = job::Descendants::some;
  constexpr auto kNone = job::Descendants::none;
  const Row rows[] = {
      {"{distributed_type: 'NO', num_processes: 1}", 1, kAll},
      {"{distributed_type: MULTI_GPU, num_processes: 4}", 4, kAll},
      {"{distributed_type: MULTI_NPU, num_processes: 4}", 4, kAll},
      {"{distributed_type: MULTI_XPU, num_processes: 4}", 4, kAll},
      {"{distributed_type: MULTI_HPU, num_processes: 4}", 4, kAll},
      {"{distributed_type: FSDP, num_processes: 4}", 4, kAll},
      {"{distributed_type: MEGATRON_LM, num_processes: 4}", 4, kAll},
      {"{distributed_type: DEEPSPEED, num_processes: 4}", 4, kAll},
      {"{distributed_type: MULTI_CPU, num_processes: 1}", 1, kAll},
      {"{distributed_type: MULTI_CPU, num_processes: 4, mpirun_config: {mpirun_hostfile: h}}", 4,
       kAll},
      {"{distributed_type: XLA, num_processes: 8}", 8, kAll},
      {"{distributed_type: XLA, num_processes: 8, tpu_use_cluster: true}", 8, kNone},
      {"{compute_environment: AMAZON_SAGEMAKER, distributed_type: MULTI_GPU}", std::nullopt, kNone},
      {"{distributed_type: MULTI_GPU, num_processes: 8, num_machines: 2}", 4, kSome},
      {"{distributed_type: DEEPSPEED, num_processes: 8, num_machines: 2}", 4, kNone},
      {"{distributed_type: DEEPSPEED, num_processes: 8, num_machines: 2,"
       " deepspeed_config: {deepspeed_multinode_launcher: nossh}}",
       4, kSome},
      {"{distributed_type: DEEPSPEED, num_processes: 8, num_machines: 2,"
       " deepspeed_config: {deepspeed_multinode_launcher: pdsh}}",
       4, kNone},
      {"{distributed_type: MULTI_GPU}", std::nullopt, kAll},
      {"{distributed_type: MULTI_GPU, num_processes: 0}", std::nullopt, kAll},
      {"{distributed_type: MULTI_GPU, num_processes: -2}", std::nullopt, kAll},
      {"{distributed_type: MULTI_GPU, num_processes: 4, num_machines: 0}", 4, kAll},
      {"{distributed_type: MULTI_GPU, num_processes: 1, num_machines: 2}", 1, kSome},
  };
  for (const Row& row : rows) {
    INFO(row.config);
    const auto seen = command("accelerate launch --config_file c t.py", {}, {{"c", row.config}});
    CHECK(seen.processes_per_node == row.processes);
    CHECK(seen.descendants == row.descendants);
  }
}

TEST_CASE("a value of another type in accelerate's configuration says nothing", "[accelerate]") {
  for (const char* config :
       {"{distributed_type: MULTI_GPU, num_processes: two, main_process_port: [5]}",
        "{distributed_type: [MULTI_GPU], num_machines: {a: 1}, main_process_port: ~}",
        "{distributed_type: MULTI_GPU, deepspeed_config: 5, mpirun_config: [x]}", "{}",
        "{5: 6, [a]: b, {c: d}: e}"}) {
    INFO(config);
    const auto seen = command("accelerate launch --config_file c t.py", {}, {{"c", config}});
    CHECK(seen.nodes == job::NodeRange{1, 1});
    CHECK_FALSE(seen.port.value);
    CHECK(seen.warnings.empty());
  }
}

TEST_CASE("a hostile configuration of accelerate is refused without harm", "[accelerate]") {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'j'; ++c) {
    const std::string before(1, static_cast<char>(c - 1));
    bomb += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 9; ++i) bomb += "*" + before + (i < 8 ? ", " : "]\n");
  }
  const Files files = {{"bomb", bomb + "distributed_type: MULTI_GPU\nnum_processes: 2\n"},
                       {"deep", std::string(100'000, '[')},
                       {"deep_maps", std::string(100'000, '{')},
                       {"nul", std::string("a: \0b\n", 6)},
                       {"long", std::string(300 * 1024, 'x')},
                       {"latin1", "distributed_type: \xff\xfe\n"},
                       {"alias", "a: *none\n"},
                       {"tab", "a:\n\tb: c\n"}};
  const auto seen = [&](const char* name) {
    return command(std::string("accelerate launch --config_file ") + name + " t.py", {}, files);
  };
  for (const auto& [name, text] : files) {
    INFO(name);
    CHECK(script_of(seen(name.c_str())) == "t.py");
  }
  CHECK(seen("bomb").processes_per_node == job::ProcessCount{2});
  for (const char* name : {"deep", "deep_maps", "long", "alias", "tab"}) {
    INFO(name);
    CHECK(has_warning(seen(name), job::Warning::unreadable_config));
  }
}

TEST_CASE("accelerate's warnings say what it will do, and the right words", "[accelerate]") {
  const auto text = [](const char* options, const Files& files = {}) {
    const auto seen = command(std::string("accelerate launch ") + options + " t.py", {}, files);
    return seen.warnings.size() == 1 ? seen.warnings.front().text : "";
  };
  CHECK(text("--num_processes 7 --num_machines 2") ==
        "7 processes do not divide into 2 machines: accelerate starts 3 on each, 6 in all");
  CHECK(text("--cpu --num_processes 4") ==
        "accelerate starts one process here, not the 4 of num_processes: on CPU run "
        "ACCELERATE_USE_CPU=true accelerate launch --multi_gpu --num_processes 4");
  CHECK(text("--config_file none") ==
        "accelerate's configuration none cannot be read: how many machines there are is not known, "
        "so the port stays as it is");
  CHECK(text("--config_file none --num_machines 1") ==
        "accelerate's configuration none cannot be read");
  CHECK(text("--config_file c --num_machines 1", {{"c", "- a\n"}}) ==
        "accelerate's configuration c is no YAML map");
}

TEST_CASE("accelerate's flags outrank its configuration", "[accelerate]") {
  const Files files = {{"c",
                        "distributed_type: MULTI_CPU\nnum_processes: 4\nnum_machines: 1\n"
                        "rdzv_backend: c10d\nmain_process_port: 29777\nmachine_rank: 0\n"
                        "main_process_ip: n0\n"}};
  const auto seen = [&](const std::string& options) {
    return command("accelerate launch --config_file c " + options + " t.py", {}, files);
  };
  CHECK(seen("").processes_per_node == job::ProcessCount{1});
  CHECK(seen("--multi_gpu").processes_per_node == job::ProcessCount{4});
  CHECK(seen("--use_fsdp --num_processes 2").processes_per_node == job::ProcessCount{2});
  CHECK(seen("--use_megatron_lm").processes_per_node == job::ProcessCount{4});
  CHECK(seen("--mpirun_hostfile h").processes_per_node == job::ProcessCount{4});
  CHECK(seen("--tpu").processes_per_node == job::ProcessCount{4});
  CHECK(seen("").rendezvous == "c10d");
  CHECK(seen("--rdzv_backend static").rendezvous == "static");
  CHECK(job::launcher_option(seen(""), {"--main-process-ip"}) == "n0");
  CHECK(job::launcher_option(seen("--main_process_ip n9"), {"--main-process-ip"}) == "n9");
  CHECK(job::launcher_option(seen("--machine_rank=1"), {"--machine-rank"}) == "1");
}
