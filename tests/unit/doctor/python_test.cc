#include <filesystem>
#include <fstream>

#include "catch.h"
#include "healthy_host.h"
#include "safelaunch/doctor/host_facts.h"
#include "temporary_folder.h"

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

TEST_CASE("a proxy does not hold for a coordinator whose IPv6 address is excepted",
          "[doctor][python]") {
  doctor::HostFacts facts = healthy_host();
  facts.imports_jax = true;
  facts.subject.environment = {{"https_proxy", "http://proxy:3128"},
                               {"no_proxy", "fd00::7"},
                               {"JAX_COORDINATOR_ADDRESS", "[fd00::7]:1234"}};
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("gRPC reads no proxy in capitals", "[doctor][python]") {
  doctor::HostFacts facts = healthy_host();
  facts.imports_jax = true;
  facts.subject.environment = {{"HTTPS_PROXY", "http://proxy:3128"}};
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("a CUDA toolkit of another major version than torch's is a risk where DeepSpeed is",
          "[doctor][python]") {
  doctor::HostFacts facts = healthy_host();
  facts.libraries->torch_cuda = "13.0";
  facts.toolkit = {"/usr/local/cuda", "12.4"};
  CHECK(outline(facts) == Lines{});
  facts.packages = {{"deepspeed", "0.19.8"}};
  CHECK(outline(facts) == Lines{"extension-tools risk"});
  CHECK_THAT(first_finding(facts).evidence,
             ContainsSubstring("/usr/local/cuda is CUDA 12.4, and torch was built for CUDA 13.0"));
  facts.toolkit.version = "13.2";
  CHECK(outline(facts) == Lines{});
  facts.toolkit.version = "12.4";
  facts.subject.environment = {{"DS_SKIP_CUDA_CHECK", "1"}};
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("the CUDA toolkit is found where torch finds it, and told by its header",
          "[doctor][python]") {
  const TemporaryFolder folder;
  const std::filesystem::path root = folder / "";
  const auto make = [&](const char* name, const char* version) {
    std::filesystem::create_directories(root / name / "include");
    std::filesystem::create_directories(root / name / "bin");
    std::ofstream(root / name / "include" / "cuda.h")
        << "#define __cuda_cuda_h__\n#define CUDA_VERSION " << version << "\n";
    std::ofstream(root / name / "bin" / "nvcc");
  };
  make("usual", "12040");
  make("named", "13000");
  make("in-path", "11080");
  const auto found = [&](const Environment& environment) {
    return find_toolkit(environment, root / "usual").version;
  };
  CHECK(found({}) == "12.4");
  CHECK(found({{"PATH", "/proc/none:" + (root / "in-path/bin").native()}}) == "11.8");
  CHECK(found({{"CUDA_HOME", (root / "named").native()},
               {"PATH", (root / "in-path/bin").native()}}) == "13.0");
  CHECK(find_toolkit({}, root / "none").version.empty());
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
  facts.gpus = 0;
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("a lock's file keeps no build of torch 2.14 waiting", "[doctor][python]") {
  doctor::HostFacts facts = healthy_host();
  facts.locks = {stale_file("/home/a/.cache/torch_extensions/x/lock", clean::Claim::ours)};
  facts.libraries->torch_version = "2.14.1+cu130";
  CHECK(outline(facts) == Lines{});
  facts.libraries->torch_version = "2.13.0+cu130";
  CHECK(outline(facts) == Lines{"extension-lock risk"});
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

TEST_CASE("an import is found in every form that Python takes", "[doctor][python]") {
  for (const char* source :
       {"import jax", "import os, jax", "import numpy as np, jax.numpy as jnp\n", "import os,jax",
        "import jax\r\nimport os\r\n", "import jax as j", "import jax# fast", "import\tjax",
        "from jax.numpy import add", "try:\n    import jax\nexcept ImportError: pass",
        "x = 1;import jax"})
    CHECK(doctor::imports_module(source, "jax"));
}

TEST_CASE("what only holds the name of a module imports it not", "[doctor][python]") {
  for (const char* source :
       {"", "jax", "import", "import ", "from", "import os # , jax", "from os import jax",
        "import os as jax", "reimport jax", "importjax", "import jaxlib, os.jax", "import os,",
        "print('import', 'jax')", "import xjax"})
    CHECK_FALSE(doctor::imports_module(source, "jax"));
}

TEST_CASE("frameworks are listed by name, the first folder before the others", "[doctor][python]") {
  const TemporaryFolder folder;
  for (const char* name :
       {"a/torch-2.7.0+cu128.dist-info", "a/jax-0.10.dist-info", "a/numpy-2.0.dist-info",
        "b/torch-1.0.dist-info", "b/deepspeed-0.19.8.dist-info", "b/jaxlib-0.10.dist-info"})
    folder.write(std::string(name) + "/METADATA", "");
  const std::vector<std::string> folders{folder / "a", folder / "none", folder / "b"};
  CHECK(doctor::frameworks_in(folders) == std::vector<doctor::Package>{{"deepspeed", "0.19.8"},
                                                                       {"jax", "0.10"},
                                                                       {"torch", "2.7.0+cu128"}});
  CHECK(doctor::version_of(doctor::frameworks_in(folders), "torch") == "2.7.0+cu128");
  CHECK(doctor::version_of({}, "torch").empty());
}

TEST_CASE("gRPC takes the first proxy that is set", "[doctor][python]") {
  doctor::HostFacts facts = healthy_host();
  facts.imports_jax = true;
  facts.subject.environment = {
      {"grpc_proxy", ""}, {"https_proxy", "http://a"}, {"http_proxy", "http://b"}};
  CHECK(first_finding(facts).evidence ==
        "https_proxy is set, the script imports jax, and no_proxy does not name localhost");
  facts.subject.environment["grpc_proxy"] = "http://c";
  CHECK(first_finding(facts).evidence.starts_with("grpc_proxy is set"));
}

TEST_CASE("the coordinator of JAX is the master where no variable names one", "[doctor][python]") {
  doctor::HostFacts facts = healthy_host();
  facts.imports_jax = true;
  facts.world.master_address = "node0";
  facts.subject.environment = {{"http_proxy", "http://a"}, {"no_proxy", " node1, node0"}};
  CHECK(outline(facts) == Lines{});
  facts.subject.environment["no_proxy"] = "node1,,";
  CHECK(outline(facts) == Lines{"jax-proxy risk"});
  facts.subject.environment["no_grpc_proxy"] = "node0";
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("only the versions that hang are findings", "[doctor][python]") {
  doctor::HostFacts facts = healthy_host();
  for (const char* torch : {"2.7.1", "2.7.0a0", "2.7.01", "12.7.0", ""}) {
    facts.libraries->torch_version = torch;
    CHECK(outline(facts) == Lines{});
  }
  facts.libraries->torch_version = "2.7.0";
  CHECK(outline(facts) == Lines{"nccl-nonblocking risk"});
  facts.libraries->torch_version = "2.13.0";
  for (const auto& [nccl, lines] :
       std::vector<std::pair<const char*, Lines>>{{"2.26.2", {"nccl-release risk"}},
                                                  {"2.26.5", {}},
                                                  {"2.29.3", {}},
                                                  {"unknown", {}},
                                                  {"", {}}}) {
    facts.libraries->nccl[0].version = nccl;
    CHECK(outline(facts) == lines);
  }
}
