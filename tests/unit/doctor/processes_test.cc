#include "catch.h"
#include "healthy_host.h"

using namespace safelaunch;

using namespace safelaunch::doctor;
using namespace safelaunch::testing;
using Catch::Matchers::ContainsSubstring;
using Lines = std::vector<std::string>;

namespace {

doctor::HostFacts with_held_port(doctor::HostFacts facts) {
  host::PortHolder holder;
  holder.port = 29500;
  holder.pid = 71;
  holder.user = "bob";
  holder.command = "python server.py";
  facts.port = doctor::MeetingPort{29500, {holder}};
  return facts;
}

clean::StaleProcess stale_process(clean::Claim claim) {
  clean::StaleProcess stale;
  stale.process.id = {71, 5};
  stale.command = "python train.py";
  stale.holds = {"port 29500"};
  stale.claim = claim;
  stale.why = "left by safelaunch run 1: its safelaunch (pid 70) is gone";
  return stale;
}

job::Command command(std::vector<std::string> argv) {
  return job::recognise(std::move(argv), {}, [](const std::string&) { return job::FileAt{}; });
}

}  // namespace

TEST_CASE("rank 0 of somebody else's launcher cannot change its port", "[doctor][processes]") {
  doctor::HostFacts facts = with_held_port(healthy_host());
  facts.world.rank = 0;
  CHECK(outline(facts) == Lines{"port-taken blocks"});
  CHECK_THAT(first_finding(facts).evidence,
             ContainsSubstring("pid 71 (python server.py) of user bob"));
  facts.world.rank = 1;
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("a held port on one node is changed by safelaunch", "[doctor][processes]") {
  doctor::HostFacts facts = with_held_port(healthy_host());
  facts.subject.command =
      command({"torchrun", "--master-port=29500", "--nproc-per-node=2", "t.py"});
  CHECK(outline(facts) == Lines{"port-taken note"});
}

TEST_CASE("the held port of a command without a launcher may be its own peer's",
          "[doctor][processes]") {
  doctor::HostFacts facts = with_held_port(healthy_host());
  const auto with_variables = [](Environment environment) {
    environment["MASTER_PORT"] = "29500";
    return job::recognise({"bash", "node.sh"}, environment,
                          [](const std::string&) { return job::FileAt{}; });
  };
  facts.subject.command = with_variables({});
  CHECK(outline(facts) == Lines{"port-taken note"});
  // Where the ranks meet on another host, who holds the number here is nobody's concern.
  facts.subject.command = with_variables({{"MASTER_ADDR", "10.9.9.9"}});
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("what is left over and ours can be ended, and nothing else", "[doctor][processes]") {
  doctor::HostFacts facts = healthy_host();
  facts.processes = {stale_process(clean::Claim::ours), stale_process(clean::Claim::orphan),
                     stale_process(clean::Claim::unproven)};
  facts.processes[2].holds = {"/dev/nvidia0"};
  const auto advices = doctor::examine(facts);
  REQUIRE(advices.size() == 3);
  CHECK(advices[0].processes.size() == 1);
  CHECK(advices[1].processes.empty());
  CHECK(advices[2].processes.empty());
  CHECK(advices[2].finding.severity == Severity::note);
}

TEST_CASE("a killed process that does not end is a risk, and nothing that we could fix",
          "[doctor][processes]") {
  doctor::HostFacts facts = healthy_host();
  facts.processes = {stale_process(clean::Claim::unproven)};
  facts.processes[0].unkillable = true;
  facts.processes[0].holds.clear();
  CHECK(outline(facts) == Lines{"unkillable risk"});
  CHECK_FALSE(doctor::examine(facts)[0].can_be_fixed());
}

TEST_CASE("a running job that is in nobody's way is not told", "[doctor][processes]") {
  doctor::HostFacts facts = healthy_host();
  facts.processes = {stale_process(clean::Claim::unproven)};
  CHECK(outline(facts) == Lines{});  // the holder of a port is told with the port
  facts.processes[0].holds.clear();
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("a rank without a launcher is told, though it is in nobody's way",
          "[doctor][processes]") {
  doctor::HostFacts facts = healthy_host();
  facts.processes = {stale_process(clean::Claim::unproven)};
  facts.processes[0].launcherless = true;
  facts.processes[0].holds.clear();
  CHECK(outline(facts) == Lines{"left-over-process note"});
  CHECK_FALSE(doctor::examine(facts)[0].can_be_fixed());
}

TEST_CASE("mistakes in the command are findings", "[doctor][processes]") {
  doctor::HostFacts facts = healthy_host();
  facts.subject.command =
      command({"torchrun", "--nproc-per-node=2", "train.py", "--master_port", "29501"});
  CHECK(outline(facts) == Lines{"bad-arguments risk"});
}

TEST_CASE("more processes than GPUs are a risk, and none on the CPU", "[doctor][processes]") {
  doctor::HostFacts facts = healthy_host();
  facts.subject.command = command({"torchrun", "--nproc-per-node=4", "train.py"});
  CHECK(outline(facts) == Lines{"device-ordinal risk"});
  facts.subject.environment = {{"CUDA_VISIBLE_DEVICES", ""}};
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("what a driver says about GPUs stands among the findings", "[doctor][gpus]") {
  doctor::HostFacts facts = healthy_host();
  facts.gpu_findings = {{"gpu-ill", Severity::blocks, "GPU 1 is lost", "take it out"}};
  CHECK(outline(facts) == Lines{"gpu-ill blocks"});
}

TEST_CASE("an IOMMU that translates is a note where GPUs have peers", "[doctor][gpus]") {
  doctor::HostFacts facts = healthy_host();
  facts.platform.iommu_translates = true;
  CHECK(outline(facts) == Lines{"gpu-p2p note"});
  facts.gpus = 1;
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("only the first node of several needs its port free", "[doctor][processes]") {
  doctor::HostFacts facts = with_held_port(second_node());
  CHECK(outline(facts) == Lines{});
  facts.world.node_rank = 0;
  CHECK(outline(facts) == Lines{"port-taken blocks"});
  facts.port->holders.clear();
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("a file that the command names and that is missing blocks, by its sentence alone",
          "[doctor][processes]") {
  doctor::HostFacts facts = healthy_host();
  facts.subject.command = command({"python", "train.py"});
  facts.subject.missing_files = {"there is no file train.py here"};
  const Finding finding = first_finding(facts);
  CHECK(finding == Finding{"command", Severity::blocks, "there is no file train.py here", ""});
}

TEST_CASE("each claim to a left process has the advice that goes with it", "[doctor][processes]") {
  const auto remedy = [](clean::Claim claim) {
    doctor::HostFacts facts = healthy_host();
    facts.processes = {stale_process(claim)};
    facts.processes[0].holds = {"/dev/nvidia0"};
    return first_finding(facts).remedy;
  };
  CHECK(remedy(clean::Claim::ours) == "safelaunch clean");
  CHECK(remedy(clean::Claim::orphan) == "safelaunch clean --policy orphans");
  CHECK(remedy(clean::Claim::unproven) == "if it is yours and dead: safelaunch clean --pid 71");
}

TEST_CASE("a process that cannot be killed is never among those to be ended, whatever its claim",
          "[doctor][processes]") {
  for (const clean::Claim claim :
       {clean::Claim::ours, clean::Claim::orphan, clean::Claim::named, clean::Claim::unproven}) {
    doctor::HostFacts facts = healthy_host();
    facts.processes = {stale_process(claim)};
    facts.processes[0].unkillable = true;
    const auto advices = doctor::examine(facts);
    REQUIRE(advices.size() == 1);
    CHECK(advices[0].processes.empty());
    CHECK(advices[0].finding.remedy.starts_with("cat /proc/71/stack, as root"));
  }
}

TEST_CASE("the GPUs that a plan selects count, not those of the host", "[doctor][gpus]") {
  doctor::HostFacts facts = healthy_host();
  facts.subject.spawn.emplace().workers = 2;
  facts.subject.spawn->devices_selected = true;
  facts.subject.spawn->devices = {"0"};
  CHECK(outline(facts) == Lines{"device-ordinal risk"});
  CHECK(first_finding(facts).evidence == "the command asks for 2 processes, but 1 GPU is visible");
  facts.subject.spawn->devices.clear();  // on the CPU, on purpose
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("hints of the platform are notes, and those of several GPUs need several",
          "[doctor][gpus]") {
  doctor::HostFacts facts = healthy_host();
  facts.platform.wsl = true;
  facts.platform.numa_policy = false;
  facts.platform.virtual_machine = true;
  CHECK(outline(facts) == Lines{"wsl-topology note", "cumem-host-broken note", "gpu-p2p note"});
  facts.gpus = 1;
  CHECK(outline(facts) == Lines{"wsl-topology note", "cumem-host-broken note"});
  facts.gpus = 0;
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("where an IOMMU translates the virtual machine is not told as well", "[doctor][gpus]") {
  doctor::HostFacts facts = healthy_host();
  facts.platform.iommu_translates = facts.platform.virtual_machine = true;
  CHECK(outline(facts) == Lines{"gpu-p2p note"});
  CHECK_THAT(first_finding(facts).evidence, ContainsSubstring("iommu_groups"));
}
