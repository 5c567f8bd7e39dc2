#include "safelaunch/trial/scene.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"
#include "safelaunch/base/strings.h"

// The packages of a Python and the number of GPUs decide what is tried, and with how many ranks. A
// table has each backend's words and its package; only NCCL and gloo have rules of their own.
namespace safelaunch::trial {
namespace {

struct Row {
  Backend backend;
  std::string_view word;
  std::string_view name;
  std::string_view package;  ///< the one that it needs
};

constexpr std::array kRows{Row{Backend::nccl, "nccl", "NCCL", "torch"},
                           Row{Backend::gloo, "gloo", "gloo", "torch"},
                           Row{Backend::deepspeed, "deepspeed", "DeepSpeed", "deepspeed"},
                           Row{Backend::jax, "jax", "JAX", "jax"}};

constexpr std::array<std::string_view, 4> kTorchSteps{"import", "device", "group", "all_reduce"};
// JAX knows its devices only once the processes have met.
constexpr std::array<std::string_view, 4> kJaxSteps{"import", "group", "device", "all_reduce"};

constexpr int kRanksWithoutGpus = 2;

const Row& row_of(Backend backend) {
  return *std::ranges::find(kRows, backend, &Row::backend);
}

// NCCL takes one rank a GPU; the others use GPUs as far as there is one for each rank.
int ranks_of(Backend backend, const Ground& ground) {
  if (backend == Backend::gloo) return ground.ranks.value_or(std::max(2, ground.gpus));
  const int most = std::max(1, ground.gpus);
  return ground.gpus == 0 ? ground.ranks.value_or(kRanksWithoutGpus)
                          : std::min(ground.ranks.value_or(most), most);
}

std::string absence_of(const Row& row, const Ground& ground) {
  if (!ground.python.packages.contains(row.package))
    return fmt::format("this Python has no {}", row.package);
  if (row.backend == Backend::nccl && ground.gpus == 0) return "no GPU is here";
  return {};
}

}  // namespace

std::string_view word_of(Backend backend) {
  return row_of(backend).word;
}

std::string_view name_of(Backend backend) {
  return row_of(backend).name;
}

Result<std::vector<Backend>> backends_named(std::span<const std::string> words) {
  std::vector<Backend> named;
  for (const std::string& word : words) {
    const auto found = std::ranges::find(kRows, word, &Row::word);
    if (found == kRows.end()) {
      std::array<std::string_view, kRows.size()> known{};
      std::ranges::transform(kRows, known.begin(), &Row::word);
      return Error{Errc::usage, fmt::format("'{}' is no backend{} ({})", word,
                                            did_you_mean(word, known), join(known, ", "))};
    }
    if (std::ranges::find(named, found->backend) == named.end()) named.push_back(found->backend);
  }
  return named;
}

std::span<const std::string_view> steps_of(Backend backend) {
  return backend == Backend::jax ? std::span(kJaxSteps) : std::span(kTorchSteps);
}

std::optional<Survey> read_survey(std::string_view text) {
  const auto json = parse_json<nlohmann::json>(text);
  Survey survey;
  survey.version = text_of(json, "python");
  if (survey.version.empty()) return std::nullopt;
  for (const auto& [name, version] : object_of(json, "packages").items())
    if (version.is_string()) survey.packages[name] = version;
  return survey;
}

std::vector<Scene> scenes_for(const Ground& ground) {
  std::vector<Scene> scenes;
  for (const Row& row : kRows)
    scenes.push_back(
        {.backend = row.backend,
         .ranks = ranks_of(row.backend, ground),
         .on_gpus = row.backend != Backend::gloo && ground.gpus > 0,
         .is_asked_for = std::ranges::find(ground.named, row.backend) != ground.named.end(),
         .lacks_package = !ground.python.packages.contains(row.package),
         .absent = absence_of(row, ground)});
  const bool has_torch = ground.python.packages.contains("torch");
  const bool has_any = std::ranges::any_of(scenes, &std::string::empty, &Scene::absent);
  std::erase_if(scenes, [&](const Scene& scene) {
    if (!ground.named.empty()) return !scene.is_asked_for;
    const bool told = scene.absent.empty() || !has_any;
    return !told && !(scene.backend == Backend::nccl && has_torch);
  });
  return scenes;
}

}  // namespace safelaunch::trial
