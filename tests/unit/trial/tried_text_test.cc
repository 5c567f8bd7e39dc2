#include "safelaunch/trial/tried_text.h"

#include <nlohmann/json.hpp>

#include "catch.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/trial/play.h"

using namespace safelaunch;
using namespace safelaunch::trial;

namespace {

Tried working() {
  Tried tried;
  tried.scene = {.backend = Backend::gloo, .ranks = 2};
  tried.done = {{"import", Duration(1'500)}, {"device", {}}, {"group", {}}, {"all_reduce", {}}};
  tried.works = true;
  tried.attempts = 1;
  tried.device = "cpu";
  tried.profile = "basic";
  tried.run = "20261123-000000-abcdef";
  return tried;
}

Tried hanging() {
  Tried tried = working();
  tried.works = false;
  tried.hung = true;
  tried.done.resize(2);
  tried.stopped_at = "group";
  tried.failure = Failure{.kind = FailureKind::hung};
  tried.failure->explanation = "Rank 0 waited 9s; rank 1 was missing.";
  tried.failure->cause = "rank-missing";
  tried.failure->title = "a rank is missing";
  tried.failure->remedy = "See what that rank does.";
  return tried;
}

}  // namespace

TEST_CASE("a scene that works has one line", "[trial]") {
  const Tried tried = working();
  CHECK(begin_of(tried.scene) + rest_of(tried) ==
        "gloo       2 ranks  import ✓ device ✓ group ✓ all_reduce ✓ (cpu)\n");
}

TEST_CASE("a scene that needed another profile says so", "[trial]") {
  Tried tried = working();
  tried.attempts = 3;
  tried.profile = "no-shm";
  CHECK(rest_of(tried) ==
        "import ✓ device ✓ group ✓ all_reduce ✓ (cpu), only under profile no-shm\n");
}

TEST_CASE("a hang is told with its step, who was missing, the remedy and the record", "[trial]") {
  CHECK(rest_of(hanging()) ==
        "import ✓ device ✓ group ✗ hangs\n"
        "           Rank 0 waited 9s; rank 1 was missing.\n"
        "           cause: a rank is missing (rank-missing, guess)\n"
        "           help: See what that rank does.\n"
        "           stacks and logs: safelaunch report 20261123-000000-abcdef\n");
}

TEST_CASE("the error of a rank is told in place of the run's explanation", "[trial]") {
  Tried tried = hanging();
  tried.hung = false;
  tried.trouble = "rank 1: ImportError: libcudart.so.13";
  const std::string text = rest_of(tried);
  CHECK(text.find("group ✗ fails\n           rank 1: ImportError: libcudart.so.13\n") != text.npos);
  CHECK(text.find("Rank 0 waited") == text.npos);
}

TEST_CASE("an error of our own worker is not blamed on a script", "[trial]") {
  Tried tried = hanging();
  tried.hung = false;
  tried.trouble = "rank 1: RuntimeError: torch was built without CUDA";
  tried.failure->cause = cause::kUserException;
  CHECK(rest_of(tried) ==
        "import ✓ device ✓ group ✗ fails\n"
        "           rank 1: RuntimeError: torch was built without CUDA\n"
        "           stacks and logs: safelaunch report 20261123-000000-abcdef\n");
}

TEST_CASE("what the run told of itself stands below the scene's line", "[trial]") {
  Tried tried = working();
  tried.notices = {"removed: /ext/lock (20min old)"};
  CHECK(rest_of(tried) ==
        "import ✓ device ✓ group ✓ all_reduce ✓ (cpu)\n"
        "           removed: /ext/lock (20min old)\n");
}

TEST_CASE("a backend that is not here has its reason", "[trial]") {
  Tried tried;
  tried.scene = {.backend = Backend::nccl, .absent = "no GPU is here"};
  CHECK(begin_of(tried.scene) + rest_of(tried) == "NCCL       not tried: no GPU is here\n");
}

TEST_CASE("a trial as JSON holds steps, failures and the conclusion", "[trial]") {
  const JsonGround ground{
      "/venv/bin/python", {"3.11.2", {{"torch", "2.13.0"}}}, "2.29.7", R"({"blocked": false})"};
  const std::vector tried{working(), hanging()};
  const auto json =
      nlohmann::json::parse(trial_json(ground, tried, {"gloo works; JAX does not", "use it", 124}));
  CHECK(json["python"]["version"] == "3.11.2");
  CHECK(json["nccl"] == "2.29.7");
  CHECK(json["host"]["blocked"] == false);
  CHECK(json["backends"][0]["works"] == true);
  CHECK(json["backends"][0]["steps"][0]["seconds"] == 1.5);
  CHECK(json["backends"][1]["hung"] == true);
  CHECK(json["backends"][1]["stopped_at"] == "group");
  CHECK(json["backends"][1]["failure"]["cause"] == "rank-missing");
  CHECK(json["backends"][0]["notices"] == nlohmann::json::array());
  CHECK(json["status"] == 124);
}

TEST_CASE("a scene is run on this host alone, whatever a scheduler says", "[trial]") {
  Setup setup{.python = "/venv/bin/python", .environment = {}};
  setup.devices = {"0", "2", "3"};
  const auto words = words_for({.backend = Backend::nccl, .ranks = 2, .on_gpus = true}, setup,
                               "/bin/safelaunch", "/t/trial_worker.py", "/t/nccl");
  const auto has = [&](const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  CHECK(words.front() == "/bin/safelaunch");
  CHECK(has("--nnodes=1"));
  CHECK(has("--master-addr=127.0.0.1"));
  CHECK(has("--devices=0,2"));
  CHECK(has("--init-timeout=60s"));
  CHECK(has("--start-timeout=300s"));
  CHECK(words.back() == "/t/nccl");
}

TEST_CASE("where a scene stopped, the word tells whether it failed, hung or was forbidden",
          "[trial]") {
  Tried tried = hanging();
  tried.failure.reset();
  tried.run.clear();
  CHECK(rest_of(tried) == "import ✓ device ✓ group ✗ hangs\n");
  tried.hung = false;
  CHECK(rest_of(tried) == "import ✓ device ✓ group ✗ fails\n");
  tried.done.clear();
  tried.blocked = true;
  tried.stopped_at = "start";
  tried.trouble = "blocked: no way to 127.0.0.1";
  CHECK(rest_of(tried) == "start ✗ blocked\n           blocked: no way to 127.0.0.1\n");
}

TEST_CASE("ranks that fail after their last step have failed at the end", "[trial]") {
  Tried tried = working();
  tried.works = false;
  tried.run.clear();
  CHECK(rest_of(tried) == "import ✓ device ✓ group ✓ all_reduce ✓ end ✗ fails\n");
}

TEST_CASE("a scene whose device nobody told has no empty brackets", "[trial]") {
  Tried tried = working();
  tried.device.clear();
  CHECK(rest_of(tried) == "import ✓ device ✓ group ✓ all_reduce ✓\n");
}

TEST_CASE("a cause without a remedy, and an explanation without a cause, are told alone",
          "[trial]") {
  Tried tried = hanging();
  tried.run.clear();
  tried.failure->remedy.clear();
  CHECK(rest_of(tried) ==
        "import ✓ device ✓ group ✗ hangs\n"
        "           Rank 0 waited 9s; rank 1 was missing.\n"
        "           cause: a rank is missing (rank-missing, guess)\n");
  tried.failure->cause.clear();
  CHECK(rest_of(tried) ==
        "import ✓ device ✓ group ✗ hangs\n"
        "           Rank 0 waited 9s; rank 1 was missing.\n");
}

TEST_CASE("an exception of which no rank has told the words keeps its cause", "[trial]") {
  Tried tried = hanging();
  tried.hung = false;
  tried.failure->cause = cause::kUserException;
  CHECK(rest_of(tried).find("cause: a rank is missing") != std::string::npos);
}

TEST_CASE("one rank is one rank, and the names stand in one column", "[trial]") {
  CHECK(begin_of({.backend = Backend::nccl, .ranks = 1}) == "NCCL       1 rank   ");
  CHECK(
      begin_of({.backend = Backend::deepspeed, .ranks = 8}) ==
      "DeepSpeed  a first start builds its extension, for a minute or more\n           8 ranks  ");
  CHECK(begin_of({.backend = Backend::jax, .ranks = 2}) == "JAX        2 ranks  ");
}

TEST_CASE("the last lines have a line to use only where there is one", "[trial]") {
  CHECK(in_words({"gloo works on this host", "safelaunch torchrun train.py", 0}) ==
        "\ngloo works on this host\nuse: safelaunch torchrun train.py\n");
  CHECK(in_words({"gloo does not work on this host", "", 1}) ==
        "\ngloo does not work on this host\n");
}

TEST_CASE("in JSON a backend that was not tried has its reason and nothing else", "[trial]") {
  Tried tried;
  tried.scene = {.backend = Backend::jax, .absent = "this Python has no jax"};
  const std::vector all{tried};
  const auto json = nlohmann::json::parse(trial_json({}, all, {}));
  const auto expected = nlohmann::json::parse(
      R"([{"backend": "jax", "tried": false, "why": "this Python has no jax"}])");
  CHECK(json["backends"] == expected);
  CHECK_FALSE(json.contains("nccl"));
}

TEST_CASE("in JSON a scene that works has no failure, and one that does not says how", "[trial]") {
  Tried blocked = hanging();
  blocked.hung = false;
  blocked.blocked = true;
  blocked.trouble = "blocked";
  blocked.notices = {"removed: /ext/lock"};
  const std::vector all{working(), blocked};
  const auto backends = nlohmann::json::parse(trial_json({}, all, {}))["backends"];
  for (const char* key : {"hung", "blocked", "trouble", "failure", "stopped_at"}) {
    CHECK_FALSE(backends[0].contains(key));
    CHECK(backends[1].contains(key));
  }
  CHECK(backends[0]["device"] == "cpu");
  CHECK(backends[0]["profile"] == "basic");
  CHECK(backends[0]["attempts"] == 1);
  CHECK(backends[0]["run"] == "20261123-000000-abcdef");
  CHECK(backends[1]["blocked"] == true);
  CHECK(backends[1]["notices"][0] == "removed: /ext/lock");
  CHECK(backends[1]["failure"]["remedy"] == "See what that rank does.");
  CHECK(backends[1]["failure"]["certainty"] == "guess");
}

TEST_CASE("findings that are no JSON, and bytes that are no text, leave the JSON whole",
          "[trial]") {
  Tried tried = working();
  tried.device = "\xff";
  const std::vector all{tried};
  for (const char* findings : {"", "{", "nonsense"}) {
    const auto json = nlohmann::json::parse(trial_json({"", {}, "", findings}, all, {}), nullptr,
                                            /*allow_exceptions=*/false);
    REQUIRE(json.is_object());
    CHECK(json["host"].is_null());
    CHECK(json["backends"][0]["device"] == "\uFFFD");
  }
}

TEST_CASE("the line of fewer ranks says how far they came", "[tried_text]") {
  Tried tried;
  tried.scene.ranks = 1;
  tried.works = true;
  CHECK(line_of_fewer(tried) == "           alone: ✓\n");
  tried.works = false;
  tried.done = {{"import", Duration{1}}};
  tried.stopped_at = "device";
  tried.scene.ranks = 2;
  CHECK(line_of_fewer(tried) == "           2 ranks: import ✓ device ✗ fails\n");
}
