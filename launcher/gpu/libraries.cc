#include "safelaunch/gpu/libraries.h"

#include <algorithm>
#include <filesystem>

#include "library_files.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/user_file.h"

// Repeats the search of the dynamic loader: LD_PRELOAD, the RPATH of torch's library and of the
// interpreter, JAX's own wheel, LD_LIBRARY_PATH, the RUNPATH, last the loader's cache and the
// system's folders. Copies are listed in this order, each file once, so the first is the one that
// the job loads.
namespace safelaunch::gpu {
namespace {

namespace fs = std::filesystem;

struct Place {
  std::string folder;
  LibraryOrigin origin;
};

/// The folders that the loader searches after LD_PRELOAD and before its cache, in its order.
using Places = std::vector<Place>;

std::vector<std::string> split(std::string_view list, std::string_view separators) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const auto word = list.substr(0, list.find_first_of(separators));
    if (!word.empty()) words.emplace_back(word);
    list.remove_prefix(std::min(word.size() + 1, list.size()));
  }
  return words;
}

/// The beginning that all file names of a library share ("libnccl.so" of "libnccl.so.2"), since a
/// copy may bear its whole version.
std::string_view stem_of(std::string_view soname) {
  return soname.substr(0, soname.find(".so") + 3);
}

std::vector<std::string> paths_in_system(const std::string& name, const SystemPlaces& system) {
  constexpr std::size_t kLargestCache = 8 << 20;
  auto paths = cached_paths(user_file_text(system.loader_cache, kLargestCache).value_or(""), name);
  for (const auto& folder : system.folders) paths.push_back(folder + "/" + name);
  return paths;
}

/// The one file that the loader preloads for a name without a slash; empty where it finds none.
std::string first_of_name(const std::string& name, const Places& places,
                          const SystemPlaces& system) {
  for (const auto& place : places)
    if (place.origin == LibraryOrigin::library_path && is_loadable(place.folder + "/" + name))
      return place.folder + "/" + name;
  const auto paths = paths_in_system(name, system);
  const auto found = std::ranges::find_if(paths, is_loadable);
  return found == paths.end() ? "" : *found;
}

/// Collects the copies of one library, each file once.
class Copies {
 public:
  explicit Copies(std::string_view soname) : soname_(soname) {}

  void add(const std::string& path, LibraryOrigin origin) {
    if (!is_loadable(path)) return;
    std::error_code error;
    std::string real = fs::canonical(path, error).string();
    if (std::ranges::find(seen_, real) != seen_.end()) return;
    seen_.push_back(std::move(real));
    found_.push_back({path, origin, version_of_library(path)});
  }

  void add_preloaded(const Environment& environment, const Places& places,
                     const SystemPlaces& system) {
    for (const auto& word : split(value_or(environment, "LD_PRELOAD"), ": ")) {
      if (!base_name(word).starts_with(stem_of(soname_))) continue;
      add(word.find('/') != std::string::npos ? word : first_of_name(word, places, system),
          LibraryOrigin::preload);
    }
  }

  void add_places(const Places& places) {
    for (const auto& place : places) add(place.folder + "/" + soname_, place.origin);
  }

  void add_system(const SystemPlaces& system) {
    for (const auto& path : paths_in_system(soname_, system)) add(path, LibraryOrigin::system);
  }

  [[nodiscard]] std::vector<FoundLibrary> take() { return std::move(found_); }

 private:
  std::string soname_;
  std::vector<std::string> seen_;
  std::vector<FoundLibrary> found_;
};

std::vector<FoundLibrary> copies_of(std::string_view soname, const Environment& environment,
                                    const Places& places, const SystemPlaces& system) {
  Copies copies(soname);
  copies.add_preloaded(environment, places, system);
  copies.add_places(places);
  copies.add_system(system);
  return copies.take();
}

Places library_path(const Environment& environment) {
  Places places;
  for (auto& folder : split(value_or(environment, "LD_LIBRARY_PATH"), ":;"))
    places.push_back({std::move(folder), LibraryOrigin::library_path});
  return places;
}

void append(Places& places, const std::vector<std::string>& folders, LibraryOrigin origin) {
  for (const auto& folder : folders)
    places.push_back({fs::path(folder).lexically_normal().string(), origin});
}

/// The folders below which NCCL's wheels put their library: nvidia/nccl/lib in each packages
/// folder.
std::vector<std::string> wheel_folders(const PythonPlaces& python) {
  std::vector<std::string> folders;
  for (const auto& packages : python.packages) folders.push_back(packages + "/nvidia/nccl/lib");
  return folders;
}

/// True if JAX's CUDA plug-in is installed (jax_plugins/xla_cuda13).
bool has_jax_for_cuda(const PythonPlaces& python) {
  std::error_code error;
  for (const auto& packages : python.packages)
    for (const auto& entry : fs::directory_iterator(packages + "/jax_plugins", error))
      if (entry.path().filename().string().starts_with("xla_cuda")) return true;
  return false;
}

