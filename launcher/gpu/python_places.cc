#include "safelaunch/gpu/python_places.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "safelaunch/base/strings.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/launch/find_program.h"

// Follows Python's own rules for sys.path, from files alone: pyenv's shim is looked through,
// pyvenv.cfg tells whether the interpreter belongs to a virtual environment and whether that sees
// the system's packages. Then come PYTHONPATH, the user's packages and those below each prefix.
namespace safelaunch::gpu {
namespace {

namespace fs = std::filesystem;

/// The settings of a virtual environment; `home` is empty where the folder is none.
struct VirtualEnvironment {
  std::string home;             ///< the folder of the Python that it was made from
  std::string version;          ///< "3.11.7"
  bool system_packages = true;  ///< Python takes it to be so where the file does not say
};

VirtualEnvironment read_pyvenv(const fs::path& prefix) {
  constexpr std::size_t kLongest = 65'536;
  VirtualEnvironment venv;
  const std::string text = user_file_text(prefix / "pyvenv.cfg", kLongest).value_or("");
  for (std::string_view rest = text; !rest.empty();) {
    const auto line = take_word(rest, '\n');
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string key = lower(trimmed(line.substr(0, equals)));
    const auto value = trimmed(line.substr(equals + 1));
    if (key == "home") venv.home = value;
    if (key == "version" || key == "version_info") venv.version = value;
    if (key == "include-system-site-packages") venv.system_packages = lower(value) == "true";
  }
  return venv;
}

/// The name of this Python's library folders ("python3.11"); empty where neither file tells it.
std::string folder_name(const VirtualEnvironment& venv, const fs::path& interpreter) {
  const auto minor = venv.version.find('.', venv.version.find('.') + 1);
  if (!venv.version.empty()) return "python" + venv.version.substr(0, minor);
  std::error_code error;
  const std::string real = fs::canonical(interpreter, error).filename();
  return real.starts_with("python") && real.find('.') != std::string::npos ? real : std::string();
}

/// The packages folders below one prefix, in Python's order.
class PackageFolders {
 public:
  explicit PackageFolders(std::string python) : python_(std::move(python)) {}

  /// Adds a folder once, since lib64 is often a link to lib.
  void add(const fs::path& folder) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    if (error || !fs::is_directory(real, error) || !seen_.insert(real).second) return;
    found_.push_back(folder.lexically_normal().string());
  }

  /// Adds lib/python3.11/site-packages; where the version is not known, those of all versions
  /// there.
  void add_below(const fs::path& library, const char* packages) {
    if (!python_.empty()) return add(library / python_ / packages);
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(library, error))
      if (entry.path().filename().string().starts_with("python3.")) add(entry.path() / packages);
  }

  /// Adds all packages folders that a Python with this prefix has, Debian's names among them.
  void add_prefix(const fs::path& prefix) {
    for (const char* library : {"lib", "lib64"}) add_below(prefix / library, "site-packages");
    add_below(prefix / "local/lib", "dist-packages");
    add_below(prefix / "lib", "dist-packages");
    add(prefix / "lib/python3/dist-packages");
  }

  [[nodiscard]] std::vector<std::string> take() { return std::move(found_); }

 private:
  std::string python_;
  std::set<fs::path> seen_;
  std::vector<std::string> found_;
};

void add_python_path(PackageFolders& folders, std::string_view list) {
  while (!list.empty())
    if (const auto folder = take_word(list, ':'); !folder.empty()) folders.add(fs::path(folder));
}

void add_user_packages(PackageFolders& folders, const Environment& environment) {
  if (!value_or(environment, "PYTHONNOUSERSITE").empty()) return;
  const auto base = value_or(environment, "PYTHONUSERBASE");
  const auto home = value_or(environment, "HOME");
  if (!base.empty())
    folders.add_below(fs::path(base) / "lib", "site-packages");
  else if (!home.empty())
    folders.add_below(fs::path(home) / ".local/lib", "site-packages");
}

/// The first word of a file; empty where there is none.
std::string first_word(const fs::path& file) {
  const std::string text = user_file_text(file, 256).value_or("");
  return text.substr(0, text.find_first_of(" \t\r\n"));
}

/// Chooses the version as pyenv does: its variable, the nearest .python-version, its own file.
std::string pyenv_version(const fs::path& root, const Environment& environment) {
  if (const auto chosen = value_or(environment, "PYENV_VERSION"); !chosen.empty())
    return std::string(chosen.substr(0, chosen.find(':')));
  std::error_code error;
  const auto start = value_or(environment, "PYENV_DIR");
  for (fs::path folder = start.empty() ? fs::current_path(error) : fs::path(start); !folder.empty();
       folder = folder.parent_path()) {
    if (auto version = first_word(folder / ".python-version"); !version.empty()) return version;
    if (folder == folder.root_path()) break;
  }
  return first_word(root / "version");
}

/// Looks through pyenv's shim: pyenv puts a shell script before the interpreter, as
/// ROOT/shims/python3, and this finds the interpreter that the script would start.
fs::path behind_shim(const fs::path& interpreter, const Environment& environment) {
  const fs::path folder = interpreter.parent_path();
  if (folder.filename() != "shims") return interpreter;
  const fs::path root = folder.parent_path();
  const fs::path real =
      root / "versions" / pyenv_version(root, environment) / "bin" / interpreter.filename();
  std::error_code error;
  return fs::exists(real, error) ? real : interpreter;
}

/// The prefix of a Python outside any virtual environment, found through its links.
fs::path installed_prefix(const fs::path& interpreter) {
  std::error_code error;
  const fs::path real = fs::canonical(interpreter, error);
  return (error ? interpreter : real).parent_path().parent_path();
}

}  // namespace

PythonPlaces python_places(std::string_view word, const Environment& environment) {
  PythonPlaces places;
  const Result<std::string> found = launch::find_program(word, environment);
  if (!found) return places;
  const fs::path interpreter = behind_shim(fs::absolute(*found), environment);
  places.interpreter = interpreter.string();
  const fs::path beside = interpreter.parent_path().parent_path();
  const VirtualEnvironment venv = read_pyvenv(beside);
  const bool is_virtual = !venv.home.empty();
  const fs::path prefix = is_virtual ? beside : installed_prefix(interpreter);
  places.prefix = prefix.string();

  PackageFolders folders(folder_name(venv, interpreter));
  add_python_path(folders, value_or(environment, "PYTHONPATH"));
  if (!is_virtual || venv.system_packages) add_user_packages(folders, environment);
  folders.add_prefix(prefix);
  if (is_virtual && venv.system_packages) folders.add_prefix(fs::path(venv.home).parent_path());
  places.packages = folders.take();
  return places;
}

}  // namespace safelaunch::gpu
