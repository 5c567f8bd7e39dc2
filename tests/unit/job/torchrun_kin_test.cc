#include "catch.h"
#include "commands.h"
#include "safelaunch/job/port.h"

// ft_launcher and dlrover-run are torchrun with options of their own.

using namespace safelaunch;

using namespace safelaunch::job;
using namespace safelaunch::testing;

TEST_CASE("ft_launcher and dlrover-run are recognised as torchrun's kin", "[torchrun_kin]") {
  struct Row {
    const char* line;
    const char* launcher_word;
  };
  const Row rows[] = {
      {"ft_launcher t.py --x", "ft_launcher"},
      {"/env/bin/ft_launcher --nproc-per-node 8 t.py", "/env/bin/ft_launcher"},
      {"ft_launcher --ft-cfg-path ft.yaml --ft-rank-heartbeat-timeout 60 t.py", "ft_launcher"},
      {"ft_launcher --term-timeout 5 --workers_stop_timeout=3 t.py", "ft_launcher"},
      {"ft_launcher --ft-skip-section-response False --ft-ignore-missing-cfg t.py", "ft_launcher"},
      {"python -m nvidia_resiliency_ext.fault_tolerance.launcher --ft-segment 4 t.py",
       "nvidia_resiliency_ext.fault_tolerance.launcher"},
      {"uv run ft_launcher --max-restarts 3 t.py", "ft_launcher"},
      {"dlrover-run --network-check --nnodes 1 t.py", "dlrover-run"},
      {"dlrover-run --auto_config --exclude-straggler --training_port 50000 t.py", "dlrover-run"},
      {"dlrover-run --precheck 1 --accelerator nvidia.com/gpu --numa-affinity t.py", "dlrover-run"},
      {"python3 -u -m dlrover.trainer.torch.elastic_run --node_unit 2 t.py",
       "dlrover.trainer.torch.elastic_run"},
      {"env A=1 dlrover-run --save_at_breakpoint --membind-policy bind t.py", "dlrover-run"},
  };
  for (const Row& row : rows) {
    INFO(row.line);
    const Command seen = command(row.line);
    CHECK(seen.launcher == Launcher::torchrun);
    CHECK(seen.argv.at(seen.launcher_word) == row.launcher_word);
    CHECK(script_of(seen) == "t.py");
    CHECK(seen.warnings.empty());
  }
}

TEST_CASE("ft_launcher's topology, rendezvous and restarts are read as torchrun's",
          "[torchrun_kin]") {
  const Command seen = command(
      "ft_launcher --nnodes 1:2 --nproc_per_node=8 --max-restarts 3 --rdzv-endpoint h:123 "
      "--rdzv_id 7 t.py",
      {{"PET_LOG_DIR", "logs"}});
  CHECK(seen.nodes == NodeRange{1, 2});
  CHECK(seen.processes_per_node == ProcessCount{8});
  CHECK(seen.max_restarts == 3);
  CHECK(seen.rank_logs == "logs");
  CHECK(seen.rendezvous == "c10d");  // its default, unlike torchrun's
  CHECK(seen.port.value == 123);
  CHECK(launcher_option(seen, {"--rdzv-id"}) == "7");
}

TEST_CASE("ft_launcher meets on a port that can be chosen, where no endpoint is given",
          "[torchrun_kin]") {
  const Command seen = command("ft_launcher --nproc-per-node 2 t.py");
  CHECK(port_policy(seen) == PortPolicy::choose);
  CHECK(line(with_port(seen, 40000).command.argv) ==
        "ft_launcher --rdzv_endpoint localhost:40000 --nproc-per-node 2 t.py");
}

TEST_CASE("dlrover's master decides where ranks meet, so its port is left alone",
          "[torchrun_kin]") {
  for (const char* text : {"dlrover-run --nproc-per-node 2 t.py",
                           "dlrover-run --rdzv-backend c10d --rdzv-endpoint h:5 t.py",
                           "dlrover-run --standalone --master_port 5 t.py"}) {
    INFO(text);
    const Command seen = command(text);
    CHECK(seen.rendezvous == "dlrover-master");
    CHECK(port_policy(seen) == PortPolicy::nothing);
    CHECK(line(with_port(seen, 40000).command.argv) == text);
  }
}

TEST_CASE("an option that a launcher of the kin does not have is unknown to it", "[torchrun_kin]") {
  for (const char* text : {"torchrun --ft-cfg-path c t.py", "torchrun --network-check x t.py",
                           "dlrover-run --ft-cfg-path c t.py", "ft_launcher --node_unit 2 t.py",
                           "ft_launcher --nproc 2 t.py", "dlrover-run --nproc 2 t.py"}) {
    INFO(text);
    CHECK(has_warning(command(text), Warning::unknown_option));
  }
}