Places places_of_nccl(const PythonPlaces& python, const TorchFiles& torch,
                      const Environment& environment) {
  Places places;
  if (torch.runpath.empty()) {
    append(places, torch.rpath, LibraryOrigin::torch);
    std::error_code error;
    const auto real = fs::canonical(python.interpreter, error).string();
    if (const auto elf = read_elf(real)) append(places, elf->rpath, LibraryOrigin::python);
  }
  if (has_jax_for_cuda(python)) append(places, wheel_folders(python), LibraryOrigin::jax);
  std::ranges::move(library_path(environment), std::back_inserter(places));
  append(places, torch.runpath, LibraryOrigin::torch_late);
  append(places, wheel_folders(python), LibraryOrigin::packages);
  return places;
}

}  // namespace

const char* describe(LibraryOrigin origin) {
  switch (origin) {
    case LibraryOrigin::preload: return "LD_PRELOAD";
    case LibraryOrigin::torch: return "torch's RPATH";
    case LibraryOrigin::python: return "the interpreter's RPATH";
    case LibraryOrigin::jax: return "JAX's CUDA plug-in";
    case LibraryOrigin::library_path: return "LD_LIBRARY_PATH";
    case LibraryOrigin::torch_late: return "torch's RUNPATH";
    case LibraryOrigin::packages: return "site-packages";
    case LibraryOrigin::system: return "the system";
  }
  return "";
}

JobLibraries find_job_libraries(std::string_view python, const Environment& environment,
                                const SystemPlaces& system) {
  JobLibraries libraries;
  libraries.python = python_places(python, environment);
  const TorchFiles torch = read_torch(libraries.python);
  libraries.torch_version = torch.version;
  libraries.torch_cuda = torch.cuda;
  libraries.nccl_inside_torch = torch.holds_nccl;
  for (const auto& packages : libraries.python.packages)
    if (libraries.nccl_wheels.empty()) libraries.nccl_wheels = nccl_wheels_in(packages);
  libraries.nccl = copies_of("libnccl.so.2", environment,
                             places_of_nccl(libraries.python, torch, environment), system);
  libraries.driver = find_library("libcuda.so.1", environment, system);
  libraries.nvml = find_library("libnvidia-ml.so.1", environment, system);
  return libraries;
}

std::vector<FoundLibrary> find_library(std::string_view soname, const Environment& environment,
                                       const SystemPlaces& system) {
  return copies_of(soname, environment, library_path(environment), system);
}

// ---- what of them may harm the job --------------------------------------------------------------

namespace {

std::string described(const FoundLibrary& library) {
  return fmt::format("{} ({}, by {})", library.version, library.path, describe(library.origin));
}

/// Says how to take the other copy out of reach.
std::string remedy_for(const FoundLibrary& other, const FoundLibrary& used) {
  switch (used.origin) {
    case LibraryOrigin::preload: return "unset LD_PRELOAD, unless it is there to try this NCCL";
    case LibraryOrigin::library_path:
      return fmt::format("take {} out of LD_LIBRARY_PATH",
                         used.path.substr(0, used.path.rfind('/')));
    default: break;
  }
  if (other.origin == LibraryOrigin::library_path)
    return fmt::format("take {} out of LD_LIBRARY_PATH",
                       other.path.substr(0, other.path.rfind('/')));
  return "nothing, unless a program of the job is linked with the other one";
}

/// Half of all hosts have a further copy in the system's folders, and it does no harm there. A copy
/// that a variable put in front is a risk.
Severity severity_of(const FoundLibrary& used, const FoundLibrary& other) {
  const bool chosen_by_hand = used.origin == LibraryOrigin::preload ||
                              used.origin == LibraryOrigin::library_path ||
                              other.origin == LibraryOrigin::library_path;
  return chosen_by_hand ? Severity::risk : Severity::note;
}

std::vector<Finding> other_versions(const std::vector<FoundLibrary>& nccl) {
  std::vector<Finding> findings;
  if (nccl.empty() || nccl.front().version.empty()) return findings;
  const FoundLibrary& used = nccl.front();
  const auto differs = [&](const FoundLibrary& other) {
    return !other.version.empty() && other.version != used.version;
  };
  const auto other = std::ranges::find_if(nccl, differs);
  if (other == nccl.end()) return findings;
  findings.push_back({cause::kNcclTwoLibraries, severity_of(used, *other),
                      fmt::format("the job will load NCCL {}; in reach is also {}", described(used),
                                  described(*other)),
                      remedy_for(*other, used)});
  return findings;
}

std::string package_of(std::string_view wheel) {
  std::string name(wheel.substr(0, wheel.rfind('-')));
  std::ranges::replace(name, '_', '-');
  return name;
}

std::vector<Finding> overwritten_wheels(const JobLibraries& libraries) {
  const auto& wheels = libraries.nccl_wheels;
  if (wheels.size() < 2) return {};
  std::string packages;
  for (const auto& wheel : wheels) packages += " " + package_of(wheel);
  return {{cause::kNcclTwoLibraries, Severity::risk,
           fmt::format("{} wheels bring NCCL into one folder, the last one installed is there: {}",
                       wheels.size(), fmt::format("{}", packages.substr(1))),
           fmt::format("pip uninstall{}, then install torch again", packages)}};
}

}  // namespace

std::vector<Finding> library_findings(const JobLibraries& libraries) {
  std::vector<Finding> findings = overwritten_wheels(libraries);
  std::ranges::move(other_versions(libraries.nccl), std::back_inserter(findings));
  return findings;
}

}  // namespace safelaunch::gpu
