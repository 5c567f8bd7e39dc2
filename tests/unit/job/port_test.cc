#include "safelaunch/job/port.h"

#include "catch.h"
#include "commands.h"

using namespace safelaunch;

using namespace safelaunch::job;
using namespace safelaunch::testing;

namespace {

job::PortPolicy policy(const std::string& text, const Environment& environment = {}) {
  return job::port_policy(command(text, environment));
}

std::string ported(const std::string& text, const Environment& environment = {},
                   const Files& files = {}) {
  return line(job::with_port(command(text, environment, files), 40000).command.argv);
}

}  // namespace

TEST_CASE("a launcher that finds a free port itself is left alone", "[port]") {
  CHECK(policy("torchrun --nproc_per_node 2 t.py") == job::PortPolicy::nothing);
  CHECK(policy("torchrun --standalone --master_port 1 t.py") == job::PortPolicy::nothing);
  CHECK(policy("torchrun --rdzv_backend c10d --rdzv_endpoint localhost:0 t.py") ==
        job::PortPolicy::nothing);
  CHECK(policy("torchrun --rdzv_backend etcd --rdzv_endpoint h:2379 t.py") ==
        job::PortPolicy::nothing);
  CHECK(policy("accelerate launch --cpu t.py") == job::PortPolicy::nothing);
  CHECK(policy("python t.py") == job::PortPolicy::nothing);
  CHECK(policy("./run.sh") == job::PortPolicy::nothing);
}

TEST_CASE("a fixed default, or a port 0 that means nothing, is chosen anew", "[port]") {
  CHECK(policy("deepspeed t.py") == job::PortPolicy::choose);
  CHECK(policy("deepspeed --master_port 0 t.py") == job::PortPolicy::choose);
  CHECK(policy("accelerate launch t.py") == job::PortPolicy::choose);
  CHECK(policy("torchrun --master_port 0 t.py") == job::PortPolicy::choose);
  CHECK(policy("torchrun --rdzv_backend c10d t.py") == job::PortPolicy::choose);
  CHECK(policy("torchrun --rdzv_backend c10d --rdzv_endpoint host t.py") ==
        job::PortPolicy::choose);
}

TEST_CASE("a port that the user named is the user's", "[port]") {
  CHECK(policy("torchrun --master_port 29500 t.py") == job::PortPolicy::user);
  CHECK(policy("torchrun t.py", {{"PET_MASTER_PORT", "29501"}}) == job::PortPolicy::user);
  CHECK(policy("deepspeed --master_port 29501 t.py") == job::PortPolicy::user);
  CHECK(policy("accelerate launch --main_process_port 29501 t.py") == job::PortPolicy::user);
}

TEST_CASE("a command without a launcher keeps its port until that was found taken", "[port]") {
  for (const char* line : {"python t.py", "bash run.sh", "./t"})
    for (const char* port : {"29500", "29501"})
      for (const char* host : {"", "localhost", "127.0.0.1", "127.1.2.3", "::1"})
        CHECK(policy(line, {{"MASTER_PORT", port}, {"MASTER_ADDR", host}}) ==
              job::PortPolicy::if_taken);
}

TEST_CASE("variables that speak of other hosts forbid to change the port of a plain command",
          "[port]") {
  const Environment of_other_hosts[] = {{{"MASTER_ADDR", "10.9.9.9"}},
                                        {{"MASTER_ADDR", "node7"}},
                                        {{"MASTER_ADDR", "localhost.cluster"}},
                                        {{"NNODES", "2"}, {"NODE_RANK", "1"}},
                                        {{"SLURM_NNODES", "2"}},
                                        {{"SLURM_JOB_NUM_NODES", "4"}}};
  for (const char* line : {"python t.py", "bash run.sh", "env MASTER_PORT=29500 ./t"})
    for (Environment environment : of_other_hosts) {
      environment["MASTER_PORT"] = "29500";
      CHECK(policy(line, environment) == job::PortPolicy::multi_node);
    }
  CHECK(policy("env MASTER_ADDR=node7 python t.py", {{"MASTER_PORT", "29500"}}) ==
        job::PortPolicy::multi_node);
  CHECK(policy("python t.py", {{"MASTER_PORT", "29500"}, {"NNODES", "1"}}) ==
        job::PortPolicy::if_taken);
  // A launcher that is told of one node starts all ranks itself.
  CHECK(policy("torchrun --nproc_per_node 2 --master_port 29500 t.py",
               {{"MASTER_ADDR", "node7"}}) == job::PortPolicy::user);
}

