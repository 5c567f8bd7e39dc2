#include "launcher/doctor/checks.h"

#include "catch.h"
#include "healthy_host.h"

using namespace safelaunch;

using namespace safelaunch::doctor;
using namespace safelaunch::testing;
using Catch::Matchers::ContainsSubstring;
using Lines = std::vector<std::string>;

namespace {

/// A node of AWS on which all is well.
doctor::HostFacts with_efa() {
  doctor::HostFacts facts = healthy_host();
  facts.infiniband.ports = {{"rdmap0s31", 1, "ACTIVE", "Unspecified", "efa"}};
  facts.infiniband.verbs = {"/dev/infiniband/uverbs0"};
  facts.limits.locked_memory = {};
  facts.network_plugins = {"/opt/amazon/ofi-nccl/lib/libnccl-net.so"};
  return facts;
}

}  // namespace

TEST_CASE("an EFA adapter with NCCL's plugin is well", "[doctor][efa]") {
  CHECK(outline(with_efa()) == Lines{});
}

TEST_CASE("without the plugin NCCL would take TCP", "[doctor][efa]") {
  doctor::HostFacts facts = with_efa();
  facts.network_plugins.clear();
  CHECK(outline(facts) == Lines{"efa risk"});
  CHECK_THAT(first_finding(facts).evidence, ContainsSubstring("rdmap0s31 is an EFA adapter") &&
                                                ContainsSubstring("there is no libnccl-net.so"));
  facts.subject.environment = {{"NCCL_NET_PLUGIN", "none"}};
  CHECK_THAT(first_finding(facts).evidence, ContainsSubstring("NCCL_NET_PLUGIN=none"));
}

TEST_CASE("a provider list without efa leaves the adapter out", "[doctor][efa]") {
  doctor::HostFacts facts = with_efa();
  facts.subject.environment = {{"FI_PROVIDER", "tcp"}};
  CHECK(outline(facts) == Lines{"efa risk"});
  facts.subject.environment = {{"FI_PROVIDER", "efa,tcp"}};
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("other adapters need no plugin", "[doctor][efa]") {
  doctor::HostFacts facts = with_efa();
  facts.infiniband.ports[0].driver = "mlx5_core";
  facts.network_plugins.clear();
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("NCCL's plugin has the name that the variable gives it", "[doctor][efa]") {
  CHECK(doctor::network_plugin_names({}) == Lines{"libnccl-net.so"});
  CHECK(doctor::network_plugin_names({{"NCCL_NET_PLUGIN", "ofi"}}).front() == "libnccl-net-ofi.so");
  CHECK(doctor::network_plugin_names({{"NCCL_NET_PLUGIN", "none"}}).empty());
}
