#include "safelaunch/profile/trust.h"

#include <set>

#include "catch.h"
#include "safelaunch/settings/run_options.h"

using namespace safelaunch;

using namespace safelaunch::profile;

namespace {

std::string why(std::string_view text) {
  return what_needs_trust(text).value_or("nothing");
}

}  // namespace

TEST_CASE("variables that tune a library are harmless", "[needs_trust]") {
  for (const char* name : {"NCCL_DEBUG", "NCCL_P2P_DISABLE", "OMP_NUM_THREADS", "NCCL_IB_TIMEOUT"})
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

TEST_CASE("variables that say where ranks meet are not harmless", "[needs_trust]") {
  for (const char* name :
       {"NCCL_COMM_ID", "NCCL_SOCKET_IFNAME", "NCCL_SOCKET_FAMILY", "NCCL_RAS_ADDR", "NCCL_HOSTID",
        "NCCL_OOB_NET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "FI_TCP_IFACE",
        "UCX_RDMA_CM_SOURCE_ADDRESS", "NCCL_IB_HCA", "UCX_NET_DEVICES", "FI_PSM3_NIC"})
    CHECK_FALSE(is_harmless_variable(name));
  CHECK(why("env: {NCCL_COMM_ID: '10.0.0.9:4444'}") == "sets NCCL_COMM_ID");
}

TEST_CASE("no variable of a library that has keys, commands and mail among its own is harmless",
          "[needs_trust][bug]") {
  for (const char* name :
       {"GLOO_DEVICE_TRANSPORT_TCP_TLS_PKEY", "GLOO_DEVICE_TRANSPORT_TCP_TLS_CERT",
        "UCX_ERROR_MAIL_TO", "UCX_TLS", "FI_PROVIDER", "TP_ANYTHING"})
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

TEST_CASE("an option needs trust unless it is a deadline, what is tried, or what is shown",
          "[needs_trust]") {
  const std::set<std::string_view> free{"max-attempts",
                                        "only",
                                        "fail-on-slow",
                                        "init-timeout",
                                        "collective-timeout",
                                        "quiet-timeout",
                                        "stopped-timeout",
                                        "work-timeout",
                                        "start-timeout",
                                        "stall-timeout",
                                        "nodes-timeout",
                                        "node-lease",
                                        "grace",
                                        "probe",
                                        "no-hook",
                                        "no-plugin",
                                        "binding",
                                        "ranks",
                                        "nproc-per-node",
                                        "devices",
                                        "prefix",
                                        "rank-files",
                                        "color",
                                        "no-color",
                                        "verbose",
                                        "quiet"};
  for (const settings::Option& option : settings::run_options()) {
    if (option.name == "json") continue;
    INFO(option.name);
    const std::string name(option.name);
    CHECK(why("options: {" + name + ": 1}") ==
          (free.contains(option.name) ? "nothing" : "sets the option " + name));
  }
}

TEST_CASE("a file may have the report shown as JSON, and name no file for it", "[needs_trust]") {
  for (const char* word : {"true", "false", "1"})
    CHECK(why(std::string("options: {json: ") + word + "}") == "nothing");
  for (const char* file : {"/home/me/x.json", "plan.json", "/dev/fd/3"})
    CHECK(why(std::string("options: {json: ") + file + "}") == "sets the option json");
}

TEST_CASE("an option that there is not needs no trust: the reader refuses it", "[needs_trust]") {
  CHECK(why("options: {init-timeuot: 5s}") == "nothing");
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
      {"resume: {newer: a, append: [--x]}", "starts training again"},
      {"retry: {}", "starts training again"},
      {"{resume: off, retry: off}", "nothing"},
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