TEST_CASE("where others must know the port it is never changed alone", "[port]") {
  CHECK(policy("torchrun --nnodes 2 --master_port 29501 t.py") == job::PortPolicy::multi_node);
  CHECK(policy("torchrun --nnodes 1:2 t.py") == job::PortPolicy::multi_node);
  CHECK(policy("torchrun --nnodes oops t.py") == job::PortPolicy::multi_node);
  CHECK(policy("accelerate launch --num_machines 2 t.py") == job::PortPolicy::multi_node);
  CHECK(policy("srun python t.py", {{"MASTER_PORT", "29501"}}) == job::PortPolicy::multi_node);
  CHECK(policy("python t.py", {{"MASTER_PORT", "29500"}, {"RANK", "1"}, {"WORLD_SIZE", "2"}}) ==
        job::PortPolicy::multi_node);
}

TEST_CASE("a port is put in before the script where none is written", "[port]") {
  CHECK(ported("deepspeed --num_gpus 2 t.py --x") ==
        "deepspeed --master_port 40000 --num_gpus 2 t.py --x");
  CHECK(ported("nice -n 5 accelerate launch t.py") ==
        "nice -n 5 accelerate launch --main_process_port 40000 t.py");
  CHECK(ported("python -m torch.distributed.run t.py") ==
        "python -m torch.distributed.run --master_port 40000 t.py");
  CHECK(ported("python -mdeepspeed.launcher.runner t.py") ==
        "python -mdeepspeed.launcher.runner --master_port 40000 t.py");
  CHECK(ported("torchrun --rdzv_backend c10d t.py") ==
        "torchrun --rdzv_endpoint localhost:40000 --rdzv_backend c10d t.py");
}

TEST_CASE("a written port is replaced in its place", "[port]") {
  CHECK(ported("deepspeed --master_port 29500 t.py --master_port 1") ==
        "deepspeed --master_port 40000 t.py --master_port 1");
  CHECK(ported("torchrun --master-port=29500 t.py") == "torchrun --master-port=40000 t.py");
  CHECK(ported("torchrun --rdzv-endpoint=h:123 t.py") == "torchrun --rdzv-endpoint=h:40000 t.py");
  CHECK(ported("torchrun --rdzv-endpoint [::1]:123 t.py") ==
        "torchrun --rdzv-endpoint [::1]:40000 t.py");
  CHECK(ported("torchrun --rdzv_backend c10d --rdzv_endpoint h t.py") ==
        "torchrun --rdzv_backend c10d --rdzv_endpoint h:40000 t.py");
  CHECK(ported("env MASTER_PORT=1 python t.py") == "env MASTER_PORT=40000 python t.py");
  CHECK(ported("torchrun --master_port 1 --master_port 2 t.py") ==
        "torchrun --master_port 1 --master_port 40000 t.py");
}

TEST_CASE("a port in a configuration file is overridden in argv", "[port]") {
  const Files files = {
      {"c", "distributed_type: MULTI_GPU\nnum_processes: 2\nmain_process_port: 29777\n"}};
  CHECK(ported("accelerate launch --config_file c t.py", {}, files) ==
        "accelerate launch --main_process_port 40000 --config_file c t.py");
}

TEST_CASE("a port in the environment is changed there", "[port]") {
  const auto environment = [](const std::string& text, const Environment& outer) {
    return job::with_port(command(text, outer), 40000).environment;
  };
  CHECK(environment("torchrun t.py", {{"PET_MASTER_PORT", "5"}}) ==
        Environment{{"PET_MASTER_PORT", "40000"}});
  CHECK(environment("torchrun t.py", {{"PET_RDZV_ENDPOINT", "h:5"}}) ==
        Environment{{"PET_RDZV_ENDPOINT", "h:40000"}});
  CHECK(environment("python t.py", {{"MASTER_PORT", "29500"}}) ==
        Environment{{"MASTER_PORT", "40000"}});
  CHECK(environment("python t.py", {}).empty());
  CHECK(environment("deepspeed t.py", {{"MASTER_PORT", "5"}}).empty());
}

TEST_CASE("a plain command without a port gets none", "[port]") {
  CHECK(ported("python t.py") == "python t.py");
  CHECK(ported("./run.sh a") == "./run.sh a");
}

