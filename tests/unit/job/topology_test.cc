#include "safelaunch/job/topology.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::job;

namespace {

constexpr HostCounts kHost{8, 64};
constexpr HostCounts kNoGpu{0, 64};

using Devices = std::vector<std::string>;

SpawnOptions with_devices(Devices devices) {
  SpawnOptions options;
  options.devices = std::move(devices);
  return options;
}

SpawnOptions with_count(ProcessCount count) {
  SpawnOptions options;
  options.processes_per_node = count;
  return options;
}

std::string error_of(const SpawnOptions& options, const Environment& environment = {},
                     const HostCounts& host = kHost) {
  const auto plan = plan_spawn(options, environment, host);
  return plan ? std::string() : plan.error().message;
}

}  // namespace

TEST_CASE("a number of processes is read as torchrun reads it", "[topology]") {
  CHECK(parse_process_count("4").value() == ProcessCount{4});
  CHECK(parse_process_count("auto").value() == ProcessCount{CountWord::automatic});
  for (const char* word : {"gpu", "xpu", "cpu", "auto", "12"})
    CHECK(to_string(parse_process_count(word).value()) == word);
  for (const char* word : {"", "0", "-1", "4x", "gpus"})
    CHECK(parse_process_count(word).has_error());
  CHECK(parse_process_count("gpus").error().message.find("'gpu'") != std::string::npos);
}

TEST_CASE("without options there is one worker for each GPU, and one without GPUs", "[topology]") {
  CHECK(plan_spawn({}, {}, kHost).value().workers == 8);
  CHECK(plan_spawn({}, {}, kNoGpu).value().workers == 1);
}

TEST_CASE("words for the number of workers are resolved on this host", "[topology]") {
  CHECK(plan_spawn(with_count(3), {}, kHost).value().workers == 3);
  CHECK(plan_spawn(with_count(CountWord::gpu), {}, kHost).value().workers == 8);
  CHECK(plan_spawn(with_count(CountWord::automatic), {}, kHost).value().workers == 8);
  CHECK(plan_spawn(with_count(CountWord::automatic), {}, kNoGpu).value().workers == 64);
  CHECK(plan_spawn(with_count(CountWord::cpu), {}, kHost).value().workers == 64);
  CHECK(error_of(with_count(CountWord::gpu), {}, kNoGpu).find("no GPU") != std::string::npos);
  CHECK_FALSE(error_of(with_count(CountWord::xpu)).empty());
}

TEST_CASE("CUDA_VISIBLE_DEVICES limits what is counted, as CUDA reads it", "[topology]") {
  const auto workers = [](const char* visible) {
    return plan_spawn(with_count(CountWord::automatic), {{"CUDA_VISIBLE_DEVICES", visible}}, kHost)
        .value()
        .workers;
  };
  CHECK(workers("4,5") == 2);
  CHECK(workers("4, 5,-1,6") == 2);
  CHECK(workers("GPU-8932f937,MIG-1a2b") == 2);
  CHECK(workers("") == 64);
  CHECK(workers("NoDevFiles") == 64);
}

TEST_CASE("the option --devices picks among the visible GPUs", "[topology]") {
  const auto devices = [](Devices wanted, const Environment& environment) {
    return plan_spawn(with_devices(std::move(wanted)), environment, kHost).value().devices;
  };
  CHECK(devices({"0", "2"}, {}) == Devices{"0", "2"});
  CHECK(devices({"5"}, {{"CUDA_VISIBLE_DEVICES", "4,5"}}) == Devices{"5"});
  CHECK(devices({"GPU-8932"}, {}) == Devices{"GPU-8932"});
  const Environment uuids = {{"CUDA_VISIBLE_DEVICES", "GPU-8932f937,GPU-11112222"}};
  CHECK(devices({"1"}, uuids) == Devices{"GPU-11112222"});
  CHECK(devices({"GPU-89"}, uuids) == Devices{"GPU-8932f937"});
}

