#include "safelaunch/doctor/advice_text.h"

#include "catch.h"
#include "healthy_host.h"
#include "safelaunch/base/paper.h"

using namespace safelaunch;

using namespace safelaunch::doctor;
using namespace safelaunch::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<doctor::Advice> one_advice() {
  doctor::Advice advice;
  advice.finding = {"shm-leaked", Severity::risk, "64 MiB are left", "safelaunch doctor --fix"};
  advice.files = {stale_file("/dev/shm/nccl-1", clean::Claim::ours)};
  return {advice};
}

}  // namespace

TEST_CASE("a finding is two lines: what was seen, and what to do", "[doctor][render]") {
  CHECK(laid_out(doctor::render_advices(one_advice()), {}) ==
        "risk      shm-leaked: 64 MiB are left\n"
        "          help: safelaunch doctor --fix\n");
}

TEST_CASE("before a run a finding is one line", "[doctor][render]") {
  CHECK(doctor::in_one_line(one_advice()[0].finding) ==
        "shm-leaked: 64 MiB are left; help: safelaunch doctor --fix");
  CHECK(doctor::in_one_line({"command", Severity::risk, "no script", ""}) == "command: no script");
}

TEST_CASE("a terminal gets the severity in colour", "[doctor][render]") {
  CHECK_THAT(doctor::render_advices(one_advice()), ContainsSubstring("\x1b[33mrisk    \x1b[0m"));
}

TEST_CASE("JSON says whether a run is forbidden and what can be fixed", "[doctor][render]") {
  const std::string json =
      doctor::advices_json(healthy_host(), one_advice(), {"removed /dev/shm/nccl-1"});
  CHECK_THAT(json, ContainsSubstring("\"blocked\": false"));
  CHECK_THAT(json, ContainsSubstring("\"fixable\": true"));
  CHECK_THAT(json, ContainsSubstring("\"/dev/shm/nccl-1\""));
  CHECK_THAT(json, ContainsSubstring("\"nccl\": \"2.29.7\""));
  CHECK_THAT(json, ContainsSubstring("\"removed /dev/shm/nccl-1\""));
}

TEST_CASE("a host without findings says so in a line", "[doctor][render]") {
  CHECK(doctor::render_advices({}) == "no problems found\n");
}

TEST_CASE("each severity has its colour, and a finding without a remedy one line",
          "[doctor][render]") {
  std::vector<doctor::Advice> advices(3);
  advices[0].finding = {"a", Severity::blocks, "x", ""};
  advices[1].finding = {"b", Severity::risk, "y", ""};
  advices[2].finding = {"c", Severity::note, "z", ""};
  CHECK(doctor::render_advices(advices) ==
        "\x1b[1;31mblocks  \x1b[0m  a: x\n\x1b[33mrisk    \x1b[0m  b: y\n"
        "\x1b[2mnote    \x1b[0m  c: z\n");
  CHECK(laid_out(doctor::render_advices(advices), {}) ==
        "blocks    a: x\nrisk      b: y\nnote      c: z\n");
}

TEST_CASE("a theme that is well has a mark, one that is not has a gap", "[doctor][render]") {
  const std::vector<doctor::LookedAt> themes{{"python", "torch 2.13.0", true},
                                             {"/dev/shm", "64 MiB", false}};
  CHECK(laid_out(doctor::render_looked_at(themes), {}) ==
        "✓ python      torch 2.13.0\n  /dev/shm    64 MiB\n");
  CHECK(doctor::render_looked_at(themes).starts_with("\x1b[32m✓\x1b[0m python "));
}

TEST_CASE("a finding that blocks makes the whole blocked, and bytes that are no text are replaced",
          "[doctor][render]") {
  std::vector<doctor::Advice> advices = one_advice();
  advices[0].finding.severity = Severity::blocks;
  advices[0].finding.evidence = "file \xff";
  const std::string json = doctor::advices_json(healthy_host(), advices, {});
  CHECK_THAT(json, ContainsSubstring("\"blocked\": true"));
  CHECK_THAT(json, ContainsSubstring("file \xef\xbf\xbd"));
  CHECK_THAT(json, ContainsSubstring("\"fixed\": []"));
}
