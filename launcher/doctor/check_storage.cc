#include "checks.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"

namespace safelaunch::doctor {
namespace {

/// A folder from which all ranks read as they start, or into which they compile.
struct BusyFolder {
  const char* what;
  std::string path;
};

/// The folder that a variable names, else one below another's.
std::string named_or_below(const Environment& environment, std::string_view variable,
                           std::string_view base, const char* below) {
  if (const auto named = value_or(environment, variable); !named.empty()) return std::string(named);
  const auto folder = value_or(environment, base);
  return folder.empty() ? "" : std::string(folder) + below;
}

std::vector<BusyFolder> busy_folders(const HostFacts& facts) {
  const Environment& environment = facts.subject.environment;
  std::vector<BusyFolder> folders;
  if (facts.libraries)
    for (const std::string& packages : facts.libraries->python.packages)
      folders.push_back({"Python's packages", packages});
  folders.push_back({"torch's extensions", host::extensions_folder(environment)});
  folders.push_back(
      {"Triton's cache", named_or_below(environment, "TRITON_CACHE_DIR", "HOME", "/.triton")});
  folders.push_back({"Hugging Face's cache",
                     named_or_below(environment, "HF_HOME", "HOME", "/.cache/huggingface")});
  return folders;
}

}  // namespace

/// A thousand small files from one server, for each rank: what looks like a hang is only slow.
void check_storage(const HostFacts& facts, Advices& advices) {
  std::string remote;
  for (const BusyFolder& folder : busy_folders(facts)) {
    const host::Mount* mount = host::mount_of(facts.mounts, folder.path);
    if (mount == nullptr || !host::is_network(*mount)) continue;
    remote += fmt::format("{}{} ({}, {} of {})", remote.empty() ? "" : "; ", folder.what,
                          folder.path, mount->type, mount->source);
  }
  if (remote.empty()) return;
  advise(advices, Severity::note, cause::kStartStuck, "on file systems of the network: " + remote,
         "a slow start is no hang there; local are TORCH_EXTENSIONS_DIR, TRITON_CACHE_DIR, HF_HOME "
         "below /tmp");
}

}  // namespace safelaunch::doctor
