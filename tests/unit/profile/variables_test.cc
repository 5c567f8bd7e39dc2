#include "safelaunch/profile/variables.h"

#include <algorithm>
#include <set>

#include "catch.h"
#include "safelaunch/base/language.h"

using namespace safelaunch;

using namespace safelaunch::profile;

namespace {

std::string warning(std::string_view name, std::string_view value = "1") {
  return warning_for(name, value).value_or("none");
}

}  // namespace

TEST_CASE("variables that nobody reads are told, with what to use", "[variables]") {
  CHECK(warning("NCCL_TIMEOUT", "1800") ==
        "NCCL_TIMEOUT has no effect by itself: neither NCCL, torch, DeepSpeed, accelerate nor JAX "
        "reads it; use instead: process_group_timeout: 30min in a profile, DEEPSPEED_TIMEOUT for "
        "DeepSpeed, "
        "--ddp_timeout for HF Trainer");
  for (const char* name : {"ACCELERATE_USE_GLOO", "TORCH_DISTRIBUTED_BACKEND",
                           "NCCL_SOCKET_TIMEOUT", "NCCL_NET_RETRY_COUNT"}) {
    INFO(name);
    CHECK(warning(name).starts_with(std::string(name) + " has no effect by itself"));
  }
}

TEST_CASE("old names are told with the new ones", "[variables]") {
  for (const char* name : {"NCCL_BLOCKING_WAIT", "NCCL_ASYNC_ERROR_HANDLING", "NCCL_DESYNC_DEBUG"})
    CHECK(warning(name) ==
          std::string(name) +
              " is an old name: torch reads it, not NCCL, and warns; use instead: TORCH_" + name +
              " (torch 2.2)");
  CHECK(warning("NCCL_TREE_THRESHOLD") ==
        "NCCL has not read NCCL_TREE_THRESHOLD since 2.5; use instead: NCCL_ALGO");
}

TEST_CASE("values that do nothing, or something else, are told", "[variables]") {
  CHECK(warning("NCCL_SOCKET_IFNAME", "e") ==
        "NCCL_SOCKET_IFNAME=e: NCCL ignores a name of one character");
  CHECK(warning("NCCL_SOCKET_IFNAME", "lo") == "none");
  CHECK(warning("NCCL_IB_TIMEOUT", "1800").find("not seconds") != std::string::npos);
  CHECK(warning("NCCL_IB_TIMEOUT", "22") == "none");
  CHECK(warning("NCCL_SOCKET_FAMILY", "ipv4").find("AF_INET") != std::string::npos);
  CHECK(warning("NCCL_SOCKET_FAMILY", "AF_INET6") == "none");
  CHECK(warning("NCCL_DEBUG", "DEBUG").find("VERSION, WARN") != std::string::npos);
  CHECK(warning("NCCL_DEBUG", "info") == "none");
  CHECK(warning("TORCH_DISTRIBUTED_DEBUG", "1").find("raises") != std::string::npos);
  CHECK(warning("TORCH_DISTRIBUTED_DEBUG", "DETAIL").find("slow") != std::string::npos);
  CHECK(warning("TORCH_DISTRIBUTED_DEBUG", "INFO") == "none");
  CHECK(warning("DEEPSPEED_TIMEOUT", "7200").find("minutes") != std::string::npos);
  CHECK(warning("DEEPSPEED_TIMEOUT", "30") == "none");
  CHECK(warning("NCCL_COMM_BLOCKING", "0") != "none");
  CHECK(warning("NCCL_COMM_BLOCKING", "1") == "none");
  CHECK(warning("CUDA_LAUNCH_BLOCKING", "1") != "none");
  CHECK(warning("CUDA_LAUNCH_BLOCKING", "0") == "none");
  CHECK(warning("NCCL_COMM_ID", "1.2.3.4:5") != "none");
}

TEST_CASE("a misspelt name is told with the right one", "[variables]") {
  CHECK(warning("NCCL_SOCKET_IFNAM", "eth0") ==
        "NCCL_SOCKET_IFNAM: no NCCL or torch that safelaunch knows reads it; did you mean "
        "'NCCL_SOCKET_IFNAME'?");
  CHECK(nearest_variable("NCCL_IB_DISABEL") == "NCCL_IB_DISABLE");
  CHECK(nearest_variable("TORCH_NCCL_BLOCKING_WAITS") == "TORCH_NCCL_BLOCKING_WAIT");
  CHECK(nearest_variable("GLOO_SOCKET_IFNAMES") == "GLOO_SOCKET_IFNAME");
}

TEST_CASE("right names, and names of others, are left alone", "[variables]") {
  for (const char* name :
       {"NCCL_IB_SL", "NCCL_ALGO", "NCCL_PROTO", "NCCL_VERSION", "NCCL_HOME", "NCCL_TUNER_CONFIG",
        "NCCL_INSPECTOR_ENABLE", "TORCH_NCCL_NAN_CHECK", "PATH", "HOME", "MY_NCCL", "NCCLX",
        "NCCL_PROGRESS_COUNTERS_POLL_MS", "OMP_NUM_THREADS", "XLA_FLAGS"}) {
    INFO(name);
    CHECK(warning(name, "2") == "none");
  }
}

