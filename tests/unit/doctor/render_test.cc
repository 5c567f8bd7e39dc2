#include "safelaunch/doctor/render.h"

#include "catch.h"
#include "healthy_host.h"

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
  CHECK(doctor::render_advices(one_advice(), doctor::Paint::off) ==
        "risk      shm-leaked: 64 MiB are left\n"
        "          remedy: safelaunch doctor --fix\n");
}

TEST_CASE("before a run a finding is one line", "[doctor][render]") {
  CHECK(doctor::in_one_line(one_advice()[0].finding) ==
        "shm-leaked: 64 MiB are left; remedy: safelaunch doctor --fix");
  CHECK(doctor::in_one_line({"command", Severity::risk, "no script", ""}) == "command: no script");
}

TEST_CASE("a terminal gets the severity in colour", "[doctor][render]") {
  CHECK_THAT(doctor::render_advices(one_advice(), doctor::Paint::on),
             ContainsSubstring("\x1b[33mrisk    \x1b[0m"));
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
