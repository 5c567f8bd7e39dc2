#include "safelaunch/trial/scene.h"

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::trial;

namespace {

Ground ground(std::vector<std::string> packages, int gpus = 0) {
  Ground result;
  for (const std::string& package : packages) result.python.packages[package] = "1.0";
  result.gpus = gpus;
  return result;
}

const Scene& scene_of(const std::vector<Scene>& scenes, Backend backend) {
  for (const Scene& scene : scenes)
    if (scene.backend == backend) return scene;
  FAIL("no scene of " << word_of(backend));
  return scenes.front();
}

std::string words_of(const std::vector<Scene>& scenes) {
  std::string words;
  for (const Scene& scene : scenes)
    words += std::string(word_of(scene.backend)) + (scene.absent.empty() ? " " : "(absent) ");
  return words;
}

}  // namespace

TEST_CASE("without a GPU all that the Python has is tried with two ranks, NCCL only told",
          "[trial]") {
  const auto scenes = scenes_for(ground({"torch", "deepspeed", "jax"}));
  CHECK(words_of(scenes) == "nccl(absent) gloo deepspeed jax ");
  CHECK(scene_of(scenes, Backend::nccl).absent == "no GPU is here");
  for (const Scene& scene : scenes) CHECK(scene.ranks == 2);
}

TEST_CASE("a package that the Python lacks is not tried, and not told beside one that is there",
          "[trial]") {
  CHECK(words_of(scenes_for(ground({"jax"}))) == "jax ");
  CHECK(words_of(scenes_for(ground({"torch"}, 1))) == "nccl gloo ");
}

TEST_CASE("where nothing can be tried every backend is told with its reason", "[trial]") {
  const auto scenes = scenes_for(ground({}));
  CHECK(words_of(scenes) == "nccl(absent) gloo(absent) deepspeed(absent) jax(absent) ");
  CHECK(scene_of(scenes, Backend::gloo).absent == "this Python has no torch");
  CHECK(scene_of(scenes, Backend::gloo).lacks_package);
}

TEST_CASE("on GPUs each rank has its own, but gloo's ranks need none", "[trial]") {
  Ground four = ground({"torch", "jax"}, 4);
  CHECK(scene_of(scenes_for(four), Backend::nccl).ranks == 4);
  CHECK(scene_of(scenes_for(four), Backend::nccl).on_gpus);
  CHECK_FALSE(scene_of(scenes_for(four), Backend::gloo).on_gpus);

  four.ranks = 8;
  CHECK(scene_of(scenes_for(four), Backend::nccl).ranks == 4);
  CHECK(scene_of(scenes_for(four), Backend::gloo).ranks == 8);
  CHECK(scene_of(scenes_for(ground({"torch"}, 1)), Backend::nccl).ranks == 1);
  CHECK(scene_of(scenes_for(ground({"torch"}, 1)), Backend::gloo).ranks == 2);
}

TEST_CASE("named backends are tried alone, and told where they are not here", "[trial]") {
  Ground named = ground({"torch", "jax"});
  named.named = {Backend::deepspeed, Backend::gloo};
  const auto scenes = scenes_for(named);
  CHECK(words_of(scenes) == "gloo deepspeed(absent) ");
  CHECK(scene_of(scenes, Backend::deepspeed).is_asked_for);
}

TEST_CASE("a word that names no backend is refused with the nearest", "[trial]") {
  const std::vector<std::string> words{"jax", "glo"};
  const auto named = backends_named(words);
  REQUIRE(named.has_error());
  CHECK(named.error().code == Errc::usage);
  CHECK(named.error().message ==
        "'glo' is no backend; did you mean 'gloo'? (nccl, gloo, deepspeed, jax)");
  const std::vector<std::string> twice{"jax", "jax"};
  CHECK(backends_named(twice)->size() == 1);
}

TEST_CASE("what a Python says of itself is read, and anything else is no answer", "[trial]") {
  const auto found = read_survey(R"({"python": "3.11.2", "packages": {"torch": "2.13.0+cpu"}})");
  REQUIRE(found);
  CHECK(found->version == "3.11.2");
  CHECK(found->packages.at("torch") == "2.13.0+cpu");
  CHECK_FALSE(read_survey("Traceback (most recent call last):"));
  CHECK_FALSE(read_survey("[]"));
}

