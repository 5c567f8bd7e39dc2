#include "catch.h"
#include "healthy_host.h"

using namespace safelaunch;

using namespace safelaunch::doctor;
using namespace safelaunch::testing;
using Lines = std::vector<std::string>;

namespace {

doctor::HostFacts with_home_on(const std::string& type) {
  doctor::HostFacts facts = healthy_host();
  facts.mounts = {{"/", "/", "ext4", "/dev/sda1", ""}, {"/", "/home", type, "nas:/home", ""}};
  facts.subject.environment = {{"HOME", "/home/a"}};
  return facts;
}

}  // namespace

TEST_CASE("caches on a server are a note, each with its path", "[doctor][storage]") {
  const doctor::HostFacts facts = with_home_on("nfs4");
  CHECK(outline(facts) == Lines{"start-stuck note"});
  CHECK(first_finding(facts).evidence ==
        "on file systems of the network: "
        "torch's extensions (/home/a/.cache/torch_extensions, nfs4 of nas:/home); "
        "Triton's cache (/home/a/.triton, nfs4 of nas:/home); "
        "Hugging Face's cache (/home/a/.cache/huggingface, nfs4 of nas:/home)");
}

TEST_CASE("caches on a disk of this host are nothing to tell", "[doctor][storage]") {
  CHECK(outline(with_home_on("xfs")) == Lines{});
}

TEST_CASE("variables move the caches away", "[doctor][storage]") {
  doctor::HostFacts facts = with_home_on("lustre");
  facts.subject.environment = {{"HOME", "/home/a"},
                               {"TORCH_EXTENSIONS_DIR", "/tmp/e"},
                               {"TRITON_CACHE_DIR", "/tmp/t"},
                               {"HF_HOME", "/tmp/h"}};
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("packages that every rank imports from a server are told", "[doctor][storage]") {
  doctor::HostFacts facts = with_home_on("nfs4");
  facts.subject.environment.clear();
  facts.libraries->python.packages = {"/home/venv/lib/python3.11/site-packages"};
  CHECK(first_finding(facts).evidence ==
        "on file systems of the network: Python's packages "
        "(/home/venv/lib/python3.11/site-packages, nfs4 of nas:/home)");
}