TEST_CASE("what the driver says of devices counts, not how many there seem to be", "[topology]") {
  const HostCounts one_is_lost{4, 8, Devices{"0", "2", "3"}};
  const SpawnPlan plan = plan_spawn(with_count(CountWord::gpu), {}, one_is_lost).value();
  CHECK(plan.workers == 3);
  CHECK(plan.devices == Devices{"0", "2", "3"});
  CHECK(plan.devices_selected);
  CHECK(error_of(with_devices({"1"}), {}, one_is_lost).find("(0,2,3)") != std::string::npos);

  const HostCounts all_well{2, 8, Devices{"0", "1"}};
  CHECK_FALSE(plan_spawn(with_count(CountWord::gpu), {}, all_well).value().devices_selected);

  const HostCounts sliced{1, 8, Devices{"MIG-1"}};
  CHECK(plan_spawn(with_count(CountWord::gpu), {}, sliced).value().workers == 1);
  CHECK_FALSE(error_of(with_count(CountWord::gpu), {}, {1, 8, Devices{}}).empty());
}

TEST_CASE("devices that are not ours are refused by name", "[topology]") {
  const Environment two = {{"CUDA_VISIBLE_DEVICES", "4,5"}};
  CHECK(error_of(with_devices({"0"}), two).find("'0' is not among") != std::string::npos);
  CHECK(error_of(with_devices({"0"}), two).find("4,5") != std::string::npos);
  CHECK_FALSE(error_of(with_devices({"8"})).empty());
  CHECK_FALSE(error_of(with_devices({"0"}), {}, kNoGpu).empty());
  CHECK(error_of(with_devices({"1", "1"})).find("twice") != std::string::npos);
  const Environment uuid = {{"CUDA_VISIBLE_DEVICES", "GPU-8932f937"}};
  CHECK_FALSE(error_of(with_devices({"GPU-1"}), uuid).empty());
}

TEST_CASE("several nodes get their ranks from the node rank, or as told", "[topology]") {
  SpawnOptions options = with_count(4);
  options.nodes = 2;
  options.node_rank = 1;
  options.master_addr = "10.0.0.1";
  const SpawnPlan even = plan_spawn(options, {}, kHost).value();
  CHECK(even.start_rank == 4);
  CHECK(even.world_size == 8);

  options.start_rank = 8;
  options.world_size = 12;
  const SpawnPlan uneven = plan_spawn(options, {}, kHost).value();
  CHECK(uneven.start_rank == 8);
  CHECK(uneven.world_size == 12);
}

TEST_CASE("numbers that contradict each other are refused", "[topology]") {
  SpawnOptions two_nodes = with_count(4);
  two_nodes.nodes = 2;
  CHECK(error_of(two_nodes).find("--master-addr") != std::string::npos);
  CHECK(error_of(two_nodes, {{"MASTER_ADDR", "10.0.0.1"}}).empty());

  SpawnOptions rank = two_nodes;
  rank.node_rank = 2;
  CHECK(error_of(rank).find("counts from 0") != std::string::npos);

  SpawnOptions start = with_count(4);
  start.start_rank = 1;
  CHECK_FALSE(error_of(start).empty());

  SpawnOptions world = with_count(4);
  world.world_size = 8;
  CHECK(error_of(world).find("--nnodes") != std::string::npos);

  SpawnOptions none = with_count(4);
  none.nodes = 0;
  CHECK_FALSE(error_of(none).empty());
  SpawnOptions port = with_count(4);
  port.master_port = 70000;
  CHECK_FALSE(error_of(port).empty());
}

TEST_CASE("a MASTER_PORT that is no port is refused, whatever is wrong with it", "[topology]") {
  for (const char* port : {"abc", "70000", "-1", "29500x", "99999999999"}) {
    INFO(port);
    const auto plan = plan_spawn(with_count(2), {{"MASTER_PORT", port}}, kHost);
    REQUIRE(plan.has_error());
    CHECK(plan.error().code == Errc::usage);
    CHECK(plan.error().message.find(port) != std::string::npos);
  }
  SpawnOptions named = with_count(2);
  named.master_port = 29501;
  CHECK(plan_spawn(named, {{"MASTER_PORT", "abc"}}, kHost).value().master_port == 29501);
}

