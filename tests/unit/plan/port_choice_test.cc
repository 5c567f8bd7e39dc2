#include "safelaunch/plan/port_choice.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::plan;
using Catch::Matchers::ContainsSubstring;

namespace {

RunPlan plan_of(std::vector<std::string> command, const std::string& port = "auto",
                Environment environment = {}) {
  settings::RunOptions options;
  options.command = std::move(command);
  options.port = settings::parse_port_wish(port).value();
  environment["HOME"] = "/proc/nonexistent";
  return *make_plan(options, {}, environment);
}

const std::vector<std::string> kSeveralNodes{
    "torchrun", "--nnodes=2", "--node-rank=0", "--master-addr=n0", "--master-port=29500", "x.py"};

clean::PortLease held() {
  return *clean::lease_port(clean::automatic_ports(clean::ephemeral_ports()));
}

std::vector<std::string> torchrun_at(int port) {
  return {"torchrun", "--master-port=" + std::to_string(port), "x.py"};
}

}  // namespace

TEST_CASE("a port that other nodes know is never changed, unless their agents agree on it",
          "[port_choice]") {
  RunPlan plan = plan_of(kSeveralNodes);
  CHECK(choose_port(plan, {}, FormerPort::was_taken)->lease.has_value());
  plan.party.reset();
  const auto choice = choose_port(plan, {}, FormerPort::was_taken);
  REQUIRE(choice.has_value());
  CHECK_FALSE(choice->lease.has_value());
}

TEST_CASE("a launcher that finds a port by itself is left alone until one was taken",
          "[port_choice]") {
  const RunPlan plan = plan_of({"torchrun", "x.py"});
  CHECK_FALSE(choose_port(plan, {}, FormerPort::none)->lease.has_value());
  CHECK(choose_port(plan, {}, FormerPort::was_taken)->lease.has_value());
}

TEST_CASE("where no port is named a free one is leased", "[port_choice]") {
  const auto choice = choose_port(plan_of({"deepspeed", "x.py"}), {}, FormerPort::none);
  REQUIRE(choice.has_value());
  REQUIRE(choice->lease.has_value());
  CHECK(choice->notice.empty());
}

TEST_CASE("the user's own port is taken where it is free", "[port_choice]") {
  int port = 0;
  {
    const clean::PortLease lease = held();
    port = lease.port();
  }
  const auto choice = choose_port(plan_of(torchrun_at(port)), {}, FormerPort::none);
  REQUIRE(choice.has_value());
  CHECK(choice->lease->port() == port);
}

TEST_CASE("a port that somebody holds is exchanged, and the user told who", "[port_choice]") {
  const clean::PortLease taken = held();
  const auto choice = choose_port(plan_of(torchrun_at(taken.port())), {}, FormerPort::none);
  REQUIRE(choice.has_value());
  REQUIRE(choice->lease.has_value());
  CHECK(choice->lease->port() != taken.port());
  CHECK_THAT(choice->notice,
             ContainsSubstring("port " + std::to_string(taken.port()) + " is held by"));
}

TEST_CASE("the port of a command without a launcher is exchanged only after it was found taken",
          "[port_choice]") {
  const clean::PortLease taken = held();  // perhaps by another part of the same job
  const Environment environment{{"MASTER_PORT", std::to_string(taken.port())}};
  for (const auto& command : {std::vector<std::string>{"python3", "x.py"}, {"bash", "node.sh"}}) {
    const RunPlan plan = plan_of(command, "auto", environment);
    const auto first = choose_port(plan, {}, FormerPort::none);
    REQUIRE(first.has_value());
    CHECK_FALSE(first->lease.has_value());
    CHECK(first->kept == taken.port());
    CHECK(first->notice.empty());
    const auto second = choose_port(plan, {}, FormerPort::was_taken);
    REQUIRE(second.has_value());
    CHECK(second->lease.has_value());
  }
}

TEST_CASE("the port of a plain command that meets on another host is never exchanged",
          "[port_choice]") {
  const RunPlan plan =
      plan_of({"bash", "node.sh"}, "auto", {{"MASTER_PORT", "29500"}, {"MASTER_ADDR", "10.9.9.9"}});
  for (const FormerPort former : {FormerPort::none, FormerPort::was_taken}) {
    const auto choice = choose_port(plan, {}, former);
    REQUIRE(choice.has_value());
    CHECK_FALSE(choice->lease.has_value());
    CHECK_FALSE(choice->kept);
  }
}

