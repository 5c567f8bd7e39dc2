#include "safelaunch/profile/apply.h"

#include "catch.h"
#include "safelaunch/profile/profile_text.h"

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
            {"A", "0", "0", Winner::user, "your value stays; profile p (f.yaml:7:3) would set 1"}});
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
  CHECK(kept.differences.at(0).why == "your value stays; profile p would take it away");
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
        "= WANDB_API_KEY=[redacted]  # your value stays; profile p would set [redacted]\n");
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

TEST_CASE("who decides a variable, for each wish of each layer", "[apply]") {
  // "=x" sets it to x, "-" takes it away, "" has no word for it.
  struct Row {
    const char* option;
    const char* config;
    const char* profile;
    const char* user;
    bool force;
    const char* value;  ///< "-" where it is not set in the end
    const char* line;   ///< as it is shown; "" where it is no difference
  };
  const Row rows[] = {
      {"", "", "", "=u", false, "=u", ""},
      {"", "", "=p", "", false, "=p", "+ A=p  # profile p (p.yaml:1:1)\n"},
      {"", "", "=p", "", true, "=p", "+ A=p  # profile p (p.yaml:1:1) forces it\n"},
      {"", "", "=p", "=u", false, "=u",
       "= A=u  # your value stays; profile p (p.yaml:1:1) would set p\n"},
      {"", "", "=p", "=u", true, "=p", "~ A=p (was u)  # profile p (p.yaml:1:1) forces it\n"},
      {"", "", "=u", "=u", false, "=u", ""},
      {"", "", "=u", "=u", true, "=u", ""},
      {"", "", "-", "", false, "-", ""},
      {"", "", "-", "=u", false, "=u", "= A=u  # your value stays; profile p would take it away\n"},
      {"", "", "-", "=u", true, "-", "- A=u  # profile p forces it\n"},
      {"", "=c", "", "", false, "=c", "+ A=c  # c.yaml:2:2\n"},
      {"", "=c", "", "=u", false, "=u", "= A=u  # your value stays; c.yaml:2:2 would set c\n"},
      {"", "=c", "=p", "", false, "=c", "+ A=c  # c.yaml:2:2\n"},
      {"", "=c", "=p", "", true, "=p", "+ A=p  # profile p (p.yaml:1:1) forces it\n"},
      {"", "=c", "=p", "=u", false, "=u", "= A=u  # your value stays; c.yaml:2:2 would set c\n"},
      {"", "=u", "=p", "=u", false, "=u",
       "= A=u  # your value stays; profile p (p.yaml:1:1) would set p\n"},
      {"", "=c", "-", "", false, "=c", "+ A=c  # c.yaml:2:2\n"},
      {"", "-", "=p", "", false, "-", ""},
      {"", "-", "", "=u", false, "=u",
       "= A=u  # your value stays; safelaunch.yaml would take it away\n"},
      {"=o", "", "", "", false, "=o", "+ A=o  # --set\n"},
      {"=o", "=c", "=p", "=u", true, "=o", "~ A=o (was u)  # --set\n"},
      {"=u", "", "", "=u", false, "=u", ""},
      {"-", "", "", "=u", false, "-", "- A=u  # --unset\n"},
      {"-", "=c", "=p", "", true, "-", ""},
      {"-", "=c", "=p", "=u", true, "-", "- A=u  # --unset\n"},
      {"=", "", "", "=u", false, "=", "~ A= (was u)  # --set\n"},
      {"", "", "=p", "=", false, "=",
       "= A=  # your value stays; profile p (p.yaml:1:1) would set p\n"},
  };
  const auto wish = [](const char* word, const Place& place) {
    Overrides layer;
    if (*word == '=') layer.env["A"] = {word + 1, place};
    if (*word == '-') layer.unset = {"A"};
    return layer;
  };
  for (const Row& row : rows) {
    INFO(row.option << "|" << row.config << "|" << row.profile << "|" << row.user << row.force);
    const Overrides wanted = wish(row.profile, {"p.yaml", 1, 1});
    Profile mine = made_profile(wanted.env, wanted.unset);
    if (row.force) mine.force = {"A"};
    Environment user;
    if (*row.user == '=') user["A"] = row.user + 1;
    const AppliedEnvironment applied =
        apply_profile(mine, user, wish(row.config, {"c.yaml", 2, 2}), wish(row.option, {}));
    const auto found = applied.environment.find("A");
    CHECK((found == applied.environment.end() ? "-" : "=" + found->second) == row.value);
    CHECK(render_differences(applied.differences) == row.line);
  }
}