TEST_CASE("no variable stands twice in the tables, and each has its truth", "[variables]") {
  std::set<std::string_view> names;
  for (const Variable& variable : explained_variables()) {
    INFO(variable.name);
    CHECK(names.insert(variable.name).second);
    CHECK((!variable.truth.empty() || variable.standing == Standing::gone));
    CHECK((variable.standing == Standing::gone) ==
          (!variable.until.empty() && variable.truth.empty()));
    if (variable.standing != Standing::read) CHECK_FALSE(variable.instead.empty());
  }
  for (const NcclVariable& variable : nccl_variables()) {
    INFO(variable.name);
    CHECK(names.insert(variable.name).second);
    CHECK(variable.name.starts_with("NCCL_"));
  }
}

TEST_CASE("a variable is explained", "[variables]") {
  CHECK(explain_variable("NCCL_CUMEM_HOST_ENABLE")
            .starts_with("NCCL_CUMEM_HOST_ENABLE\n  read by: NCCL, from 2.23 on\n  what it does: "
                         "host buffers"));
  CHECK(explain_variable("NCCL_TIMEOUT").find("  use instead: process_group_timeout") !=
        std::string::npos);
  CHECK(explain_variable("NCCL_PAT_ENABLE") ==
        "NCCL_PAT_ENABLE\n  read by: NCCL, from 2.23 on, no longer in 2.31\n");
  CHECK(explain_variable("NCCL_DEBUGS") ==
        "NCCL_DEBUGS: not known to safelaunch; did you mean 'NCCL_DEBUG'?\n");
  CHECK(explain_variable("FOO") == "FOO: not known to safelaunch\n");
}

TEST_CASE("the warnings for a file's variables have their places", "[variables]") {
  const VariableSettings env{{"NCCL_ALGO", {"Ring", {"f.yaml", 1, 2}}},
                             {"NCCL_SOCKET_IFNAME", {"e", {"f.yaml", 3, 4}}}};

  CHECK(warnings_for(env) ==
        std::vector<std::string>{
            "f.yaml:3:4: NCCL_SOCKET_IFNAME=e: NCCL ignores a name of one character"});
}

TEST_CASE("the warnings of a file come in its order", "[variables]") {
  VariableSettings env;
  env["NCCL_IB_DISABEL"] = {"1", {"p.yaml", 2, 41}};
  env["NCCL_TIMEOUT"] = {"1", {"p.yaml", 2, 21}};
  env["NCCL_NET_RETRY_COUNT"] = {"1", {"p.yaml", 3, 1}};
  const std::vector<std::string> warnings = warnings_for(env);
  REQUIRE(warnings.size() == 3);
  CHECK(warnings[0].starts_with("p.yaml:2:21: NCCL_TIMEOUT"));
  CHECK(warnings[1].starts_with("p.yaml:2:41: NCCL_IB_DISABEL"));
  CHECK(warnings[2].starts_with("p.yaml:3:1: NCCL_NET_RETRY_COUNT"));
}

