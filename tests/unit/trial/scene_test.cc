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
