#include "safelaunch/profile/trust.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::profile;

namespace {

std::string why(std::string_view text) {
  return what_needs_trust(text).value_or("nothing");
}

}  // namespace

TEST_CASE("variables that tune a library are harmless", "[needs_trust]") {
  for (const char* name : {"NCCL_DEBUG", "NCCL_SOCKET_IFNAME", "NCCL_P2P_DISABLE", "UCX_TLS",
                           "OMP_NUM_THREADS", "GLOO_SOCKET_IFNAME", "FI_PROVIDER"})
    CHECK(is_harmless_variable(name));
}

TEST_CASE("variables that run code or name a file are not harmless", "[needs_trust]") {
  for (const char* name :
       {"LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONSTARTUP", "PATH", "HOME", "BASH_ENV",
        "NCCL_NET_PLUGIN", "NCCL_CONF_FILE", "NCCL_DEBUG_FILE", "FI_PROVIDER_PATH",
        "UCX_MODULE_DIR", "OMP_TOOL_LIBRARIES", "CUDA_INJECTION64_PATH", "TORCH_EXTENSIONS_DIR"})
    CHECK_FALSE(is_harmless_variable(name));
}

TEST_CASE("a file says what it would need trust for", "[needs_trust]") {
  CHECK(why("env: {NCCL_DEBUG: INFO}\noptions: {grace: 5s}\nchain: [basic, no-shm]") == "nothing");
  CHECK(why("") == "nothing");
  CHECK(why("env: {NCCL_DEBUG: INFO, LD_PRELOAD: /x.so}") == "sets LD_PRELOAD");
  CHECK(why("unset: [PATH]") == "unsets PATH");
  CHECK(why("options: {clean: orphans}") == "sets the option clean");
  CHECK(why("options: {log-dir: /x}") == "sets the option log-dir");
  CHECK(why("args: {append: [--evil]}") == "changes the script's arguments");
  CHECK(why("chain: [./evil.yaml]") == "names the file ./evil.yaml");
  CHECK(why("extends: evil.yml") == "names the file evil.yml");
}

TEST_CASE("a cluster rule is looked through as well", "[needs_trust]") {
  CHECK(why("clusters: [{name: a, env: {PYTHONPATH: /x}}]") == "sets PYTHONPATH");
}
