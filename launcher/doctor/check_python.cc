#include <algorithm>
#include <array>

#include "checks.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/nccl/version.h"

// The job's Python is compared with what is known to fail: a lock that a dead build of an extension
// left, a proxy between JAX's processes, versions of torch and NCCL with a known bug, two NCCLs in
// reach. Facts that only a GPU makes harmful are risks where there is one.
namespace safelaunch::doctor {
namespace {

using std::string_view_literals::operator""sv;

std::string remedy_for_lock(const Subject& subject) {
  const std::string fix = "safelaunch doctor --fix";
  return subject.removes_locks
             ? "none is needed, the run removes it once all its ranks stand still behind it; " +
                   fix + " does so now"
             : fix;
}

/// From torch 2.14 on the kernel holds the lock of a build: the file that is left keeps nobody
/// waiting.
bool waits_for_files(const HostFacts& facts) {
  const auto torch = nccl::parse_nccl_version(facts.libraries->torch_version);
  return !torch || *torch < nccl::Version{2, 14, 0};
}

void check_locks(const HostFacts& facts, Advices& advices) {
  if (facts.libraries && !waits_for_files(facts)) return;
  for (const clean::StaleFile& lock : facts.locks) {
    Advice advice;
    advice.finding.cause = cause::kExtensionLock;
    advice.finding.severity = Severity::risk;
    advice.finding.evidence = fmt::format(
        "{}: {}; a job that needs this extension waits until it is gone", lock.file.path, lock.why);
    const bool ours = lock.claim == clean::Claim::ours;
    advice.finding.remedy =
        ours ? remedy_for_lock(facts.subject)
             : fmt::format("if nothing builds this extension now: rm {}", lock.file.path);
    if (ours) advice.files = {lock};
    advices.push_back(std::move(advice));
  }
}

/// Finds the proxy as gRPC's core does: it reads these variables, in lower case only, in this
/// order.
std::string_view grpc_proxy(const Environment& environment) {
  for (const auto name : {"grpc_proxy"sv, "https_proxy"sv, "http_proxy"sv})
    if (!value_or(environment, name).empty()) return name;
  return {};
}

/// True if a no_proxy list covers the host, by its name or by the end of its name.
bool covers(std::string_view list, std::string_view host) {
  while (!list.empty()) {
    std::string_view word = take_word(list, ',');
    word.remove_prefix(std::min(word.size(), word.find_first_not_of(' ')));
    if (word == "*" || (!word.empty() && host.ends_with(word))) return true;
  }
  return false;
}

std::string coordinator_of(const HostFacts& facts) {
  const auto named = value_or(facts.subject.environment, "JAX_COORDINATOR_ADDRESS");
  if (named.starts_with('[')) return std::string(named.substr(1, named.find(']') - 1));  // IPv6
  if (!named.empty()) return std::string(named.substr(0, named.rfind(':')));
  return facts.world.master_address.empty() ? "localhost" : facts.world.master_address;
}

/// Warns of a proxy before JAX's coordinator: JAX's processes meet by gRPC, which asks the proxy
/// for the way.
void check_proxies(const HostFacts& facts, Advices& advices) {
  const Environment& environment = facts.subject.environment;
  const auto proxy = grpc_proxy(environment);
  if (!facts.imports_jax || proxy.empty()) return;
  const std::string coordinator = coordinator_of(facts);
  for (const auto name : {"no_grpc_proxy"sv, "no_proxy"sv})
    if (covers(value_or(environment, name), coordinator)) return;
  advise(advices, Severity::risk, cause::kJaxProxy,
         fmt::format("{} is set, the script imports jax, and no_proxy does not name {}", proxy,
                     coordinator),
         fmt::format("export no_proxy=${{no_proxy:+$no_proxy,}}{}", coordinator));
}

void check_torch(const HostFacts& facts, Advices& advices) {
  const std::string& torch = facts.libraries->torch_version;
  const auto set = facts.subject.environment.contains("TORCH_NCCL_USE_COMM_NONBLOCKING");
  const bool affected = torch == "2.7.0" || torch.starts_with("2.7.0+cu");
  if (!affected || set || !may_use_gpus(facts)) return;
  advise(advices, Severity::risk, cause::kNcclNonblocking,
         fmt::format("the job's torch is {}", torch),
         "export TORCH_NCCL_USE_COMM_NONBLOCKING=0, or torch 2.7.1");
}

void check_nccl(const HostFacts& facts, Advices& advices) {
  constexpr std::array kHanging{nccl::Version{2, 26, 2}, nccl::Version{2, 29, 2}};
  if (facts.libraries->nccl.empty() || !may_use_gpus(facts)) return;
  const gpu::FoundLibrary& used = facts.libraries->nccl.front();
  const auto version = nccl::parse_nccl_version(used.version);
  if (!version || std::ranges::find(kHanging, *version) == kHanging.end()) return;
  advise(advices, Severity::risk, cause::kNcclRelease,
         fmt::format("the job will load NCCL {} ({}), which is known to hang", used.version,
                     used.path),
         "take the next release: pip install --upgrade nvidia-nccl-cu12");
}

std::string_view major_of(std::string_view version) {
  return version.substr(0, version.find('.'));
}

/// DeepSpeed raises CUDAMismatchException where its operators would be built for another major
/// version.
void check_toolkit(const HostFacts& facts, Advices& advices) {
  const std::string& ours = facts.libraries->torch_cuda;
  const Toolkit& toolkit = facts.toolkit;
  if (version_of(facts.packages, "deepspeed").empty() || ours.empty() || toolkit.version.empty())
    return;
  if (major_of(ours) == major_of(toolkit.version)) return;
  if (value_or(facts.subject.environment, "DS_SKIP_CUDA_CHECK") == "1") return;
  advise(advices, Severity::risk, cause::kExtensionTools,
         fmt::format("{} is CUDA {}, and torch was built for CUDA {}; DeepSpeed refuses to build "
                     "its operators",
                     toolkit.folder, toolkit.version, ours),
         fmt::format("set CUDA_HOME to a toolkit of CUDA {}", major_of(ours)));
}

}  // namespace

void check_python(const HostFacts& facts, Advices& advices) {
  check_locks(facts, advices);
  check_proxies(facts, advices);
  if (!facts.libraries) return;
  check_torch(facts, advices);
  check_nccl(facts, advices);
  check_toolkit(facts, advices);
  for (Finding& finding : gpu::library_findings(*facts.libraries)) {
    // A job without a GPU loads no NCCL.
    if (!may_use_gpus(facts)) finding.severity = Severity::note;
    advices.push_back({std::move(finding), {}, {}});
  }
}

}  // namespace safelaunch::doctor
