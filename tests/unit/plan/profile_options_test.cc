#include "safelaunch/plan/plan.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::plan;
using namespace std::chrono_literals;

namespace {

profile::Profile with(const std::string& option, const std::string& value) {
  profile::Profile profile;
  profile.options[option] = {value, "mine.yaml:3:5"};
  return profile;
}

}  // namespace

TEST_CASE("a profile's options act in its attempts", "[profile_options]") {
  CHECK(options_under({}, with("grace", "60s")).grace == Duration(60s));
  CHECK(options_under({}, with("clean", "off")).clean == settings::CleanPolicy::off);
  CHECK(options_under({}, with("port", "keep")).port.how == settings::PortWish::How::keep);
  CHECK(options_under({}, with("probe", "never")).probe == settings::WhenToProbe::never);
  CHECK(options_under({}, with("probe", "always")).probe == settings::WhenToProbe::always);
  CHECK_FALSE(options_under({}, with("no-hook", "true")).hook);
  CHECK_FALSE(options_under({}, with("no-plugin", "on")).plugin);
  CHECK(options_under({}, with("no-hook", "false")).hook);
}

TEST_CASE("what the user has given stands over a profile's options", "[profile_options]") {
  settings::RunOptions options;
  options.grace = 5s;
  options.given = {{"grace", {"5s", "--grace"}}};
  CHECK(options_under(options, with("grace", "60s")).grace == Duration(5s));
  CHECK(options_under(options, with("port", "keep")).port.how == settings::PortWish::How::keep);
}
