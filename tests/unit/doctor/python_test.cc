#include "catch.h"
#include "healthy_host.h"
#include "safelaunch/doctor/facts.h"

using namespace safelaunch;

using namespace safelaunch::doctor;
using namespace safelaunch::testing;
using Catch::Matchers::ContainsSubstring;
using Lines = std::vector<std::string>;

TEST_CASE("imports are told from words that look like them", "[doctor][python]") {
  CHECK(doctor::imports_module("import os\nimport jax\n", "jax"));
  CHECK(doctor::imports_module("import jax.numpy as jnp", "jax"));
  CHECK(doctor::imports_module("  from jax import numpy", "jax"));
  CHECK(doctor::imports_module("import os; import jax", "jax"));
  CHECK_FALSE(doctor::imports_module("import jaxtyping\n# import jax\ntext = 'import jax'", "jax"));
}

TEST_CASE("the name of a dist-info tells package and version", "[doctor][python]") {
  CHECK(doctor::parse_dist_info("deepspeed-0.19.8.dist-info") ==
        doctor::Package{"deepspeed", "0.19.8"});
  CHECK(doctor::parse_dist_info("deepspeed") == doctor::Package{});
  CHECK(doctor::parse_dist_info("x.dist-info") == doctor::Package{});
}

TEST_CASE("a proxy comes between JAX's processes", "[doctor][python]") {
  doctor::HostFacts facts = healthy_host();
  facts.subject.environment = {{"https_proxy", "http://proxy:3128"},
                               {"JAX_COORDINATOR_ADDRESS", "node0:1234"}};
  CHECK(outline(facts) == Lines{});
  facts.imports_jax = true;
  CHECK(outline(facts) == Lines{"jax-proxy risk"});
  CHECK(first_finding(facts).remedy == "export no_proxy=${no_proxy:+$no_proxy,}node0");
}

TEST_CASE("a proxy that does not hold for the coordinator is no finding", "[doctor][python]") {
  doctor::HostFacts facts = healthy_host();
  facts.imports_jax = true;
  for (const char* list : {"localhost,node0.cluster", ".cluster", "*"}) {
    facts.subject.environment = {{"https_proxy", "http://proxy:3128"},
                                 {"no_proxy", list},
                                 {"JAX_COORDINATOR_ADDRESS", "node0.cluster:1234"}};
    CHECK(outline(facts) == Lines{});
  }
}

TEST_CASE("gRPC reads no proxy in capitals", "[doctor][python]") {
  doctor::HostFacts facts = healthy_host();
  facts.imports_jax = true;
  facts.subject.environment = {{"HTTPS_PROXY", "http://proxy:3128"}};
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("torch 2.7.0 may hang with GPUs", "[doctor][python]") {
  doctor::HostFacts facts = healthy_host();
  facts.libraries->torch_version = "2.7.0+cu128";
  CHECK(outline(facts) == Lines{"nccl-nonblocking risk"});
  facts.subject.environment = {{"TORCH_NCCL_USE_COMM_NONBLOCKING", "0"}};
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("a release of NCCL that hangs is named with its file", "[doctor][python]") {
  doctor::HostFacts facts = healthy_host();
  facts.libraries->nccl[0].version = "2.29.2";
  CHECK(outline(facts) == Lines{"nccl-release risk"});
  CHECK_THAT(first_finding(facts).evidence, ContainsSubstring("/venv/libnccl.so.2"));
  facts.host.gpus = 0;
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("a stale lock of ours can be removed, another's is for its owner", "[doctor][python]") {
  doctor::HostFacts facts = healthy_host();
  facts.locks = {stale_file("/home/a/.cache/torch_extensions/x/lock", clean::Claim::ours),
                 stale_file("/shared/torch_extensions/y/lock", clean::Claim::unproven)};
  const auto advices = doctor::examine(facts);
  REQUIRE(advices.size() == 2);
  CHECK(advices[0].finding.remedy == "safelaunch doctor --fix");
  CHECK(advices[0].can_be_fixed());
  CHECK_THAT(advices[1].finding.remedy, ContainsSubstring("rm /shared/torch_extensions/y/lock"));
  CHECK_FALSE(advices[1].can_be_fixed());
}

TEST_CASE("a run that will remove a stale lock by itself does not send its user away for it",
          "[doctor][python]") {
  doctor::HostFacts facts = healthy_host();
  facts.locks = {stale_file("/home/a/.cache/torch_extensions/x/lock", clean::Claim::ours)};
  facts.subject.removes_locks = true;
  CHECK_THAT(first_finding(facts).remedy, ContainsSubstring("none is needed, the run removes it"));
}