TEST_CASE("the meeting point comes from options, then the environment, then this host",
          "[topology]") {
  const Environment environment = {{"MASTER_ADDR", "host"}, {"MASTER_PORT", "29501"}};
  SpawnOptions options = with_count(2);
  CHECK(plan_spawn(options, {}, kHost).value().master_addr == "127.0.0.1");
  CHECK_FALSE(plan_spawn(options, {}, kHost).value().master_port);
  CHECK(plan_spawn(options, environment, kHost).value().master_addr == "host");
  CHECK(plan_spawn(options, environment, kHost).value().master_port == 29501);
  options.master_port = 5;
  CHECK(plan_spawn(options, environment, kHost).value().master_port == 5);
  options.master_port.reset();
  options.nodes = 2;
  options.node_rank = 1;
  options.master_addr = "node-0";
  CHECK(plan_spawn(options, {}, kHost).value().master_port == kDefaultMasterPort);
}

TEST_CASE("the port of our own workers is chosen unless somebody named it", "[topology]") {
  SpawnOptions options = with_count(2);
  CHECK(port_policy(plan_spawn(options, {}, kHost).value()) == PortPolicy::choose);
  CHECK(port_policy(plan_spawn(options, {{"MASTER_PORT", "0"}}, kHost).value()) ==
        PortPolicy::choose);
  options.master_port = 29501;
  CHECK(port_policy(plan_spawn(options, {}, kHost).value()) == PortPolicy::user);
  options.nodes = 2;
  options.master_addr = "10.0.0.1";
  CHECK(port_policy(plan_spawn(options, {}, kHost).value()) == PortPolicy::multi_node);
}

TEST_CASE("words for devices are taken as CUDA takes them, up to the first that is none",
          "[topology]") {
  struct Row {
    const char* text;
    Devices devices;
  };
  const Row rows[] = {
      {"", {}},
      {"0", {"0"}},
      {"0,1", {"0", "1"}},
      {" 0 , 1 ", {"0", "1"}},
      {"1,0", {"1", "0"}},
      {"00", {"00"}},
      {"0,,1", {"0"}},
      {",0", {}},
      {"0,", {"0"}},
      {"-1", {}},
      {"0,-1,1", {"0"}},
      {"NoDevFiles", {}},
      {"0x1", {}},
      {"GPU-a,MIG-b,7", {"GPU-a", "MIG-b", "7"}},
      {"gpu-a", {}},
      {"MIG-GPU-a/1/0", {"MIG-GPU-a/1/0"}},
      {"0 1", {}},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(parse_devices(row.text) == row.devices);
  }
}

TEST_CASE("a contradiction between the numbers is told in whole", "[topology]") {
  struct Row {
    SpawnOptions options;
    const char* error;
  };
  const auto made = [](auto change) {
    SpawnOptions options = with_count(4);
    options.master_addr = "n0";
    change(options);
    return options;
  };
  const Row rows[] = {
      {made([](SpawnOptions& o) { o.nodes = 0; }), "--nnodes 0 is below 1"},
      {made([](SpawnOptions& o) { o.nodes = -1; }), "--nnodes -1 is below 1"},
      {made([](SpawnOptions& o) { o.node_rank = 1; }),
       "--node-rank 1 does not fit --nnodes 1: it counts from 0"},
      {made([](SpawnOptions& o) { o.nodes = 2, o.node_rank = -1; }),
       "--node-rank -1 does not fit --nnodes 2: it counts from 0"},
      {made([](SpawnOptions& o) { o.nodes = 2, o.node_rank = 2; }),
       "--node-rank 2 does not fit --nnodes 2: it counts from 0"},
      {made([](SpawnOptions& o) { o.start_rank = 1; }),
       "ranks 1 to 4 of this node do not fit a world of 4: with different numbers of GPUs on the "
       "nodes give --start-rank and --world-size"},
      {made([](SpawnOptions& o) { o.nodes = 2, o.start_rank = -1; }),
       "ranks -1 to 2 of this node do not fit a world of 8: with different numbers of GPUs on the "
       "nodes give --start-rank and --world-size"},
      {made([](SpawnOptions& o) { o.nodes = 2, o.world_size = 3; }),
       "ranks 0 to 3 of this node do not fit a world of 3: with different numbers of GPUs on the "
       "nodes give --start-rank and --world-size"},
      {made([](SpawnOptions& o) { o.world_size = 8; }),
       "a world of 8 needs more than the 4 workers of this node: give --nnodes and --node-rank"},
      {made([](SpawnOptions& o) { o.nodes = 2147483647; }),
       "--nnodes 2147483647 with 4 workers each would be more than 1000000000 ranks"},
      {made([](SpawnOptions& o) { o.processes_per_node = ProcessCount{0}; }),
       "--nproc-per-node must be 1 or more"},
      {made([](SpawnOptions& o) { o.processes_per_node = ProcessCount{CountWord::xpu}; }),
       "--nproc-per-node xpu: Intel's devices are not counted here; give the number"},
      {made([](SpawnOptions& o) { o.nodes = 2, o.master_addr.reset(); }),
       "several nodes need --master-addr: the address of node 0"},
      {made([](SpawnOptions& o) { o.master_port = 65536; }), "port 65536 does not exist"},
      {made([](SpawnOptions& o) { o.master_port = -1; }), "port -1 does not exist"},
      {made([](SpawnOptions& o) { o.master_addr = "a b"; }),
       "--master-addr 'a b' is no host: write its name or address alone"},
      {made([](SpawnOptions& o) { o.master_addr = "http://x:5"; }),
       "--master-addr 'http://x:5' is no host: write its name or address alone"},
      {made([](SpawnOptions& o) { o.master_addr = "::1"; }), ""},
      {made([](SpawnOptions& o) { o.master_port = 65535; }), ""},
      {made([](SpawnOptions& o) { o.nodes = 2, o.node_rank = 1, o.start_rank = 4; }), ""},
      {made([](SpawnOptions& o) { o.nodes = 2, o.world_size = 4; }), ""},
  };
  for (const Row& row : rows) CHECK(error_of(row.options) == row.error);
}