TEST_CASE("the port of a store that another process or another host holds is never exchanged",
          "[port_choice]") {
  const std::string taken = std::to_string(held().port());
  const std::string here = "--rdzv-endpoint=127.0.0.1:" + taken;
  const std::vector<std::vector<std::string>> elsewhere{
      {"torchrun", "--rdzv-backend=c10d", here, "--rdzv-conf=is_host=0", "x.py"},
      {"torchrun", "--rdzv-backend=c10d", here, "--rdzv-conf", "timeout=9,is_host=False", "x.py"},
      {"torchrun", "--rdzv-backend=c10d", "--rdzv-endpoint=n9:" + taken, "x.py"},
      {"torchrun", "--master-addr=192.0.2.9", "--master-port=" + taken, "x.py"},
      {"accelerate", "launch", "--main_process_ip", "n9", "--main_process_port", taken, "x.py"}};
  for (const auto& command : elsewhere) {
    const auto choice = choose_port(plan_of(command), {}, FormerPort::none);
    REQUIRE(choice.has_value());
    INFO(command.at(1) + " " + command.at(2));
    CHECK_FALSE(choice->lease.has_value());
  }
  for (const char* is_host : {"is_host=1", "timeout=9"}) {
    const auto choice = choose_port(
        plan_of({"torchrun", "--rdzv-backend=c10d", here, "--rdzv-conf", is_host, "x.py"}), {},
        FormerPort::none);
    CHECK(choice->lease.has_value());
  }
}

TEST_CASE("a node whose others did not come leaves the port that they know", "[port_choice]") {
  const clean::PortLease taken = held();
  const RunPlan plan =
      plan_of({"torchrun", "--nnodes=2", "--node-rank=0", "--master-addr=127.0.0.1",
               "--master-port=" + std::to_string(taken.port()), "x.py"});
  CHECK(choose_port(plan, {}, FormerPort::none)->lease.has_value());
  CHECK_FALSE(choose_port(plan, {}, FormerPort::none, Agents::are_apart)->lease.has_value());
}

TEST_CASE("a port that the user insists on is not exchanged", "[port_choice]") {
  const clean::PortLease taken = held();
  const bool by_profile = GENERATE(false, true);
  profile::Profile profile;
  if (by_profile) profile.options["port"] = {"keep", "mine.yaml:1:1"};
  const auto choice = choose_port(plan_of(torchrun_at(taken.port()), by_profile ? "auto" : "keep"),
                                  profile, FormerPort::none);
  REQUIRE_FALSE(choice.has_value());
  CHECK(choice.error().code == Errc::blocked);
}

TEST_CASE("a range of ports is the user's word too", "[port_choice]") {
  const clean::PortLease taken = held();
  const std::string number = std::to_string(taken.port());
  CHECK_FALSE(choose_port(plan_of({"torchrun", "x.py"}, number), {}, FormerPort::none).has_value());
}

TEST_CASE("for a command that has no place for a port none is held", "[port_choice]") {
  for (const auto& command : {std::vector<std::string>{"python3", "x.py"},
                              {"sh", "-c", "true"},
                              {"torchrun", "--standalone", "x.py"}})
    for (const FormerPort former : {FormerPort::none, FormerPort::was_taken}) {
      const auto choice = choose_port(plan_of(command, "20000-20100"), {}, former);
      REQUIRE(choice.has_value());
      CHECK_FALSE(choice->lease.has_value());
    }
}

TEST_CASE("ranks of our own spawn always have a number", "[port_choice]") {
  settings::RunOptions options;
  options.command = {"python3", "x.py"};
  options.nproc_per_node = "2";
  const RunPlan plan = *make_plan(options, {}, {{"HOME", "/proc/nonexistent"}});
  CHECK(choose_port(plan, {}, FormerPort::none)->lease.has_value());
}

TEST_CASE("a mistyped port is replaced by none of ours, not even after one was taken",
          "[port_choice]") {
  std::vector<std::string> several = kSeveralNodes;
  several[4] = "--master-port=295O0";
  const std::vector<std::string> alone{"torchrun", "--master-port=99999", "x.py"};
  for (const auto& command : {alone, several})
    for (const FormerPort former : {FormerPort::none, FormerPort::was_taken})
      CHECK_FALSE(choose_port(plan_of(command), {}, former)->lease.has_value());
}
