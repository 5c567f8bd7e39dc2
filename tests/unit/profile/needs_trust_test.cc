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
        "UCX_MODULE_DIR", "UCX_GDB_COMMAND", "UCX_STATS_DEST", "OMP_TOOL_LIBRARIES",
        "CUDA_INJECTION64_PATH", "TORCH_EXTENSIONS_DIR"})
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

TEST_CASE("an option needs trust where it writes to a place that the file names", "[needs_trust]") {
  for (const char* option :
       {"clean: ours", "keep-days: 1", "keep-runs: 1", "log-dir: x", "run-dir: x",
        "json: /home/me/x.json", "json: plan.json", "rendezvous: file:///tmp/x"}) {
    INFO(option);
    const std::string name(option, std::string(option).find(':'));
    CHECK(why("options: {" + std::string(option) + "}") == "sets the option " + name);
  }
  for (const char* option :
       {"json: true", "json: false", "json: 1", "rendezvous: tcp://h:5", "rendezvous: none",
        "grace: 5s", "port: keep", "only: true", "no-hook: true", "ranks: '0'"}) {
    INFO(option);
    CHECK(why("options: {" + std::string(option) + "}") == "nothing");
  }
}

TEST_CASE("each key of a file is looked at for what it may do", "[needs_trust]") {
  struct Row {
    const char* text;
    const char* why;
  };
  const Row rows[] = {
      {"unset: [NCCL_DEBUG]", "nothing"},
      {"unset: [NCCL_DEBUG, HOME]", "unsets HOME"},
      {"env: {NCCL_A: 1, B: 2, C: 3}", "sets B"},
      {"args: {}", "changes the script's arguments"},
      {"extends: basic", "nothing"},
      {"extends: ../evil", "names the file ../evil"},
      {"extends: evil.yaml", "names the file evil.yaml"},
      {"chain: basic,no-shm", "nothing"},
      {"chain: [basic, x/y]", "names the file x/y"},
      {"chain: [[x/y]]", "names the file x/y"},
      {"heals: [x/y]", "nothing"},
      {"processes: 1", "nothing"},
      {"backend: gloo", "nothing"},
      {"python: {faulthandler: true}", "nothing"},
      {"clusters: [{name: a, chain: [./b]}]", "names the file ./b"},
      {"clusters: [{name: a, options: {run-dir: x}}]", "sets the option run-dir"},
      {"clusters: [{name: a}, {name: b, unset: [PATH]}]", "unsets PATH"},
      {"clusters: [{name: a, match: {env: {PATH: x}}}]", "nothing"},
      {"- env", "nothing"},
      {"word", "nothing"},
      {"a: [", "nothing"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(why(row.text) == row.why);
  }
}