TEST_CASE("a port can be changed again, and the script is still found", "[port]") {
  for (const char* text : {"deepspeed t.py", "torchrun --rdzv_backend c10d --rdzv_endpoint h t.py",
                           "torchrun --rdzv_backend c10d t.py", "torchrun --master-port=1 t.py"}) {
    INFO(text);
    const job::Command once = job::with_port(command(text), 7).command;
    CHECK(script_of(once) == "t.py");
    CHECK(once.port.value == 7);
    CHECK(line(job::with_port(once, 40000).command.argv) == ported(text));
  }
  const Environment endpoint = {{"PET_RDZV_ENDPOINT", "h"}};
  const job::Command once = job::with_port(command("torchrun t.py", endpoint), 7).command;
  CHECK(job::with_port(once, 8).environment == Environment{{"PET_RDZV_ENDPOINT", "h:8"}});
}

TEST_CASE("what was recognised is still there when the new words are recognised", "[port]") {
  for (const char* text :
       {"deepspeed --num_gpus 2 t.py", "accelerate launch --num_processes 2 t.py",
        "torchrun --nproc_per_node 2 --rdzv_backend c10d t.py"}) {
    INFO(text);
    const job::Command again = command(ported(text));
    CHECK(again.port.value == 40000);
    CHECK(script_of(again) == "t.py");
    CHECK(job::port_policy(again) == job::PortPolicy::user);
  }
}

TEST_CASE("the policy for the port of each kind of command", "[port]") {
  struct Row {
    const char* line;
    Environment environment;
    job::PortPolicy policy;
  };
  using enum job::PortPolicy;
  const Row rows[] = {
      {"torchrun --rdzv-endpoint h t.py", {}, choose},
      {"torchrun --rdzv-backend c10d --rdzv-endpoint h:5 t.py", {}, user},
      {"torchrun --rdzv-backend static --rdzv-endpoint h:5 t.py", {}, user},
      {"torchrun t.py", {{"PET_STANDALONE", "1"}, {"PET_MASTER_PORT", "5"}}, nothing},
      {"torchrun t.py", {{"MASTER_PORT", "5"}}, nothing},
      {"torchrun t.py", {{"PET_NNODES", "2"}}, multi_node},
      {"accelerate launch --rdzv_backend c10d --num_processes 2 t.py", {}, nothing},
      {"accelerate launch --num_processes 1 t.py", {}, nothing},
      {"accelerate launch --num_processes 2 --main_process_port 0 t.py", {}, choose},
      {"deepspeed --force_multi t.py", {}, multi_node},
      {"python t.py", {{"MASTER_PORT", "0"}}, choose},
      {"python t.py", {{"MASTER_PORT", ""}}, nothing},
      {"python t.py", {{"MASTER_PORT", "x"}}, nothing},
      {"python t.py", {{"MASTER_PORT", "5"}, {"PMI_SIZE", "2"}}, multi_node},
      {"python t.py", {{"MASTER_PORT", "5"}, {"PMI_SIZE", "1"}}, if_taken},
      {"mpirun -np 2 ./t", {{"MASTER_PORT", "5"}}, multi_node},
      {"docker run x", {}, multi_node},
      {"bash run.sh", {{"MASTER_PORT", "29500"}}, if_taken},
      {"bash run.sh", {{"MASTER_PORT", "29501"}}, if_taken},
  };
  for (const Row& row : rows) {
    INFO(row.line);
    CHECK(policy(row.line, row.environment) == row.policy);
  }
}

TEST_CASE("a port of another length moves nothing but itself", "[port]") {
  for (const char* text : {"torchrun --master_port 1 t.py --x", "torchrun --master_port=1 t.py --x",
                           "torchrun --rdzv-endpoint h:1 t.py --x"}) {
    INFO(text);
    const job::Command once = job::with_port(command(text), 65535).command;
    CHECK(line(job::with_port(once, 1).command.argv) == text);
  }
}

TEST_CASE("an accelerate that gets a port as an option has it there from then on", "[port]") {
  const job::Command ported = job::with_port(command("accelerate launch t.py"), 40000).command;
  CHECK(ported.port.place == job::PortPlace{job::InWord{3, 0, 5}});
  CHECK(script_of(ported) == "t.py");
  const job::Command c10d =
      job::with_port(command("torchrun --rdzv_backend c10d t.py"), 40000).command;
  CHECK(c10d.port.place == job::PortPlace{job::InWord{2, 10, 5}});
}