TEST_CASE("a refused device is told with those that may be used", "[topology]") {
  CHECK(error_of(with_devices({"0", "9"})) ==
        "--devices 0,9: '9' is not among the GPUs that this process may use (0,1,2,3,4,5,6,7)");
  CHECK(error_of(with_devices({"0"}), {}, kNoGpu) ==
        "--devices 0: '0' is not among the GPUs that this process may use (none)");
  CHECK(error_of(with_devices({"0", "1", "0"})) == "--devices 0,1,0 names GPU 0 twice");
  for (const char* word : {"", "0-1", "all", "-1"})
    CHECK_FALSE(error_of(with_devices({word}), {}, kNoGpu).empty());
  CHECK(error_of(with_count(CountWord::gpu), {}, kNoGpu) ==
        "--nproc-per-node gpu: no GPU is visible here (see CUDA_VISIBLE_DEVICES and nvidia-smi); "
        "give a number, or cpu");
}

TEST_CASE("a word of --devices means a name, a unique beginning, or a place among names",
          "[topology]") {
  struct Row {
    const char* wanted;
    const char* visible;
    const char* device;  ///< "" where it is refused
  };
  const Row rows[] = {
      {"0", "GPU-aa,GPU-ab", "GPU-aa"},
      {"1", "GPU-aa,GPU-ab", "GPU-ab"},
      {"2", "GPU-aa,GPU-ab", ""},
      {"GPU-aa", "GPU-aa,GPU-ab", "GPU-aa"},
      {"GPU-ab", "GPU-aa,GPU-ab", "GPU-ab"},
      {"GPU-a", "GPU-aa,GPU-ab", ""},
      {"GPU-b", "GPU-aa,GPU-ab", ""},
      {"GPU-aa", "4,5", "GPU-aa"},
      {"MIG-1", "4,5", "MIG-1"},
      {"1", "4,5", ""},
      {"5", "4,5", "5"},
      {"99999999999", "GPU-aa", ""},
      {"1", "0,GPU-aa", ""},
  };
  for (const Row& row : rows) {
    INFO(row.wanted << " of " << row.visible);
    const auto plan =
        plan_spawn(with_devices({row.wanted}), {{"CUDA_VISIBLE_DEVICES", row.visible}}, kHost);
    const Devices wanted = *row.device == '\0' ? Devices{} : Devices{row.device};
    CHECK((plan ? plan->devices : Devices{}) == wanted);
    if (plan) CHECK(plan->devices_selected);
  }
}

TEST_CASE("a number of processes that cannot be read is refused with the nearest word",
          "[topology]") {
  CHECK(parse_process_count("gpus").error().message ==
        "'gpus' is no number of processes: write a number above 0, gpu, cpu or auto; did you "
        "mean 'gpu'?");
  CHECK(parse_process_count("99999999999").error().message ==
        "'99999999999' is no number of processes: write a number above 0, gpu, cpu or auto");
}
