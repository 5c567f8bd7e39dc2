#include "checks.h"

#include <algorithm>

#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/host/process_facts.h"

// Space in /dev/shm is compared with what NCCL and the DataLoader workers of this node will take.
// Segments that earlier jobs left have advice of their own, because --fix may remove those that are
// proven ours. Folders on a file server only make the start slow, but that looks like a hang.
namespace safelaunch::doctor {

// ---- /dev/shm, and files left behind ------------------------------------------------------------

namespace {

constexpr std::uint64_t kMebi = std::uint64_t{1} << 20;
constexpr std::uint64_t kGibi = std::uint64_t{1} << 30;

/// Each process takes so much of /dev/shm for NCCL's proxies alone (2.28.9 and later).
constexpr std::uint64_t kProxyPool = 34'210'176;

/// With less than this nothing fits: no segment of NCCL, no batch of a DataLoader worker.
constexpr std::uint64_t kNothing = 16 * kMebi;

std::string remedy_for(const HostFacts& facts) {
  switch (facts.platform.container) {
    case host::ContainerKind::docker:
    case host::ContainerKind::podman: return "start the container with --shm-size=8g or --ipc=host";
    case host::ContainerKind::kubernetes:
      return "mount an emptyDir with medium: Memory at /dev/shm; until then --profile cumem-host";
    case host::ContainerKind::none: break;
  }
  return fmt::format("mount -o remount,size=8g {}, as root; until then --profile cumem-host",
                     facts.shared_memory.path);
}

/// The least that the GPUs of this node take of /dev/shm.
std::uint64_t needed(const HostFacts& facts) {
  const int ranks = processes_here(facts.subject).value_or(std::max(1, facts.gpus.value_or(1)));
  return static_cast<std::uint64_t>(std::max(1, ranks)) * kProxyPool;
}

std::string size_in_words(const host::SharedMemory& memory) {
  constexpr std::uint64_t kDockers = 64 * kMebi;
  return fmt::format("{} has {} free of {}{}", memory.path, rough_size(memory.available),
                     rough_size(memory.bytes),
                     memory.bytes == kDockers ? " (Docker's default)" : "");
}

void check_size(const HostFacts& facts, Advices& advices) {
  const host::SharedMemory& memory = facts.shared_memory;
  const bool gpus = may_use_gpus(facts);
  if (memory.available < kNothing) {
    advise(advices, Severity::risk, cause::kShmSmall,
           size_in_words(memory) +
               ": DataLoader workers crash there (SIGBUS), and so does NCCL before 2.24 or under a "
               "driver older than CUDA 12.6",
           remedy_for(facts));
  } else if (gpus && memory.available < needed(facts)) {
    advise(
        advices, Severity::risk, cause::kShmSmall,
        fmt::format("{}; NCCL's proxies take {}", size_in_words(memory), rough_size(needed(facts))),
        remedy_for(facts));
  } else if (memory.bytes < kGibi) {
    advise(advices, gpus ? Severity::risk : Severity::note, cause::kShmSmall,
           size_in_words(memory) + "; NCCL's manual advises 1 GiB", remedy_for(facts));
  }
}

std::string remedy_for(const std::vector<clean::StaleFile>& segments) {
  const auto any = [&](clean::Claim claim) {
    return std::ranges::find(segments, claim, &clean::StaleFile::claim) != segments.end();
  };
  if (any(clean::Claim::ours) && !any(clean::Claim::named)) return "safelaunch doctor --fix";
  const std::string named =
      "safelaunch clean --all-mine, unless a job of another container still needs them";
  if (any(clean::Claim::ours))
    return "safelaunch doctor --fix removes what runs of safelaunch have left; the rest: " + named;
  return any(clean::Claim::named) ? named : "remove those that you know to be dead";
}

/// Tells of segments that earlier jobs left: those that --fix may remove, and those that only a
/// person can judge.
void check_segments(const HostFacts& facts, Advices& advices) {
  std::uint64_t bytes = 0;
  std::vector<clean::StaleFile> ours;
  for (const clean::StaleFile& segment : facts.segments) {
    bytes += segment.file.bytes;
    if (segment.claim == clean::Claim::ours) ours.push_back(segment);
  }
  if (facts.segments.empty()) return;
  const clean::StaleFile& first = facts.segments.front();
  const bool scarce = facts.shared_memory.available < facts.shared_memory.bytes / 4;
  Advice advice;
  advice.finding.cause = cause::kShmLeaked;
  advice.finding.severity = scarce ? Severity::risk : Severity::note;
  advice.finding.evidence =
      fmt::format("{} of {} in {} file{} that no process seems to use, such as {} ({})",
                  rough_size(bytes), facts.shared_memory.path, facts.segments.size(),
                  facts.segments.size() == 1 ? "" : "s", first.file.path, first.why);
  advice.finding.remedy = remedy_for(facts.segments);
  advice.files = std::move(ours);
  advices.push_back(std::move(advice));
}

}  // namespace

void check_shared_memory(const HostFacts& facts, Advices& advices) {
  if (facts.shared_memory.bytes == 0) return;  // /dev/shm is not there, or could not be looked at
  check_size(facts, advices);
  check_segments(facts, advices);
}

// ---- folders that all ranks use -----------------------------------------------------------------

namespace {

/// A folder from which all ranks read as they start, or into which they compile.
struct BusyFolder {
  const char* what;
  std::string path;
};

/// The folder that the variable names; otherwise `below` within the folder that `base` names.
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

/// Warns of folders on a file server: each rank reads a thousand small files from it, which is slow
/// and looks like a hang.
void check_storage(const HostFacts& facts, Advices& advices) {
  std::vector<std::string> remote;
  for (const BusyFolder& folder : busy_folders(facts)) {
    const host::Mount* mount = host::mount_of(facts.mounts, folder.path);
    if (mount == nullptr || !host::is_network(*mount)) continue;
    remote.push_back(
        fmt::format("{} ({}, {} of {})", folder.what, folder.path, mount->type, mount->source));
  }
  if (remote.empty()) return;
  advise(advices, Severity::note, cause::kStartStuck,
         "on file systems of the network: " + join(remote, "; "),
         "a slow start is no hang there; to speed it up set TORCH_EXTENSIONS_DIR, TRITON_CACHE_DIR "
         "and HF_HOME below /tmp");
}

}  // namespace safelaunch::doctor
