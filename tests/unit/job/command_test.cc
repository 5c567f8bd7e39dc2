#include "safelaunch/job/command.h"

#include "catch.h"
#include "commands.h"

using namespace safelaunch;

using namespace safelaunch::job;
using namespace safelaunch::testing;

namespace {

struct Scene {
  const char* line;
  job::Launcher launcher;
  const char* launcher_word;
  const char* script;
  job::ScriptKind kind = job::ScriptKind::file;
};

void check(const Scene& scene) {
  INFO(scene.line);
  const job::Command seen = command(scene.line);
  CHECK(seen.launcher == scene.launcher);
  CHECK(seen.argv.at(seen.launcher_word) == scene.launcher_word);
  CHECK(script_of(seen) == scene.script);
  if (seen.script) CHECK(seen.script->kind == scene.kind);
  CHECK(line(seen.argv) == scene.line);
}

}  // namespace

TEST_CASE("a server whose hook tells that it answers is known", "[command]") {
  for (const char* line :
       {"vllm serve m --tensor-parallel-size 2", "/opt/env/bin/vllm serve m", "sglang serve m",
        "python -m sglang.launch_server --tp 2", "python3 -mvllm.entrypoints.openai.api_server",
        "env A=1 vllm serve m", "uv run vllm serve m", "python /opt/env/bin/vllm serve m"}) {
    INFO(line);
    CHECK(command(line).serves);
  }
  for (const char* line :
       {"vllm bench serve", "vllm serve m --headless", "vllm serve m --grpc", "vllm", "python vllm",
        "sglang generate", "python -m sglang.launch_server --grpc-mode", "torchrun serve.py"}) {
    INFO(line);
    CHECK_FALSE(command(line).serves);
  }
}

TEST_CASE("a server that is one of several nodes has ranks elsewhere", "[command]") {
  for (const char* line : {"sglang serve m --nnodes 2 --node-rank 0", "vllm serve m --nnodes=4",
                           "python -m sglang.launch_server --nnodes 2",
                           "vllm serve m --nnodes 2 --node-rank 1 --headless"})
    CHECK(command(line).among_nodes);
  for (const char* line :
       {"sglang serve m --nnodes 1", "vllm serve m --nnodes", "python train.py --nnodes 2"})
    CHECK_FALSE(command(line).among_nodes);
}

