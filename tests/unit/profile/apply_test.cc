#include "safelaunch/profile/apply.h"

#include "catch.h"
#include "safelaunch/profile/render.h"

using namespace safelaunch;

using namespace safelaunch::profile;
using namespace std::chrono_literals;

namespace {

using Words = std::vector<std::string>;

Profile made_profile(VariableSettings env, Words unset = {}, Words force = {}) {
  Profile result;
  result.name = "p";
  result.env = std::move(env);
  result.unset = std::move(unset);
  result.force = std::move(force);
  return result;
}

VariableSetting at_line(const char* value, int line) {
  return {value, {"f.yaml", line, 3}};
}

}  // namespace

TEST_CASE("a profile's variable is set where nobody else cares", "[apply]") {
  const AppliedEnvironment applied =
      apply_profile(made_profile({{"A", at_line("1", 7)}}), {{"B", "2"}}, {}, {});

  CHECK(applied.environment == Environment{{"A", "1"}, {"B", "2"}});
  CHECK(applied.differences == std::vector<Difference>{{"A", std::nullopt, "1", Winner::profile,
                                                        "profile p (f.yaml:7:3)"}});
}

TEST_CASE("each layer beats those below it", "[apply]") {
  const Profile mine = made_profile({{"A", {"profile", {}}}});
  const Overrides config{{{"A", {"config", {}}}}, {}};
  const Overrides options{{{"A", {"option", {}}}}, {}};
  const Environment user{{"A", "user"}};

  CHECK(apply_profile(mine, {}, {}, {}).environment.at("A") == "profile");
  CHECK(apply_profile(mine, {}, config, {}).environment.at("A") == "config");
  CHECK(apply_profile(mine, user, config, {}).environment.at("A") == "user");
  CHECK(apply_profile(mine, user, config, options).environment.at("A") == "option");
}

TEST_CASE("what a profile forces beats the user and the config, not an option", "[apply]") {
  const Profile mine = made_profile({{"A", {"profile", {}}}}, {"B"}, {"A", "B"});
  const Environment user{{"A", "user"}, {"B", "user"}};
  const Overrides config{{{"A", {"config", {}}}}, {}};

  const AppliedEnvironment applied = apply_profile(mine, user, config, {});
  CHECK(applied.environment == Environment{{"A", "profile"}});
  CHECK(applied.differences.at(0).why == "profile p forces it");
  CHECK(applied.differences.at(1).after == std::nullopt);

  const Overrides options{{{"A", {"option", {}}}}, {}};
  CHECK(apply_profile(mine, user, config, options).environment.at("A") == "option");
}

TEST_CASE("a user's value that stays is told when somebody wanted another", "[apply]") {
  const AppliedEnvironment applied =
      apply_profile(made_profile({{"A", at_line("1", 7)}}), {{"A", "0"}}, {}, {});

  CHECK(applied.environment.at("A") == "0");
  CHECK(applied.differences ==
        std::vector<Difference>{
            {"A", "0", "0", Winner::user, "your value stays; profile p (f.yaml:7:3) sets 1"}});
}

TEST_CASE("a user's value that everybody wants is no difference", "[apply]") {
  CHECK(apply_profile(made_profile({{"A", {"1", {}}}}), {{"A", "1"}}, {}, {}).differences.empty());
  CHECK(apply_profile(made_profile({}, {"A"}), {}, {}, {}).differences.empty());
}

TEST_CASE("a variable is taken away by --unset, and by a profile only with force", "[apply]") {
  const Overrides unset{{}, {"A"}};
  CHECK(apply_profile(made_profile({}), {{"A", "1"}}, {}, unset).environment.empty());

  const AppliedEnvironment kept = apply_profile(made_profile({}, {"A"}), {{"A", "1"}}, {}, {});
  CHECK(kept.environment.at("A") == "1");
  CHECK(kept.differences.at(0).why == "your value stays; profile p takes it away");
}

TEST_CASE("a profile without effect leaves the environment as it is", "[apply]") {
  const Environment user{{"PATH", "/bin"}, {"NCCL_DEBUG", "WARN"}};
  const AppliedEnvironment applied = apply_profile(made_profile({}), user, {}, {});

  CHECK(applied.environment == user);
  CHECK(applied.differences.empty());
}

