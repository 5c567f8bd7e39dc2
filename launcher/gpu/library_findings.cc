#include <algorithm>

#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/gpu/libraries.h"

namespace safelaunch::gpu {
namespace {

std::string described(const FoundLibrary& library) {
  return fmt::format("{} ({}, by {})", library.version, library.path, describe(library.origin));
}

/// What takes the other copy out of reach.
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

/// A copy that only the system's folders hold is on half of all hosts, and harmless there; what a
/// variable put in front, or what the program was built against, is not.
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
