#include "wrappers.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "option_walk.h"
#include "safelaunch/base/strings.h"

namespace safelaunch::job {
namespace {

// These tables have only the options that take a value (see Grammar::getopt).
constexpr std::array kNice = {OptionSpec{"adjustment", Takes::value, 'n'}};
constexpr std::array kIonice = {OptionSpec{"class", Takes::value, 'c'},
                                OptionSpec{"classdata", Takes::value, 'n'}};
constexpr std::array kNumactl = {
    OptionSpec{"interleave", Takes::value, 'i'},
    OptionSpec{"weighted-interleave", Takes::value, 'w'},
    OptionSpec{"preferred", Takes::value, 'p'},
    OptionSpec{"preferred-many", Takes::value, 'P'},
    OptionSpec{"cpunodebind", Takes::value, 'N'},
    OptionSpec{"physcpubind", Takes::value, 'C'},
    OptionSpec{"membind", Takes::value, 'm'},
    OptionSpec{"cpubind", Takes::value, 'c'},
};
constexpr std::array kTimeout = {OptionSpec{"kill-after", Takes::value, 'k'},
                                 OptionSpec{"signal", Takes::value, 's'}};
constexpr std::array kStdbuf = {OptionSpec{"input", Takes::value, 'i'},
                                OptionSpec{"output", Takes::value, 'o'},
                                OptionSpec{"error", Takes::value, 'e'}};
constexpr std::array kChrt = {OptionSpec{"sched-runtime", Takes::value, 'T'},
                              OptionSpec{"sched-period", Takes::value, 'P'},
                              OptionSpec{"sched-deadline", Takes::value, 'D'}};
constexpr std::array kTime = {OptionSpec{"format", Takes::value, 'f'},
                              OptionSpec{"output", Takes::value, 'o'}};
constexpr std::array kTini = {OptionSpec{{}, Takes::value, 'p'}, OptionSpec{{}, Takes::value, 'e'}};
constexpr std::array kDumbInit = {OptionSpec{"rewrite", Takes::value, 'r'}};
constexpr std::array kUv = {
    OptionSpec{"module", Takes::nothing, 'm'},
    OptionSpec{"python", Takes::value, 'p'},
    OptionSpec{"index-url", Takes::value, 'i'},
    OptionSpec{"find-links", Takes::value, 'f'},
    OptionSpec{"upgrade-package", Takes::value, 'P'},
    OptionSpec{"config-setting", Takes::value, 'C'},
    OptionSpec{"with", Takes::value, 'w'},
    OptionSpec{"with-editable"},
    OptionSpec{"with-requirements"},
    OptionSpec{"extra"},
    OptionSpec{"no-extra"},
    OptionSpec{"group"},
    OptionSpec{"no-group"},
    OptionSpec{"only-group"},
    OptionSpec{"env-file"},
    OptionSpec{"package"},
    OptionSpec{"index"},
    OptionSpec{"default-index"},
    OptionSpec{"extra-index-url"},
    OptionSpec{"index-strategy"},
    OptionSpec{"keyring-provider"},
    OptionSpec{"resolution"},
    OptionSpec{"prerelease"},
    OptionSpec{"fork-strategy"},
    OptionSpec{"exclude-newer"},
    OptionSpec{"link-mode"},
    OptionSpec{"reinstall-package"},
    OptionSpec{"refresh-package"},
    OptionSpec{"no-build-isolation-package"},
    OptionSpec{"no-build-package"},
    OptionSpec{"no-binary-package"},
    OptionSpec{"python-platform"},
    OptionSpec{"cache-dir"},
    OptionSpec{"color"},
    OptionSpec{"allow-insecure-host"},
    OptionSpec{"directory"},
    OptionSpec{"project"},
    OptionSpec{"config-file"},
};
constexpr std::array kPoetry = {OptionSpec{"directory", Takes::value, 'C'},
                                OptionSpec{"project", Takes::value, 'P'}};
constexpr std::array kPixi = {OptionSpec{"environment", Takes::value, 'e'},
                              OptionSpec{"manifest-path"}, OptionSpec{"color"}};
constexpr std::array kPdm = {OptionSpec{"project", Takes::value, 'p'},
                             OptionSpec{"config", Takes::value, 'c'}};
constexpr std::array kHatch = {OptionSpec{"env", Takes::value, 'e'},
                               OptionSpec{"project", Takes::value, 'p'}};
constexpr std::array kConda = {OptionSpec{"name", Takes::value, 'n'},
                               OptionSpec{"prefix", Takes::value, 'p'},
                               OptionSpec{"root-prefix", Takes::value, 'r'},
                               OptionSpec{"env", Takes::value, 'e'}, OptionSpec{"cwd"}};

/// A program that runs the command behind its own options.
struct Wrapper {
  std::string_view name;
  std::span<const OptionSpec> options;
  int operands = 0;                  ///< words of its own before the command
  std::string_view subcommand = {};  ///< and then it brings its own Python
};

constexpr std::array kWrappers = {
    Wrapper{"nice", kNice},
    Wrapper{"ionice", kIonice},
    Wrapper{"numactl", kNumactl},
    Wrapper{"nohup", {}},
    Wrapper{"timeout", kTimeout, 1},
    Wrapper{"stdbuf", kStdbuf},
    Wrapper{"setsid", {}},
    Wrapper{"taskset", {}, 1},
    Wrapper{"chrt", kChrt, 1},
    Wrapper{"time", kTime},
    Wrapper{"tini", kTini},
    Wrapper{"dumb-init", kDumbInit},
    Wrapper{"uv", kUv, 0, "run"},
    Wrapper{"poetry", kPoetry, 0, "run"},
    Wrapper{"pixi", kPixi, 0, "run"},
    Wrapper{"pipenv", {}, 0, "run"},
    Wrapper{"pdm", kPdm, 0, "run"},
    Wrapper{"rye", {}, 0, "run"},
    Wrapper{"hatch", kHatch, 0, "run"},
    Wrapper{"conda", kConda, 0, "run"},
    Wrapper{"mamba", kConda, 0, "run"},
    Wrapper{"micromamba", kConda, 0, "run"},
};

constexpr std::array kEnv = {OptionSpec{"unset", Takes::value, 'u'},
                             OptionSpec{"chdir", Takes::value, 'C'},
                             OptionSpec{"split-string", Takes::value, 'S'},
                             OptionSpec{"ignore-environment", Takes::nothing, 'i'}};

OptionTable getopt_table(std::span<const OptionSpec> options) {
  return {options, Grammar::getopt, Spelling::exact, Abbreviations::unique_prefix};
}

const Wrapper* find_wrapper(std::string_view word) {
  const auto it = std::ranges::find(kWrappers, base_name(word), &Wrapper::name);
  return it == kWrappers.end() ? nullptr : &*it;
}

/// The word behind `env -i -u A B=1`; nullopt where env does more than that (`env -S '…'`).
std::optional<std::size_t> after_env(std::span<const std::string> argv, std::size_t at,
                                     Variables& variables) {
  const OptionWalk walk = walk_options(argv, at + 1, getopt_table(kEnv));
  if (walk.has("split-string")) return std::nullopt;
  at = walk.end;
  const bool lone_dash = at < argv.size() && argv[at] == "-";  // a synonym of -i
  if (lone_dash) ++at;
  if (lone_dash || walk.has("ignore-environment")) variables.clear();
  for (const FoundOption& option : walk.found)
    if (option.spec->name == "unset" && option.value) variables.unset(text_at(argv, *option.value));
  for (; at < argv.size() && argv[at].find('=') != std::string::npos; ++at)
    variables.assign(at, argv[at]);
  return at;
}

/// The word behind a wrapper; nullopt where the wrapper does something else (`uv sync`).
std::optional<std::size_t> after_wrapper(std::span<const std::string> argv, std::size_t at,
                                         const Wrapper& wrapper, Unwrapped& result) {
  OptionWalk walk = walk_options(argv, at + 1, getopt_table(wrapper.options));
  if (!wrapper.subcommand.empty()) {
    if (walk.end >= argv.size() || argv[walk.end] != wrapper.subcommand) return std::nullopt;
    walk = walk_options(argv, walk.end + 1, getopt_table(wrapper.options));
    result.other_python = true;
    result.runs_module = walk.has("module");
  }
  return walk.end + static_cast<std::size_t>(wrapper.operands);
}

}  // namespace

Unwrapped unwrap(std::span<const std::string> argv, Variables& variables) {
  Unwrapped result;
  while (result.program < argv.size() && !result.runs_module) {
    const Wrapper* wrapper = find_wrapper(argv[result.program]);
    const bool is_env = base_name(argv[result.program]) == "env";
    if (wrapper == nullptr && !is_env) break;
    const auto next = is_env ? after_env(argv, result.program, variables)
                             : after_wrapper(argv, result.program, *wrapper, result);
    if (!next) break;
    result.program = std::min(*next, argv.size());
  }
  return result;
}

}  // namespace safelaunch::job
