#include "wrappers.h"

#include <algorithm>
#include <array>

#include "option_walk.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

// Each wrapper is a row: its options that take a value, the words of its own, and the subcommand
// without which it runs nothing. A wrapper that does more than run a command ends the walk, and is
// the program itself.
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
    OptionSpec{"config-setting", Takes::value, 'C', "config-settings"},
    OptionSpec{"config-settings-package"},
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
    OptionSpec{"exclude-newer-package"},
    OptionSpec{"link-mode"},
    OptionSpec{"reinstall-package"},
    OptionSpec{"refresh-package"},
    OptionSpec{"upgrade-group"},
    OptionSpec{"no-sources-package"},
    OptionSpec{"preview-features"},
    OptionSpec{"python-preference"},
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
                              OptionSpec{"manifest-path", Takes::value, 'm'},
                              OptionSpec{"workspace", Takes::value, 'w'},
                              OptionSpec{"platform", Takes::value, 'p'},
                              OptionSpec{"config-file"},
                              OptionSpec{"auth-file"},
                              OptionSpec{"concurrent-downloads"},
                              OptionSpec{"concurrent-solves"},
                              OptionSpec{"pinning-strategy"},
                              OptionSpec{"pypi-keyring-provider"},
                              OptionSpec{"tls-root-certs"},
                              OptionSpec{"color"}};
constexpr std::array kPdm = {OptionSpec{"project", Takes::value, 'p'},
                             OptionSpec{"config", Takes::value, 'c'}};
constexpr std::array kHatch = {OptionSpec{"env", Takes::value, 'e'},
                               OptionSpec{"project", Takes::value, 'p'}};
constexpr std::array kConda = {OptionSpec{"name", Takes::value, 'n'},
                               OptionSpec{"prefix", Takes::value, 'p'},
                               OptionSpec{"root-prefix", Takes::value, 'r'},
                               OptionSpec{"env", Takes::value, 'e'},
                               OptionSpec{"attach", Takes::value, 'a'},  // micromamba's, as label
                               OptionSpec{"label"},
                               OptionSpec{"cwd"}};

/// A program that runs the command behind its own options.
struct Wrapper {
  std::string_view name;
  std::span<const OptionSpec> options;
  int operands = 0;  ///< words of its own before the command
  /// The word without which it runs nothing; it then brings its own Python.
  std::string_view subcommand = {};
  std::string_view directory = {};  ///< its option that names the directory of the command
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
    Wrapper{"uv", kUv, 0, "run", "directory"},
    Wrapper{"poetry", kPoetry, 0, "run", "directory"},
    Wrapper{"pixi", kPixi, 0, "run"},
    Wrapper{"pipenv", {}, 0, "run"},
    Wrapper{"pdm", kPdm, 0, "run"},
    Wrapper{"rye", {}, 0, "run"},
    Wrapper{"hatch", kHatch, 0, "run"},
    Wrapper{"conda", kConda, 0, "run", "cwd"},
    Wrapper{"mamba", kConda, 0, "run", "cwd"},
    Wrapper{"micromamba", kConda, 0, "run", "cwd"},
};

constexpr std::array kEnv = {
    OptionSpec{"unset", Takes::value, 'u'}, OptionSpec{"chdir", Takes::value, 'C'},
    OptionSpec{"argv0", Takes::value, 'a'}, OptionSpec{"split-string", Takes::value, 'S'},
    OptionSpec{"ignore-environment", Takes::nothing, 'i'}};

OptionTable getopt_table(std::span<const OptionSpec> options) {
  return {options, Grammar::getopt, Spelling::exact, Abbreviations::unique_prefix};
}

/// Package managers take no abbreviations: `uv run --refresh` is a flag, not --refresh-package.
OptionTable table_of(const Wrapper& wrapper) {
  OptionTable table = getopt_table(wrapper.options);
  if (!wrapper.subcommand.empty()) table.abbreviations = Abbreviations::none;
  return table;
}

const Wrapper* find_wrapper(std::string_view word) {
  const auto it = std::ranges::find(kWrappers, base_name(word), &Wrapper::name);
  return it == kWrappers.end() ? nullptr : &*it;
}

/// Goes into the directory that an option names, if it is among these.
void change_directory(std::span<const std::string> argv, const OptionWalk& walk,
                      std::string_view option, Unwrapped& result) {
  const FoundOption* found = option.empty() ? nullptr : walk.last(option);
  if (found != nullptr && found->value)
    result.directory = below(result.directory, text_at(argv, *found->value));
}

