#include "safelaunch/diagnose/catalogue.h"

#include <algorithm>
#include <array>

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::diagnose;

namespace {

std::string error_of(const std::string& yaml) {
  const auto parsed = Catalogue::parse(std::array{CatalogueText{"my.yaml", yaml}});
  REQUIRE(parsed.has_error());
  return parsed.error().message;
}

std::vector<std::string> ids_in(const std::string& line) {
  std::vector<std::string> ids;
  for (const Match& match : Catalogue::builtin().match(line)) ids.push_back(match.cause->id);
  return ids;
}

}  // namespace

TEST_CASE("the catalogue that is compiled in is read without an error", "[catalogue]") {
  CHECK(Catalogue::builtin().causes().size() >= 90);
}

TEST_CASE("every cause that profiles heal by is in the catalogue", "[catalogue]") {
  for (const char* id : {"port-taken",       "shm-small",          "shm-attach",
                         "shm-leaked",       "nccl-not-built",     "no-gpu",
                         "gpu-p2p",          "nvls-bind",          "ib-peer",
                         "ib-memlock",       "wrong-interface",    "ifname-missing",
                         "cumem-uds",        "cumem-host-broken",  "mnnvl",
                         "gpu-oom",          "duplicate-gpu",      "nccl-mismatch",
                         "driver-old",       "connect-failed",     "rank-missing",
                         "rank-died",        "rank-stopped",       "world-size-mismatch",
                         "duplicate-rank",   "user-exception",     "host-oom",
                         "watchdog-timeout", "gloo-connect",       "store-timeout",
                         "device-ordinal",   "nccl-unhandled",     "collective-stuck",
                         "store-silent",     "init-stuck",         "start-stuck",
                         "comm-error",       "gpu-memory-draining"}) {
    INFO(id);
    CHECK(Catalogue::builtin().find(id) != nullptr);
  }
}

TEST_CASE("a cause is found by its id or by its reference", "[catalogue]") {
  CHECK(Catalogue::builtin().find("shm-small")->ref == "F04");
  CHECK(Catalogue::builtin().find("f04")->id == "shm-small");
  CHECK(Catalogue::builtin().find("F99") == nullptr);
}

TEST_CASE("no cause is beaten by one that it beats", "[catalogue]") {
  for (const Cause& a : Catalogue::builtin().causes())
    for (const Cause& b : Catalogue::builtin().causes()) {
      INFO(a.id << " and " << b.id);
      CHECK_FALSE((beats(a, b) && beats(b, a)));
    }
}

TEST_CASE("a port is tried again after a pause, and memory that drains too", "[catalogue]") {
  for (const char* id : {"port-taken", "gpu-memory-draining"}) {
    CHECK(Catalogue::builtin().at(id).retry == Retry::passes_by_itself);
    CHECK(Catalogue::builtin().at(id).backoff > Duration(0));
  }
}

TEST_CASE("patterns are found without regard to case", "[catalogue]") {
  CHECK(ids_in("ADDRESS ALREADY IN USE") == std::vector<std::string>{"port-taken"});
}

TEST_CASE("a line of a healthy job names nothing", "[catalogue]") {
  CHECK(ids_in("epoch 3 loss 0.125 lr 1e-4").empty());
  CHECK(ids_in("").empty());
}

TEST_CASE("an error of a catalogue names file and line, and the nearest right word",
          "[catalogue]") {
  const std::string head = "- id: a\n  title: t\n  remedy: r\n";
  CHECK(error_of(head + "  retry: fallbck\n") ==
        "my.yaml:4: 'fallbck' is not known here; did you mean 'fallback'?");
  CHECK(error_of(head + "  retry: never\n  patern: [x]\n") ==
        "my.yaml:5: unknown field 'patern'; did you mean 'patterns'?");
  CHECK(error_of(head) == "my.yaml:1: this row has no 'retry'");
  CHECK(error_of(head + "  retry: never\n  beats: [b]\n")
            .starts_with("my.yaml:5: no cause has the id 'b'"));
  CHECK(error_of(head + "  retry: never\n  patterns: x\n") == "my.yaml:5: a list is expected here");
  CHECK(error_of("id: a\n") == "my.yaml:1: a list of causes is expected here");
  CHECK(error_of("- [\n").starts_with("my.yaml:"));
}

TEST_CASE("a pattern that needs more than linear time is refused", "[catalogue]") {
  const std::string row = "- id: a\n  title: t\n  remedy: r\n  retry: never\n  patterns:\n";
  CHECK(error_of(row + "    - '(?=x)y'\n").starts_with("my.yaml:6: '(?=x)y' is no RE2 pattern"));
  CHECK(error_of(row + "    - '(x)\\1'\n").starts_with("my.yaml:6:"));
}

TEST_CASE("an id that is given twice is refused", "[catalogue]") {
  const std::string row = "- id: a\n  title: t\n  remedy: r\n  retry: never\n";
  CHECK(error_of(row + row) == "my.yaml:5: the id 'a' is given twice");
}