TEST_CASE("each rule on a value, at the last value that is well and the first that is not",
          "[variables]") {
  struct Row {
    const char* name;
    const char* well;
    const char* wrong;
    const char* why;
  };
  const Row rows[] = {
      {"NCCL_SOCKET_IFNAME", "ib", "i", "NCCL ignores a name of one character"},
      {"NCCL_IB_TIMEOUT", "31", "32",
       "it is an exponent (4.096 µs × 2^t, 20 by default, 31 at most), not seconds"},
      {"NCCL_IB_RETRY_CNT", "7", "8", "InfiniBand knows 7 retries at most"},
      {"NCCL_SOCKET_FAMILY", "AF_INET", "af_inet", "NCCL knows AF_INET and AF_INET6 only"},
      {"NCCL_DEBUG", "warn", "WARNING", "NCCL knows VERSION, WARN, INFO, ABORT and TRACE only"},
      {"NCCL_DEBUG", "TRACE", "", "NCCL knows VERSION, WARN, INFO, ABORT and TRACE only"},
      {"TORCH_DISTRIBUTED_DEBUG", "OFF", "off", "torch raises unless it is OFF, INFO or DETAIL"},
      {"TORCH_DISTRIBUTED_DEBUG", "INFO", "DETAIL",
       "it puts a gloo barrier before every collective: slow, and changes what the job does"},
      {"DEEPSPEED_TIMEOUT", "1440", "1441", "it is minutes, not seconds"},
      {"NCCL_COMM_BLOCKING", "1", "0",
       "torch (to 2.14) then uses communicators that are not ready"},
      {"TORCH_NCCL_BLOCKING_WAIT", "0", "1",
       "torch then has no watchdog, so no dump and no heartbeat when a collective hangs"},
      {"CUDA_LAUNCH_BLOCKING", "0", "1",
       "it serialises all kernels and can itself deadlock overlapping collectives"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(warning(row.name, row.well) == "none");
    CHECK(warning(row.name, row.wrong) == std::string(row.name) + "=" + row.wrong + ": " + row.why);
  }
  CHECK(warning("NCCL_COMM_ID", "") ==
        "NCCL_COMM_ID=: every communicator then has the same root, and they collide");
  for (const char* value : {"", "x", "-1", "99999999999999999999"})
    CHECK(warning("NCCL_IB_TIMEOUT", value) == "none");
}

TEST_CASE("every variable that is explained is warned of as its standing says", "[variables]") {
  for (const Variable& variable : explained_variables()) {
    const std::string name(variable.name);
    INFO(name);
    const std::string remedy =
        variable.instead.empty() ? "" : "; use instead: " + std::string(variable.instead);
    switch (variable.standing) {
      case Standing::read: break;
      case Standing::inert:
        CHECK(warning(name) ==
              name + " has no effect by itself: " + std::string(variable.truth) + remedy);
        break;
      case Standing::deprecated:
        CHECK(warning(name) == name + " is an old name: " + std::string(variable.truth) + remedy);
        break;
      case Standing::gone:
        CHECK(warning(name) == std::string(variable.reader) + " has not read " + name + " since " +
                                   std::string(variable.until) + remedy);
        break;
    }
    const std::string text = explain_variable(name);
    CHECK(text.starts_with(name + "\n  read by: " + std::string(variable.reader)));
    CHECK((text.find("\n  use instead: ") != std::string::npos) == !variable.instead.empty());
  }
}

TEST_CASE("every variable of NCCL that only old versions read tells since when", "[variables]") {
  for (const NcclVariable& variable : nccl_variables()) {
    const std::string text = explain_variable(variable.name);
    INFO(variable.name);
    CHECK((text.find(", no longer in " + std::string(variable.until)) != std::string::npos ||
           variable.until.empty()));
    CHECK((text.find(", from " + std::string(variable.since) + " on") != std::string::npos ||
           variable.since.empty()));
  }
}

TEST_CASE("one letter too many, too few or in the wrong place leads to the right name",
          "[variables]") {
  for (const std::string name :
       {"NCCL_DEBUG", "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_HCA", "NCCL_SOCKET_IFNAME",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING", "GLOO_SOCKET_IFNAME"}) {
    const std::size_t last = name.size() - 1;
    std::string swapped = name;
    std::swap(swapped[last], swapped[last - 1]);
    for (const std::string& wrong : {name + "S", name.substr(0, last), swapped}) {
      INFO(wrong);
      CHECK((truth_about(wrong) || nearest_variable(wrong) == name));
    }
    CHECK(nearest_variable(name).empty());
  }
  for (const char* name : {"", "NCCL", "NCCL_", "ncclx_debug", "NCCL_INSPECTOR_X", "XNCCL_DEBUG"})
    CHECK(nearest_variable(name).empty());
}

TEST_CASE("a name that nobody knows is explained as such", "[variables]") {
  CHECK(explain_variable("NCCL_DEBUGG") ==
        "NCCL_DEBUGG: not known to safelaunch; did you mean 'NCCL_DEBUG'?\n");
  CHECK(explain_variable("MY_OWN") == "MY_OWN: not known to safelaunch\n");
}

TEST_CASE("JAX's own options are known, and no name of another library is offered for a slip",
          "[variables]") {
  CHECK(explain_variable("JAX_DEBUG_INFS") ==
        "JAX_DEBUG_INFS\n  read by: JAX\n  what it does: an option of jax.config\n");
  CHECK(explain_variable("JAX_LOG_COMPILE") ==
        "JAX_LOG_COMPILE: not known to safelaunch; did you mean 'JAX_LOG_COMPILES'?\n");
  CHECK(explain_variable("HCCL_DEBUG") ==
        "HCCL_DEBUG: not known to safelaunch, which has no list of the variables of HCCL (Huawei "
        "Ascend)\n");
}

TEST_CASE("what is to be used instead is a thing, so that the line reads as a sentence",
          "[variables]") {
  for (const Variable& variable : explained_variables()) {
    INFO(variable.name);
    CHECK_FALSE(variable.instead.starts_with("it "));
  }
}

TEST_CASE("all that is told of a variable has its Chinese", "[variables]") {
  for (const Variable& variable : explained_variables())
    for (const std::string_view text : {variable.reader, variable.truth, variable.instead}) {
      INFO(variable.name << ": " << text);
      const bool is_prose = text.find(' ') != std::string_view::npos;
      CHECK((!is_prose || chinese_phrases().find(text) != nullptr));
    }
  CHECK(chinese_phrases().retold(*warning_for("NCCL_IB_TIMEOUT", "60")) ==
        "NCCL_IB_TIMEOUT=60：它是指数（4.096 µs × 2^t，默认 20，最大 31），不是秒数");
  CHECK(chinese_phrases().retold(*warning_for("NCCL_TREE_THRESHOLD", "1")) ==
        "NCCL 自 2.5 起不再读 NCCL_TREE_THRESHOLD；请改用：NCCL_ALGO");
}