TEST_CASE("each backend has its word, its name and its steps", "[trial]") {
  struct Row {
    Backend backend;
    const char* word;
    const char* name;
    const char* steps;
  };
  for (const Row& row :
       {Row{Backend::nccl, "nccl", "NCCL", "import device group all_reduce "},
        Row{Backend::gloo, "gloo", "gloo", "import device group all_reduce "},
        Row{Backend::deepspeed, "deepspeed", "DeepSpeed", "import device group all_reduce "},
        Row{Backend::jax, "jax", "JAX", "import group device all_reduce "}}) {
    CHECK(word_of(row.backend) == row.word);
    CHECK(name_of(row.backend) == row.name);
    std::string steps;
    for (const std::string_view step : steps_of(row.backend)) steps += std::string(step) + " ";
    CHECK(steps == row.steps);
    const std::vector<std::string> words{row.word};
    CHECK(*backends_named(words) == std::vector{row.backend});
  }
}

TEST_CASE("a word must be a backend's exactly", "[trial]") {
  for (const char* word : {"NCCL", "nccl ", "", "torch"}) {
    const std::vector<std::string> words{word};
    CHECK(backends_named(words).has_error());
  }
  CHECK(backends_named({})->empty());
}

TEST_CASE("the number of ranks follows the GPUs, unless the user says it", "[trial]") {
  struct Row {
    int gpus;
    std::optional<int> asked;
    int nccl, gloo, jax;
  };
  for (const Row& row : {Row{0, std::nullopt, 2, 2, 2}, Row{0, 1, 1, 1, 1}, Row{0, 5, 5, 5, 5},
                         Row{1, std::nullopt, 1, 2, 1}, Row{1, 4, 1, 4, 1},
                         Row{2, std::nullopt, 2, 2, 2}, Row{8, std::nullopt, 8, 8, 8},
                         Row{8, 1, 1, 1, 1}, Row{8, 3, 3, 3, 3}, Row{8, 16, 8, 16, 8}}) {
    Ground here = ground({"torch", "jax"}, row.gpus);
    here.ranks = row.asked;
    const auto scenes = scenes_for(here);
    INFO(row.gpus << " GPUs, " << row.asked.value_or(-1) << " asked");
    CHECK(scene_of(scenes, Backend::nccl).ranks == row.nccl);
    CHECK(scene_of(scenes, Backend::gloo).ranks == row.gloo);
    CHECK(scene_of(scenes, Backend::jax).ranks == row.jax);
  }
}

TEST_CASE("which backends are tried follows packages and GPUs", "[trial]") {
  struct Row {
    std::vector<std::string> packages;
    int gpus;
    const char* scenes;
  };
  for (const Row& row :
       {Row{{}, 8, "nccl(absent) gloo(absent) deepspeed(absent) jax(absent) "},
        Row{{"jax"}, 8, "jax "}, Row{{"torch"}, 0, "nccl(absent) gloo "},
        Row{{"torch", "deepspeed"}, 2, "nccl gloo deepspeed "}, Row{{"deepspeed"}, 0, "deepspeed "},
        Row{{"torch", "deepspeed", "jax"}, 1, "nccl gloo deepspeed jax "}})
    CHECK(words_of(scenes_for(ground(row.packages, row.gpus))) == row.scenes);
}

TEST_CASE("a backend that lacks both its package and a GPU lacks the package first", "[trial]") {
  const auto scenes = scenes_for(ground({}));
  CHECK(scene_of(scenes, Backend::nccl).absent == "this Python has no torch");
  CHECK(scene_of(scenes, Backend::deepspeed).absent == "this Python has no deepspeed");
  CHECK(scene_of(scenes, Backend::jax).absent == "this Python has no jax");
}

TEST_CASE("NCCL that is named on a host without a GPU is told, and does not lack its package",
          "[trial]") {
  Ground named = ground({"torch"});
  named.named = {Backend::nccl};
  const auto scenes = scenes_for(named);
  CHECK(words_of(scenes) == "nccl(absent) ");
  CHECK(scenes.front().absent == "no GPU is here");
  CHECK(scenes.front().is_asked_for);
  CHECK_FALSE(scenes.front().lacks_package);
}

TEST_CASE("an answer of a Python with fields of another type is taken as far as it goes",
          "[trial]") {
  const auto found = read_survey(R"({"python": "3.12", "packages": {"torch": 2, "jax": "0.9"}})");
  REQUIRE(found);
  CHECK(found->packages.size() == 1);
  CHECK(read_survey(R"({"python": "3.12", "packages": []})")->packages.empty());
  for (const char* text :
       {"", R"({"python": 3})", R"({"python": ""})", R"({"packages": {}})", R"({"python": "3.12")"})
    CHECK_FALSE(read_survey(text));
}