TEST_CASE("a job whose accelerate configuration is not read keeps its port on each machine",
          "[port]") {
  const Files files = {{"/dev/fd/63", std::nullopt}};
  for (const char* line :
       {"accelerate launch --config_file /dev/fd/63 t.py",
        "accelerate launch --config_file /dev/fd/63 --machine_rank 1 --num_processes 4 t.py",
        "env -C sub accelerate launch --config_file c.yaml t.py",
        "accelerate launch --machine_rank 1 --main_process_ip h1 t.py"}) {
    INFO(line);
    const job::Command seen = command(line, {}, files);
    CHECK(seen.descendants == job::Descendants::some);
    CHECK_FALSE(seen.nodes);
    CHECK(job::port_policy(seen) == job::PortPolicy::multi_node);
  }
  const job::Command told =
      command("accelerate launch --config_file /dev/fd/63 --num_machines 1 t.py", {}, files);
  CHECK(job::port_policy(told) == job::PortPolicy::choose);
  const job::Command asked = command("accelerate launch --config_file /dev/fd/63 t.py", {}, files);
  CHECK_FALSE(asked.processes_per_node);
  CHECK(job::with_processes(asked, 2).error().message ==
        "it sets 2 processes a node, but how many nodes there are is not known; give accelerate "
        "its --num_machines, or drop it");
  CHECK(policy("accelerate launch --machine_rank 0 --num_machines 1 t.py") ==
        job::PortPolicy::choose);
}

TEST_CASE("a job whose hostfile deepspeed alone reads keeps its port on each host", "[port]") {
  const Files files = {{"/dev/fd/63", std::nullopt}, {"/job/hostfile", std::nullopt}};
  for (const char* line :
       {"deepspeed --hostfile /dev/fd/63 --no_ssh --node_rank 1 --master_addr h1 t.py",
        "deepspeed --hostfile /dev/fd/63 t.py", "deepspeed t.py",
        "env -C sub deepspeed -H hosts t.py", "deepspeed -H none --no_ssh t.py",
        "deepspeed -H none --node_rank 1 --master_addr h1 t.py"}) {
    INFO(line);
    const job::Command seen = command(line, {}, files);
    CHECK(seen.descendants == job::Descendants::some);
    CHECK_FALSE(seen.nodes);
    CHECK(job::port_policy(seen) == job::PortPolicy::multi_node);
  }
  CHECK(command("deepspeed t.py", {}, files).warnings.at(0).text ==
        "deepspeed's hostfile /job/hostfile cannot be read: how many hosts there are is not known, "
        "so the port stays as it is");
  const job::Command missing = command("deepspeed -H none t.py", {}, files);
  CHECK(job::port_policy(missing) == job::PortPolicy::choose);
  CHECK(missing.nodes == job::NodeRange{1, 1});
  CHECK(missing.warnings.empty());
}

TEST_CASE("a mistyped port is left for the launcher to refuse", "[port]") {
  for (const char* port : {"295O0", "abc", "99999", "-1", "65536"})
    for (const std::string begin :
         {"torchrun --master-port=", "torchrun --rdzv_endpoint=h:",
          "torchrun --rdzv_backend c10d --rdzv_endpoint=h:", "deepspeed --master_port=",
          "accelerate launch --main_process_port="}) {
      INFO(begin << port);
      CHECK(policy(begin + port + " t.py") == job::PortPolicy::nothing);
      CHECK_FALSE(command(begin + port + " t.py").port.value);
    }
  CHECK(policy("python t.py", {{"MASTER_PORT", "abc"}}) == job::PortPolicy::nothing);
  CHECK(policy("torchrun t.py", {{"PET_MASTER_PORT", "99999"}}) == job::PortPolicy::nothing);
  const Files files = {{"c", "num_processes: 2\nmain_process_port: 295O0\n"},
                       {"d", "distributed_type: MULTI_GPU\nmain_process_port: null\n"}};
  const auto by_file = [&](const std::string& file) {
    return job::port_policy(
        command("accelerate launch --config_file " + file + " t.py", {}, files));
  };
  CHECK(by_file("c") == job::PortPolicy::nothing);
  CHECK(by_file("d") == job::PortPolicy::choose);
  CHECK(policy("torchrun --master_port 65535 t.py") == job::PortPolicy::user);
  CHECK(policy("torchrun --rdzv_backend c10d --rdzv_endpoint [::1] t.py") ==
        job::PortPolicy::choose);
}
