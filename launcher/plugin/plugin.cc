#include "safelaunch/plugin/plugin.h"

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/base/variable_names.h"

// NCCL loads one profiler. The questions come in the order in which NCCL would find one: its
// variable, the user's file, the machine's file, a library of the usual name. Our own library,
// set by a safelaunch around this one, is nobody's choice.
namespace safelaunch::plugin {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVariable = "NCCL_PROFILER_PLUGIN";

// NCCL looks for a library of this name where nothing else names one.
constexpr std::string_view kUsualName = "libnccl-profiler.so";

// Reads the variable as NCCL does: NAME=VALUE without spaces, and the first line counts.
std::optional<std::string> value_in(const fs::path& file) {
  const std::string text = user_file_text(file).value_or("");
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = take_word(rest, '\n');
    if (line.starts_with(kVariable) && line.substr(kVariable.size()).starts_with('='))
      return std::string(line.substr(kVariable.size() + 1));
  }
  return std::nullopt;
}

// True if a safelaunch around this one has set it. The job's workers speak to us then.
bool is_ours(const fs::path& library) {
  return library.filename() == plugin_files().front().path &&
         library.parent_path().filename().native().starts_with("plugin-");
}

fs::path users_file(const Environment& environment) {
  const std::string_view named = value_or(environment, "NCCL_CONF_FILE");
  if (!named.empty()) return named;
  return fs::path(value_or(environment, "HOME")) / ".nccl.conf";
}

std::optional<fs::path> on_library_path(const Environment& environment) {
  std::string_view rest = value_or(environment, "LD_LIBRARY_PATH");
  while (!rest.empty()) {
    const std::string_view folder = take_word(rest, ':');
    const fs::path library = fs::path(folder) / kUsualName;
    std::error_code error;
    if (!folder.empty() && fs::exists(library, error)) return library;
  }
  return std::nullopt;
}

FileSet files_of_plugin() {
  return {"plugin", "the NCCL plugin", plugin_files()};
}

}  // namespace

fs::path place_of_plugin(const fs::path& cache_dir) {
  return place_of(files_of_plugin(), cache_dir) / plugin_files().front().path;
}

Result<fs::path> install_plugin(const fs::path& cache_dir) {
  const Result<fs::path> directory = install(files_of_plugin(), cache_dir);
  if (!directory) return directory.error();
  return *directory / plugin_files().front().path;
}

std::optional<std::string> users_profiler(const Environment& environment,
                                          const fs::path& system_file) {
  if (const auto value = value_or(environment, kVariable); !value.empty() && !is_ours(value))
    return fmt::format("{}, by {}", value, kVariable);
  for (const fs::path& file : {users_file(environment), system_file})
    if (const auto value = value_in(file); value && !value->empty())
      return fmt::format("{}, by {}", *value, file.string());
  if (const auto library = on_library_path(environment))
    return fmt::format("{}, on LD_LIBRARY_PATH", library->string());
  return std::nullopt;
}

void add_plugin_to(Environment& environment, const fs::path& library, std::string_view socket,
                   std::string_view token) {
  environment[std::string(kVariable)] = library.string();
  environment[std::string(kHookVariable)] = socket;
  environment[std::string(kHookTokenVariable)] = token;
}

}  // namespace safelaunch::plugin