TEST_CASE("torchrun and its script are found in all spellings", "[command]") {
  constexpr auto kModule = job::ScriptKind::module;
  const Scene scenes[] = {
      {"torchrun t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"torchrun --nproc_per_node=8 t.py --lr 1", job::Launcher::torchrun, "torchrun", "t.py"},
      {"torchrun --nproc-per-node 8 t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"torchrun --nproc_per_node 8 t.py -m x", job::Launcher::torchrun, "torchrun", "t.py"},
      {"/opt/env/bin/torchrun -r3 t.py", job::Launcher::torchrun, "/opt/env/bin/torchrun", "t.py"},
      {"torchrun -r 3 -t=0:1 t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"torchrun --stand t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"torchrun --nproc 8 t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"torchrun --max-r 3 --monitor 5 t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"torchrun -m pkg.train --x", job::Launcher::torchrun, "torchrun", "pkg.train", kModule},
      {"torchrun --module --tee 3 pkg.train", job::Launcher::torchrun, "torchrun", "pkg.train",
       kModule},
      {"torchrun --no-python ./train --x", job::Launcher::torchrun, "torchrun", "./train",
       job::ScriptKind::program},
      {"torchrun --run-path t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"torchrun --standalone -- t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"torchrun --node_rank -1 t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"torchrun --virtual-local-rank --numa-binding node t.py", job::Launcher::torchrun,
       "torchrun", "t.py"},
      {"torchrun --duplicate-stdout-filters x --shutdown-timeout 5 t.py", job::Launcher::torchrun,
       "torchrun", "t.py"},
      {"torchrun --role trainer --rdzv-conf a=1,b=2 --rdzv-id 7 t.py", job::Launcher::torchrun,
       "torchrun", "t.py"},
      {"python -m torch.distributed.run --nnodes 1 t.py", job::Launcher::torchrun,
       "torch.distributed.run", "t.py"},
      {"python3.11 -u -m torch.distributed.run t.py", job::Launcher::torchrun,
       "torch.distributed.run", "t.py"},
      {"python -mtorch.distributed.run t.py", job::Launcher::torchrun, "-mtorch.distributed.run",
       "t.py"},
      {"python -um torch.distributed.run t.py", job::Launcher::torchrun, "torch.distributed.run",
       "t.py"},
      {"python -m torch.distributed.launch --use_env --nproc_per_node 2 t.py",
       job::Launcher::torchrun, "torch.distributed.launch", "t.py"},
      {"python -W ignore -X dev /env/bin/torchrun --nnodes=1 t.py", job::Launcher::torchrun,
       "/env/bin/torchrun", "t.py"},
      {"python /env/lib/torch/distributed/run.py --nnodes 1 t.py", job::Launcher::torchrun,
       "/env/lib/torch/distributed/run.py", "t.py"},
  };
  for (const Scene& scene : scenes) check(scene);
}

TEST_CASE("deepspeed and its script are found in all spellings", "[command]") {
  const Scene scenes[] = {
      {"deepspeed t.py --deepspeed", job::Launcher::deepspeed, "deepspeed", "t.py"},
      {"ds --num_gpus 2 t.py", job::Launcher::deepspeed, "ds", "t.py"},
      {"/env/bin/deepspeed --num_gpus=2 t.py", job::Launcher::deepspeed, "/env/bin/deepspeed",
       "t.py"},
      {"deepspeed --num_accelerators 2 t.py", job::Launcher::deepspeed, "deepspeed", "t.py"},
      {"deepspeed -i localhost:0,1 -q t.py --num_gpus 3", job::Launcher::deepspeed, "deepspeed",
       "t.py"},
      {"deepspeed --include=localhost:1 --master_p 123 t.py", job::Launcher::deepspeed, "deepspeed",
       "t.py"},
      {"deepspeed --bind_cores_to_rank --bind_core_list 0-3 t.py", job::Launcher::deepspeed,
       "deepspeed", "t.py"},
      {"deepspeed --module pkg.train --a b", job::Launcher::deepspeed, "deepspeed", "pkg.train",
       job::ScriptKind::module},
      {"deepspeed --no_local_rank --no_python ./run x", job::Launcher::deepspeed, "deepspeed",
       "./run", job::ScriptKind::program},
      {"python -m deepspeed.launcher.runner --num_gpus 2 t.py", job::Launcher::deepspeed,
       "deepspeed.launcher.runner", "t.py"},
      {"python -u /env/bin/deepspeed --num_gpus 2 t.py", job::Launcher::deepspeed,
       "/env/bin/deepspeed", "t.py"},
      {"deepspeed --save_pid --enable_each_rank_log logs t.py", job::Launcher::deepspeed,
       "deepspeed", "t.py"},
  };
  for (const Scene& scene : scenes) check(scene);
}

TEST_CASE("accelerate launch and its script are found in all spellings", "[command]") {
  const Scene scenes[] = {
      {"accelerate launch t.py", job::Launcher::accelerate, "launch", "t.py"},
      {"accelerate launch --num_processes 2 t.py", job::Launcher::accelerate, "launch", "t.py"},
      {"accelerate launch --num-processes=2 --multi-gpu t.py", job::Launcher::accelerate, "launch",
       "t.py"},
      {"accelerate-launch -q --mixed_precision fp16 t.py", job::Launcher::accelerate,
       "accelerate-launch", "t.py"},
      {"python -m accelerate.commands.launch --cpu t.py", job::Launcher::accelerate,
       "accelerate.commands.launch", "t.py"},
      {"python -m accelerate.commands.accelerate_cli launch t.py", job::Launcher::accelerate,
       "launch", "t.py"},
      {"accelerate launch -m pkg.train", job::Launcher::accelerate, "launch", "pkg.train",
       job::ScriptKind::module},
      {"accelerate launch --no_python run.sh", job::Launcher::accelerate, "launch", "run.sh",
       job::ScriptKind::program},
      {"accelerate launch --use_fsdp --fsdp_sharding_strategy 1 t.py", job::Launcher::accelerate,
       "launch", "t.py"},
      {"accelerate launch --use_deepspeed --zero_stage 2 --zero3_init_flag true t.py",
       job::Launcher::accelerate, "launch", "t.py"},
      {"accelerate launch --vm a --vm b --env A=1 --tpu t.py", job::Launcher::accelerate, "launch",
       "t.py"},
      {"accelerate launch --megatron_lm_tp_degree 2 --fp8_margin 0 t.py", job::Launcher::accelerate,
       "launch", "t.py"},
      {"accelerate launch --parallelism_config_tp_size 2 t.py", job::Launcher::accelerate, "launch",
       "t.py"},
  };
  for (const Scene& scene : scenes) check(scene);
}

TEST_CASE("a plain Python program is found, and the rest is opaque", "[command]") {
  const Scene scenes[] = {
      {"python t.py --x", job::Launcher::python, "python", "t.py"},
      {"/env/bin/python3 -u -O t.py", job::Launcher::python, "/env/bin/python3", "t.py"},
      {"python -m pkg.train -m x", job::Launcher::python, "python", "pkg.train",
       job::ScriptKind::module},
      {"python -c code -c x", job::Launcher::python, "python", "code", job::ScriptKind::code},
      {"python -", job::Launcher::python, "python", "-"},
      {"python", job::Launcher::opaque, "python", ""},
      {"./my_launch.sh --nproc_per_node 2 t.py", job::Launcher::opaque, "./my_launch.sh", ""},
      {"bash -c torchrun", job::Launcher::opaque, "bash", ""},
      {"accelerate config", job::Launcher::opaque, "accelerate", ""},
      {"mpirun -np 2 python t.py", job::Launcher::opaque, "mpirun", ""},
      {"pythonista t.py", job::Launcher::opaque, "pythonista", ""},
  };
  for (const Scene& scene : scenes) check(scene);
}

TEST_CASE("a launcher is found behind wrapper words", "[command]") {
  const Scene scenes[] = {
      {"env torchrun t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"env -i -u A B=1 C=2 torchrun t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"env - B=1 torchrun t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"env --unset=A -C /tmp torchrun t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"nice torchrun t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"nice -n 5 torchrun t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"nice -n5 torchrun t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"nice -10 torchrun t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"nice --adjustment=5 torchrun t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"ionice -c 2 -n 7 deepspeed t.py", job::Launcher::deepspeed, "deepspeed", "t.py"},
      {"numactl -N 0 -m 0 torchrun t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"numactl --cpunodebind=0 --localalloc torchrun t.py", job::Launcher::torchrun, "torchrun",
       "t.py"},
      {"numactl --interleave all python t.py", job::Launcher::python, "python", "t.py"},
      {"nohup torchrun t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"timeout 60 torchrun t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"timeout --signal=INT -k 5 1h torchrun t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"stdbuf -oL -e 0 torchrun t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"setsid -w torchrun t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"taskset -c 0-3 torchrun t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"taskset 0xff torchrun t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"/usr/bin/time -v -o log torchrun t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"chrt -b 0 torchrun t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"tini -s -- torchrun t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"uv run torchrun t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"uv run --with rich --extra cu12 -p 3.11 torchrun t.py", job::Launcher::torchrun, "torchrun",
       "t.py"},
      {"uv --directory x run --frozen -- torchrun t.py", job::Launcher::torchrun, "torchrun",
       "t.py"},
      {"uv run -m torch.distributed.run --nnodes 1 t.py", job::Launcher::torchrun,
       "torch.distributed.run", "t.py"},
      {"uv run t.py --x", job::Launcher::python, "t.py", "t.py"},
      {"uv sync", job::Launcher::opaque, "uv", ""},
      {"poetry run accelerate launch t.py", job::Launcher::accelerate, "launch", "t.py"},
      {"pixi run -e cuda torchrun t.py", job::Launcher::torchrun, "torchrun", "t.py"},
      {"conda run -n env --no-capture-output torchrun t.py", job::Launcher::torchrun, "torchrun",
       "t.py"},
      {"nohup nice -n 5 env A=1 numactl -N 1 torchrun t.py", job::Launcher::torchrun, "torchrun",
       "t.py"},
      {"env -S torchrun", job::Launcher::opaque, "env", ""},
  };
  for (const Scene& scene : scenes) check(scene);
}

TEST_CASE("a command of wrappers alone, or of nothing, is opaque", "[command]") {
  CHECK(command("").launcher == job::Launcher::opaque);
  CHECK(command("nohup").launcher == job::Launcher::opaque);
  CHECK(command("timeout").launcher == job::Launcher::opaque);
  CHECK(command("env A=1").launcher == job::Launcher::opaque);
  CHECK(command("torchrun").launcher == job::Launcher::torchrun);
  CHECK_FALSE(command("torchrun --nproc_per_node").script);
  CHECK_FALSE(command("python -m").script);
}

TEST_CASE("an unknown option leaves the script's place open rather than guessed", "[command]") {
  const job::Command unclear = command("torchrun --from-the-future x t.py");
  CHECK_FALSE(unclear.script);
  CHECK(has_warning(unclear, job::Warning::unknown_option));

  CHECK(script_of(command("torchrun --from-the-future=x t.py")) == "t.py");
  CHECK(script_of(command("torchrun --from-the-future --nnodes 1 t.py")) == "t.py");
  CHECK_FALSE(command("deepspeed --master-port 1 t.py").script);       // underscores alone
  CHECK_FALSE(command("accelerate launch --num_proc 2 t.py").script);  // no abbreviations
}

TEST_CASE("the Python of a command is told by its word or its shebang", "[command]") {
  CHECK(command("/env/bin/python t.py").python == "/env/bin/python");
  CHECK(command("python -m torch.distributed.run t.py").python == "python");

  const Files files = {
      {"/env/bin/torchrun", "#!/env/bin/python3\n# -*- coding: utf-8 -*-\n"},
      {"/far/bin/ds", "#!/usr/bin/env -S python3 -E\n"},
      {"/long/bin/torchrun", "#!/bin/sh\n'''exec' \"/long/bin/python3\" \"$0\" \"$@\"\n' '''\n"},
      {"/bad/torchrun",
       "\x7f"
       "ELF"}};
  CHECK(command("/env/bin/torchrun t.py", {}, files).python == "/env/bin/python3");
  CHECK(command("torchrun t.py", {{"PATH", "/usr/bin:/env/bin"}}, files).python ==
        "/env/bin/python3");
  CHECK(command("env PATH=/env/bin torchrun t.py", {{"PATH", "/usr/bin"}}, files).python ==
        "/env/bin/python3");
  CHECK(command("ds t.py", {{"PATH", "/far/bin"}}, files).python == "python3");
  CHECK(command("/long/bin/torchrun t.py", {}, files).python == "/long/bin/python3");
  CHECK_FALSE(command("/bad/torchrun t.py", {}, files).python);
  CHECK_FALSE(command("uv run torchrun t.py", {{"PATH", "/env/bin"}}, files).python);
  CHECK(command("uv run /env/bin/torchrun t.py", {}, files).python == "/env/bin/python3");
  CHECK(command("/env/bin/torchrun t.py", {{"PYTHON_EXEC", "/my/python"}}, files).python ==
        "/my/python");
}

TEST_CASE("ranks that others start are not taken for descendants", "[command]") {
  CHECK(command("srun python t.py").descendants == job::Descendants::none);
  CHECK(command("docker run x").descendants == job::Descendants::none);
  CHECK(command("mpirun -np 4 ./t").descendants == job::Descendants::some);
  CHECK(command("python t.py").descendants == job::Descendants::all);
  CHECK(command("python t.py", {{"RANK", "0"}, {"WORLD_SIZE", "2"}}).descendants ==
        job::Descendants::some);
  CHECK(command("python t.py", {{"RANK", "0"}, {"WORLD_SIZE", "1"}}).descendants ==
        job::Descendants::all);
  CHECK(command("python t.py", {{"OMPI_COMM_WORLD_SIZE", "8"}}).descendants ==
        job::Descendants::some);
  CHECK(command("python t.py", {{"SLURM_STEP_NUM_TASKS", "8"}}).descendants ==
        job::Descendants::some);
}

TEST_CASE("every program that starts ranks elsewhere is known by its name", "[command]") {
  for (const char* name : {"srun", "sbatch", "ssh", "pdsh", "docker", "podman", "kubectl"})
    CHECK(command(std::string("/usr/bin/") + name + " x").descendants == job::Descendants::none);
  for (const char* name : {"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prun", "horovodrun"})
    CHECK(command(std::string(name) + " -np 2 x").descendants == job::Descendants::some);
  for (const char* name : {"bash", "sshd", "mpirun.sh", "./srun.py"})
    CHECK(command(std::string(name) + " x").descendants == job::Descendants::all);
}

TEST_CASE("below a scheduler or MPI with several ranks a plain command is one of them",
          "[command]") {
  struct Row {
    Environment environment;
    job::Descendants descendants;
  };
  constexpr auto kAll = job::Descendants::all;
  constexpr auto kSome = job::Descendants::some;
  const Row rows[] = {
      {{{"RANK", "0"}}, kAll},
      {{{"WORLD_SIZE", "2"}}, kAll},
      {{{"RANK", "x"}, {"WORLD_SIZE", "2"}}, kAll},
      {{{"RANK", "0"}, {"WORLD_SIZE", "x"}}, kAll},
      {{{"PMI_SIZE", "2"}}, kSome},
      {{{"PMI_SIZE", "1"}}, kAll},
      {{{"OMPI_COMM_WORLD_SIZE", "1"}}, kAll},
      {{{"SLURM_STEP_NUM_TASKS", "1"}}, kAll},
      {{{"SLURM_NTASKS", "8"}}, kAll},
  };
  for (const Row& row : rows) {
    for (const char* text : {"python t.py", "bash run.sh"})
      CHECK(command(text, row.environment).descendants == row.descendants);
    // A launcher makes its own ranks, whatever it stands in.
    CHECK(command("torchrun t.py", row.environment).descendants == kAll);
  }
}

TEST_CASE("a launcher that is called as a file is the same launcher", "[command]") {
  const Scene scenes[] = {
      {"python /s/torch/distributed/launch.py --use_env t.py", job::Launcher::torchrun,
       "/s/torch/distributed/launch.py", "t.py"},
      {"python /s/deepspeed/launcher/runner.py --num_gpus 2 t.py", job::Launcher::deepspeed,
       "/s/deepspeed/launcher/runner.py", "t.py"},
      {"python /s/accelerate/commands/launch.py t.py", job::Launcher::accelerate,
       "/s/accelerate/commands/launch.py", "t.py"},
      {"python /s/accelerate/commands/accelerate_cli.py launch t.py", job::Launcher::accelerate,
       "launch", "t.py"},
      {"python /s/accelerate/commands/accelerate_cli.py config", job::Launcher::python, "python",
       "/s/accelerate/commands/accelerate_cli.py"},
      {"python torch/distributed/run.py t.py", job::Launcher::python, "python",
       "torch/distributed/run.py"},
      {"python run.py t.py", job::Launcher::python, "python", "run.py"},
      {"python -m accelerate.commands.accelerate_cli config", job::Launcher::python, "python",
       "accelerate.commands.accelerate_cli", job::ScriptKind::module},
      {"python /env/bin/accelerate launch t.py", job::Launcher::accelerate, "launch", "t.py"},
      {"uv run /env/bin/ds t.py", job::Launcher::deepspeed, "/env/bin/ds", "t.py"},
      {"deepspeed.pt t.py", job::Launcher::deepspeed, "deepspeed.pt", "t.py"},
      {"python3.13t -m torch.distributed.run t.py", job::Launcher::torchrun,
       "torch.distributed.run", "t.py"},
      {"python --check-hash-based-pycs always t.py", job::Launcher::python, "python", "t.py"},
      {"python -X faulthandler -Wignore -BEs t.py -c x", job::Launcher::python, "python", "t.py"},
      {"python -c", job::Launcher::opaque, "python", ""},
  };
  for (const Scene& scene : scenes) check(scene);
}

TEST_CASE("a launcher's name in words is the one that messages show", "[command]") {
  CHECK(std::string(name(command("ds t.py").launcher)) == "deepspeed");
  CHECK(std::string(name(command("python -m torch.distributed.launch t.py").launcher)) ==
        "torchrun");
  CHECK(std::string(name(command("accelerate-launch t.py").launcher)) == "accelerate");
  CHECK(std::string(name(command("python t.py").launcher)) == "python");
  CHECK(std::string(name(command("./t").launcher)) == "command");
}