/// The word behind `env -i -u A B=1`; nullopt where env does more than that (`env -S '…'`).
std::optional<std::size_t> after_env(std::span<const std::string> argv, std::size_t at,
                                     Variables& variables, Unwrapped& result) {
  const OptionWalk walk = walk_options(argv, at + 1, getopt_table(kEnv));
  if (walk.has("split-string")) return std::nullopt;
  change_directory(argv, walk, "chdir", result);
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
  OptionWalk walk = walk_options(argv, at + 1, table_of(wrapper));
  if (!wrapper.subcommand.empty()) {
    if (walk.end >= argv.size() || argv[walk.end] != wrapper.subcommand) return std::nullopt;
    change_directory(argv, walk, wrapper.directory, result);
    walk = walk_options(argv, walk.end + 1, table_of(wrapper));
    result.other_python = true;
    result.runs_module = walk.has("module");
    change_directory(argv, walk, wrapper.directory, result);
  }
  return walk.end + static_cast<std::size_t>(wrapper.operands);
}

/// Takes the next word off a line, without the quotes that pip puts around a path.
std::string_view next_word(std::string_view& line) {
  const std::size_t first = std::min(line.find_first_not_of(" \t\"'"), line.size());
  line.remove_prefix(first);
  const std::size_t end = std::min(line.find_first_of(" \t\"'\r\n"), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

/// The first word behind env that is no option: `/usr/bin/env -S python3`.
std::string_view behind_env(std::string_view line) {
  std::string_view word = next_word(line);
  while (word.starts_with('-')) word = next_word(line);
  return word;
}

/// The interpreter of the first line, or of the second: pip and conda write `#!/bin/sh` and then
/// `'''exec' /path/python …` where the path is too long for a shebang.
std::optional<std::string> interpreter_in(std::string_view text) {
  if (!text.starts_with("#!")) return std::nullopt;
  std::string_view line = text.substr(2, text.find('\n') - 2);
  std::string_view word = next_word(line);
  if (base_name(word) == "env") word = behind_env(line);
  if (base_name(word) == "sh" && text.find('\n') != std::string_view::npos) {
    line = text.substr(text.find('\n') + 1);
    line = line.substr(0, line.find('\n'));
    if (next_word(line) != "exec") return std::nullopt;
    word = next_word(line);
  }
  return is_python(word) ? std::optional<std::string>(word) : std::nullopt;
}

}  // namespace

std::string below(std::string_view directory, std::string_view path) {
  if (directory.empty() || path.starts_with('/')) return std::string(path);
  return fmt::format("{}/{}", directory, path);
}

Unwrapped unwrap(std::span<const std::string> argv, Variables& variables) {
  Unwrapped result;
  while (result.program < argv.size() && !result.runs_module) {
    const Wrapper* wrapper = find_wrapper(argv[result.program]);
    const bool is_env = base_name(argv[result.program]) == "env";
    if (wrapper == nullptr && !is_env) break;
    const auto next = is_env ? after_env(argv, result.program, variables, result)
                             : after_wrapper(argv, result.program, *wrapper, result);
    if (!next) break;
    result.program = std::min(*next, argv.size());
  }
  return result;
}

bool is_python(std::string_view word) {
  const std::string_view name = base_name(word);
  const auto version_after = [&](std::string_view stem) {
    if (!name.starts_with(stem)) return false;
    std::string_view version = name.substr(stem.size());
    // "python3.13t" has no global lock, "python3.13d" is a debug build.
    if (version.size() > 1 && (version.back() == 't' || version.back() == 'd'))
      version.remove_suffix(1);
    return version.find_first_not_of("0123456789.") == std::string_view::npos;
  };
  return version_after("python") || version_after("pypy");
}

std::optional<std::string> interpreter_of(const std::string& program, const Variables& variables,
                                          const FileReader& read_file) {
  if (program.find('/') != std::string::npos) {
    const auto text = read_file(program).text;
    return text ? interpreter_in(*text) : std::nullopt;
  }
  const auto path = variables.find("PATH");
  std::string_view rest = path ? std::string_view(path->value) : std::string_view();
  while (!rest.empty()) {
    const std::string folder(take_word(rest, ':'));
    if (const auto text = read_file((folder.empty() ? "." : folder) + "/" + program).text)
      return interpreter_in(*text);
  }
  return std::nullopt;
}

}  // namespace safelaunch::job
