#pragma once

#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "safelaunch/base/result.h"

/// A trial really runs ranks on this host, over each way of communication that is there, and tells
/// which works. Each way is one run of safelaunch itself, with its deadlines.
namespace safelaunch::trial {

/// A way in which ranks communicate.
enum class Backend { nccl, gloo, deepspeed, jax };

/// The word for the command line: "nccl".
[[nodiscard]] std::string_view word_of(Backend backend);
/// The name as its makers write it: "NCCL", "DeepSpeed".
[[nodiscard]] std::string_view name_of(Backend backend);
/// The backends of these words, each once. Error: usage, for a word that names none.
[[nodiscard]] Result<std::vector<Backend>> backends_named(std::span<const std::string> words);

/// The steps of each rank, in order: "import", "device", "group", "all_reduce".
[[nodiscard]] std::span<const std::string_view> steps_of(Backend backend);

/// The answers of a Python about itself.
struct Survey {
  std::string version;                                       ///< "3.11.2"
  std::map<std::string, std::string, std::less<>> packages;  ///< "torch" → "2.13.0+cpu"
};

/// Reads what the worker prints when it is asked; nullopt for anything else.
[[nodiscard]] std::optional<Survey> read_survey(std::string_view text);

/// The facts by which the scenes are chosen.
struct Ground {
  Survey python;
  int gpus = 0;                     ///< GPUs that ranks may use here
  std::optional<int> ranks;         ///< --nproc-per-node
  std::vector<Backend> named = {};  ///< --backend; empty: all that are here
};

/// One backend and how it is tried.
struct Scene {
  Backend backend = Backend::gloo;
  int ranks = 2;
  bool on_gpus = false;
  bool is_asked_for = false;   ///< the user has named it
  bool lacks_package = false;  ///< the scene is absent because a package is missing
  std::string absent{};  ///< why it cannot be tried here: "no GPU is here"; empty: it is tried
  bool operator==(const Scene&) const = default;
};

/// The scenes for a host: the named backends, else those that are here. NCCL is listed wherever
/// torch is, since everybody asks for it; where nothing can be tried, all are, each with its
/// reason.
[[nodiscard]] std::vector<Scene> scenes_for(const Ground& ground);

}  // namespace safelaunch::trial