TEST_CASE("differences are written without secrets", "[apply]") {
  const AppliedEnvironment applied =
      apply_profile(made_profile({{"HF_TOKEN", {"canary-1", {}}},
                                  {"URL", {"http://u:canary-2@h", {}}},
                                  {"WANDB_API_KEY", {"canary-3", {}}},
                                  {"A", {"1", {}}},
                                  {"B", {"2", {}}}},
                                 {"GONE"}, {"B", "GONE"}),
                    {{"WANDB_API_KEY", "canary-4"}, {"B", "1"}, {"GONE", "x"}}, {}, {});

  const std::string text = render_differences(applied.differences);
  CHECK(text.find("canary") == std::string::npos);
  CHECK(text ==
        "+ A=1  # profile p\n"
        "~ B=2 (was 1)  # profile p forces it\n"
        "- GONE=x  # profile p forces it\n"
        "+ HF_TOKEN=[redacted]  # profile p\n"
        "+ URL=http://u:[redacted]@h  # profile p\n"
        "= WANDB_API_KEY=[redacted]  # your value stays; profile p sets [redacted]\n");
}

TEST_CASE("the options --set and --unset are read", "[apply]") {
  const Overrides overrides = parse_overrides(Words{"A=1", "B=", "C=x=y"}, Words{"D"}).value();
  CHECK(overrides.env.at("A").value == "1");
  CHECK(overrides.env.at("B").value.empty());
  CHECK(overrides.env.at("C").value == "x=y");
  CHECK(overrides.unset == Words{"D"});

  const auto refusal = [](const Words& set, const Words& unset) {
    return parse_overrides(set, unset).error().message;
  };
  CHECK(refusal({"A"}, {}) == "--set A: write NAME=VALUE");
  CHECK(refusal({"1A=2"}, {}).starts_with("--set: '1A' is not a variable name"));
  CHECK(refusal({"RANK=2"}, {}).starts_with("--set: RANK is given to each rank"));
  CHECK(refusal({}, {"A=1"}).starts_with("--unset: 'A=1' is not a variable name"));
  CHECK(refusal({"A=1"}, {"A"}) == "A is given to --set and to --unset");
}

TEST_CASE("the hook is told what a profile asks of it", "[apply]") {
  Profile mine = made_profile({});
  CHECK(hook_variables(mine).empty());

  mine.backend = Backend::gloo;
  mine.process_group_timeout = 1500ms;
  mine.verify = Verify::inject;
  mine.faulthandler = true;
  CHECK(hook_variables(mine) == Environment{{"SAFELAUNCH_BACKEND", "gloo"},
                                            {"SAFELAUNCH_PG_TIMEOUT", "1.5"},
                                            {"SAFELAUNCH_VERIFY", "inject"},
                                            {"SAFELAUNCH_FAULTHANDLER", "1"}});
}

TEST_CASE("a script's arguments are replaced where they are, and appended to", "[apply]") {
  const ArgumentChanges changes{{"--cache", "5"}, {{"--workers", "1"}, {"--fast", std::nullopt}}};
  const auto changed = [&](const Words& words) { return changed_arguments(changes, words); };

  CHECK(changed({"--lr", "1"}) == Words{"--lr", "1", "--cache", "5"});
  CHECK(changed({"--workers", "8", "x"}) == Words{"--workers", "1", "x", "--cache", "5"});
  CHECK(changed({"--workers=8"}) == Words{"--workers=1", "--cache", "5"});
  CHECK(changed({"--workers", "-1"}) == Words{"--workers", "1", "--cache", "5"});
  CHECK(changed({"--workers", "-.5", "-x"}) == Words{"--workers", "1", "-x", "--cache", "5"});
  CHECK(changed({"--workers", "-.x"}) == Words{"--workers", "1", "-.x", "--cache", "5"});
  CHECK(changed({"--workers", "-"}) == Words{"--workers", "1", "-", "--cache", "5"});
  CHECK(changed({"--workers", "--lr"}) == Words{"--workers", "1", "--lr", "--cache", "5"});
  CHECK(changed({"--workers"}) == Words{"--workers", "1", "--cache", "5"});
  CHECK(changed({"--fast", "--lr"}) == Words{"--lr", "--cache", "5"});
  CHECK(changed({"--fast=yes", "z"}) == Words{"z", "--cache", "5"});
  CHECK(changed({"a", "--", "--workers", "8"}) ==
        Words{"a", "--cache", "5", "--", "--workers", "8"});
  CHECK(changed_arguments(ArgumentChanges{}, Words{"--a", "", "b c"}) == Words{"--a", "", "b c"});
}