TEST_CASE("a profile that forces all beats the user in all that it says, and in nothing else",
          "[apply]") {
  Profile mine = made_profile({{"A", {"p", {}}}}, {"B"});
  mine.force_all = true;
  CHECK(apply_profile(mine, {{"A", "u"}, {"B", "u"}, {"C", "u"}}, {}, {}).environment ==
        Environment{{"A", "p"}, {"C", "u"}});
}

TEST_CASE("differences come by name, whoever decided them", "[apply]") {
  const AppliedEnvironment applied = apply_profile(
      made_profile({{"C", {"1", {}}}}), {}, {{{"A", {"1", {}}}}, {}}, {{{"B", {"1", {}}}}, {}});
  std::vector<std::pair<std::string, Winner>> seen;
  for (const Difference& each : applied.differences) seen.emplace_back(each.name, each.winner);
  CHECK(seen == std::vector<std::pair<std::string, Winner>>{
                    {"A", Winner::config}, {"B", Winner::option}, {"C", Winner::profile}});
}

TEST_CASE("what is wrong with --set and --unset is told in whole", "[apply]") {
  const auto refusal = [](const Words& set, const Words& unset) {
    const auto read = parse_overrides(set, unset);
    return read.has_error() ? read.error().message : "accepted";
  };
  const std::string no_name = " is not a variable name (letters, digits and _, no digit first)";
  const std::string given =
      " is given to each rank by safelaunch or the launcher; it cannot be set here";
  CHECK(refusal({"=1"}, {}) == "--set: ''" + no_name);
  CHECK(refusal({"A B=1"}, {}) == "--set: 'A B'" + no_name);
  CHECK(refusal({""}, {}) == "--set : write NAME=VALUE");
  CHECK(refusal({}, {""}) == "--unset: ''" + no_name);
  CHECK(refusal({"SAFELAUNCH_X=1"}, {}) == "--set: SAFELAUNCH_X" + given);
  for (const char* name :
       {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK",
        "ROLE_RANK", "MASTER_ADDR", "MASTER_PORT", "GROUP_WORLD_SIZE", "ROLE_WORLD_SIZE"}) {
    CHECK(refusal({}, {name}) == "--unset: " + std::string(name) + given);
    CHECK(refusal({std::string(name) + "=1"}, {}) == "--set: " + std::string(name) + given);
  }
  CHECK(refusal({"_=1", "a1_B=2", "RANKS=3"}, {"RANK_"}) == "accepted");
  CHECK(parse_overrides(Words{"A=1", "A=2"}, {})->env.at("A").value == "2");
}

TEST_CASE("a profile of defaults tells the hook nothing, and each wish by itself", "[apply]") {
  const auto told = [](auto change) {
    Profile mine;
    change(mine);
    return hook_variables(mine);
  };
  CHECK(told([](Profile& p) { p.backend = Backend::gloo; }) ==
        Environment{{"SAFELAUNCH_BACKEND", "gloo"}});
  CHECK(told([](Profile& p) { p.verify = Verify::inject; }) ==
        Environment{{"SAFELAUNCH_VERIFY", "inject"}});
  CHECK(told([](Profile& p) { p.faulthandler = true; }) ==
        Environment{{"SAFELAUNCH_FAULTHANDLER", "1"}});
  CHECK(told([](Profile& p) { p.process_group_timeout = 30min; }) ==
        Environment{{"SAFELAUNCH_PG_TIMEOUT", "1800"}});
  CHECK(told([](Profile& p) { p.ras = Ras::ask; }).empty());
}

TEST_CASE("an option of the script is changed each time that it is there, and only whole",
          "[apply]") {
  const ArgumentChanges changes{{}, {{"--a", "1"}, {"-b", std::nullopt}, {"--", "x"}}};
  const auto changed = [&](const Words& words) { return changed_arguments(changes, words); };
  CHECK(changed({"--a", "2", "--a=3", "x"}) == Words{"--a", "1", "--a=1", "x"});
  CHECK(changed({"--ab", "2", "a", "--A"}) == Words{"--ab", "2", "a", "--A"});
  CHECK(changed({"-b", "2", "-b=3", "-b", "--c"}) == Words{"--c"});
  CHECK(changed({"--a="}) == Words{"--a=1"});
  CHECK(changed({"x=--a", ""}) == Words{"x=--a", ""});
  CHECK(changed({"--", "--a", "2"}) == Words{"--", "--a", "2"});
  CHECK(changed({}).empty());
  CHECK(changed_arguments({{"--z"}, {}}, Words{}) == Words{"--z"});
}
