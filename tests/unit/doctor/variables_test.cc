#include "catch.h"
#include "healthy_host.h"

using namespace safelaunch;

using namespace safelaunch::doctor;
using namespace safelaunch::testing;
using Catch::Matchers::ContainsSubstring;
using Lines = std::vector<std::string>;

TEST_CASE("a variable that nobody reads is a note with the way to the truth",
          "[doctor][variables]") {
  doctor::HostFacts facts = healthy_host();
  facts.subject.environment = {{"NCCL_TIMEOUT", "60"}, {"NCCL_DEBUG", "INFO"}, {"PATH", "/bin"}};
  CHECK(outline(facts) == Lines{"variable note"});
  CHECK(first_finding(facts).remedy == "safelaunch explain NCCL_TIMEOUT");
}

TEST_CASE("a value that a forgotten file sets is told with its place", "[doctor][variables]") {
  doctor::HostFacts facts = healthy_host();
  facts.nccl_files = {{"NCCL_P2P_DISABLE", "1", "/etc/nccl.conf", 2}};
  CHECK_THAT(first_finding(facts).evidence,
             ContainsSubstring("/etc/nccl.conf:2 sets NCCL_P2P_DISABLE=1 for every job"));
  facts.subject.environment = {{"NCCL_P2P_DISABLE", "0"}};
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("only NCCL's variables of DeepSpeed's file are told, where nothing overrides them",
          "[doctor][variables]") {
  doctor::HostFacts facts = healthy_host();
  facts.deepspeed_files = {{"NCCL_DEBUG", "INFO", "/home/a/.deepspeed_env", 1},
                           {"PATH", "/bin", "/home/a/.deepspeed_env", 2}};
  CHECK(outline(facts) == Lines{"variable note"});
  CHECK(first_finding(facts).evidence ==
        "/home/a/.deepspeed_env:1 sets NCCL_DEBUG=INFO on the nodes that deepspeed reaches by ssh");
  facts.subject.environment = {{"NCCL_DEBUG", "WARN"}};
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("a variable of a file that nobody reads is told with why", "[doctor][variables]") {
  doctor::HostFacts facts = healthy_host();
  facts.nccl_files = {{"NCCL_TIMEOUT", "60", "/etc/nccl.conf", 1},
                      {"MASTER_PORT", "1", "/etc/nccl.conf", 2}};
  CHECK(outline(facts) == Lines{"variable note"});
  CHECK_THAT(first_finding(facts).evidence,
             ContainsSubstring("sets NCCL_TIMEOUT=60 for every job with NCCL; "));
}
