#include "safelaunch/doctor/advice_text.h"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/paper.h"
#include "safelaunch/base/strings.h"

// Each theme has a line of facts, and the findings decide whether it is well: a finding above a
// note, of a cause that belongs to the theme, makes it unwell. Text and JSON are made from the same
// values.
namespace safelaunch::doctor {
namespace {

using Causes = std::initializer_list<std::string_view>;

class Themes {
 public:
  explicit Themes(std::span<const Advice> advices) : advices_(advices) {}

  void add(std::string_view name, std::string seen, Causes causes) {
    if (!seen.empty()) themes_.push_back({name, std::move(seen), is_well(causes)});
  }
  [[nodiscard]] std::vector<LookedAt> take() { return std::move(themes_); }

 private:
  [[nodiscard]] bool is_well(Causes causes) const {
    return std::ranges::none_of(advices_, [&](const Advice& advice) {
      return advice.finding.severity != Severity::note &&
             std::ranges::find(causes, advice.finding.cause) != causes.end();
    });
  }

  std::span<const Advice> advices_;
  std::vector<LookedAt> themes_;
};

std::string command_of(const HostFacts& facts) {
  if (!facts.subject.command) return {};
  const job::Command& command = *facts.subject.command;
  std::string text = command.argv.empty() ? "" : command.argv.front();
  if (command.launcher != job::Launcher::opaque && base_name(text) != name(command.launcher))
    text = fmt::format("{}, started by {}", name(command.launcher), text);
  if (command.script && command.script->kind == job::ScriptKind::file)
    text += fmt::format(", script {}", command.argv[command.script->word]);
  if (command.python) text += fmt::format(", Python {}", *command.python);
  return text;
}

std::string world_of_rank(const HostFacts& facts) {
  const World& world = facts.world;
  if (!world.rank || !world.size || world.master_address.empty() || !world.master_port) return {};
  return fmt::format("RANK={} of {} at {}:{} looks right", *world.rank, *world.size,
                     world.master_address, *world.master_port);
}

std::string python_of(const HostFacts& facts) {
  if (!facts.libraries) return {};
  std::string text = facts.libraries->python.interpreter;
  if (!text.empty()) text += ": ";
  text += facts.libraries->torch_version.empty()
              ? "no torch"
              : fmt::format("torch {}", facts.libraries->torch_version);
  for (const Package& package : facts.packages)
    if (package.name != "torch") text += fmt::format(", {} {}", package.name, package.version);
  if (!facts.libraries->nccl.empty())
    text += fmt::format(", NCCL {} ({})", facts.libraries->nccl.front().version,
                        facts.libraries->nccl.front().path);
  return facts.libraries->nccl_inside_torch ? text + ", NCCL inside torch" : text;
}

/// Why a host on which something speaks for GPUs has none; empty where nothing does.
std::string why_no_gpu(const HostFacts& facts) {
  const std::size_t listed = facts.nvml.gpus.size();
  const auto named = facts.subject.environment.find("CUDA_VISIBLE_DEVICES");
  if (listed > 0 && named != facts.subject.environment.end())
    return fmt::format("CUDA_VISIBLE_DEVICES={} hides {}", named->second,
                       listed == 1 ? "the only one" : fmt::format("all {}", listed));
  return facts.visible_gpus.trouble == gpu::Trouble::no_driver ? "" : facts.visible_gpus.why;
}

/// The model, where all are of one.
std::string model_of(std::span<const std::string> names) {
  const bool alike = !names.empty() && std::ranges::all_of(names, [&](const std::string& name) {
    return name == names.front();
  });
  return alike ? fmt::format(" ({})", names.front()) : std::string();
}

std::string driver_of(const HostFacts& facts) {
  if (!facts.nvml.driver.empty()) return facts.nvml.driver;
  const bool found = facts.libraries && !facts.libraries->driver.empty();
  return found ? facts.libraries->driver.front().version : std::string();
}

std::string gpus_of(const HostFacts& facts) {
  if (facts.gpus == 0) {
    const std::string why = why_no_gpu(facts);
    return why.empty() ? "no GPU here" : "no GPU here: " + why;
  }
  if (!facts.gpus) return "not counted: " + facts.visible_gpus.why;
  const int gpus = *facts.gpus;
  const int listed = static_cast<int>(facts.nvml.gpus.size());
  std::string text = gpus < listed ? fmt::format("{} of {} GPUs", gpus, listed)
                                   : fmt::format("{} GPU{}", gpus, gpus == 1 ? "" : "s");
  text += model_of(facts.visible_gpus.names);
  if (const std::string driver = driver_of(facts); !driver.empty()) text += ", driver " + driver;
  if (!facts.visible_gpus.cuda.empty()) text += ", CUDA " + facts.visible_gpus.cuda;
  return text;
}

std::string port_of(const HostFacts& facts) {
  if (!facts.port) return "none is named; a run chooses a free one";
  return fmt::format("{} {}", facts.port->port,
                     facts.port->holders.empty() ? "is free" : "is held");
}

std::string shared_memory_of(const HostFacts& facts) {
  const host::SharedMemory& memory = facts.shared_memory;
  if (memory.bytes == 0) return {};
  return fmt::format("{}, {} free", rough_size(memory.bytes), rough_size(memory.available));
}

std::string interfaces_of(const HostFacts& facts) {
  std::vector<std::string> words;
  for (const host::NetworkInterface& one : facts.interfaces)
    if (!one.addresses.empty())
      words.push_back(fmt::format("{} {}", one.name, one.addresses.front()));
  return join(words, ", ");
}

std::string limits_of(const HostFacts& facts) {
  const auto shown = [](std::uint64_t limit) {
    return limit == host::kUnlimited ? std::string("unlimited") : fmt::format("{}", limit);
  };
  return fmt::format("{} open files, {} processes", shown(facts.limits.open_files.soft),
                     shown(facts.limits.processes.soft));
}

std::string clock_of(const HostFacts& facts) {
  if (!facts.clock) return {};
  if (!facts.clock->kept) return "no time service keeps it; only jobs of several nodes need one";
  return fmt::format("kept by a time service, at most {}ms off", facts.clock->error.count());
}

std::string locks_of(const HostFacts& facts) {
  return facts.locks.empty() ? "no stale lock of an extension"
                             : fmt::format("{} of extensions", facts.locks.size());
}

}  // namespace

// Beside each theme stand the causes whose findings make it unwell.

std::vector<LookedAt> looked_at(const HostFacts& facts, std::span<const Advice> advices) {
  Themes themes(advices);
  themes.add("command", command_of(facts), {"command", cause::kBadArguments, cause::kPortZero});
  const bool well = std::ranges::none_of(advices, [](const Advice& advice) {
    const std::string& id = advice.finding.cause;
    return id == cause::kWorldVariables || id == cause::kConnectFailed ||
           id == cause::kNameResolution;
  });
  if (well) themes.add("world", world_of_rank(facts), {});
  themes.add(
      "python", python_of(facts),
      {cause::kNcclRelease, cause::kNcclNonblocking, cause::kNcclTwoLibraries, cause::kJaxProxy});
  themes.add(
      "gpus", gpus_of(facts),
      {cause::kGpuIll, cause::kDeviceOrdinal, cause::kNoGpu, cause::kDriverSilent,
       cause::kDriverMismatch, cause::kDriverOld, cause::kContainerLostGpus, cause::kCudaUnknown,
       cause::kFabricManager, cause::kGpuExclusive, cause::kGpuHeld, cause::kMig});
  themes.add("port", port_of(facts), {cause::kPortTaken});
  themes.add("/dev/shm", shared_memory_of(facts), {cause::kShmSmall, cause::kShmLeaked});
  themes.add("interfaces", interfaces_of(facts), {cause::kIfnameMissing, cause::kWrongInterface});
  themes.add("limits", limits_of(facts),
             {cause::kOpenFiles, cause::kThreadLimit, cause::kIbMemlock, cause::kStackUnlimited});
  themes.add("clock", clock_of(facts), {cause::kClockSkew});
  themes.add("locks", locks_of(facts), {cause::kExtensionLock});
  return themes.take();
}

namespace {

using Json = nlohmann::ordered_json;

Ink ink_of(Severity severity) {
  switch (severity) {
    case Severity::blocks: return Ink::fault;
    case Severity::risk: return Ink::warning;
    case Severity::note: break;
  }
  return Ink::dim;
}

std::string heading(const Finding& finding) {
  return fmt::format(
      "{}  {}: {}\n",
      inked(ink_of(finding.severity), fmt::format("{:<8}", tr(name(finding.severity)))),
      finding.cause, tr(finding.evidence));
}

Json to_json(const Advice& advice) {
  Json json;
  json["id"] = advice.finding.cause;
  json["severity"] = name(advice.finding.severity);
  json["evidence"] = advice.finding.evidence;
  json["remedy"] = advice.finding.remedy;
  json["fixable"] = advice.can_be_fixed();
  json["files"] = Json::array();
  for (const clean::StaleFile& one : advice.files) json["files"].push_back(one.file.path);
  json["pids"] = Json::array();
  for (const clean::StaleProcess& one : advice.processes)
    json["pids"].push_back(one.process.id.pid);
  return json;
}

Json versions(const HostFacts& facts) {
  Json json = Json::object();
  for (const Package& package : facts.packages) json[package.name] = package.version;
  if (!facts.libraries) return json;
  if (!facts.libraries->torch_version.empty()) json["torch"] = facts.libraries->torch_version;
  if (!facts.libraries->nccl.empty()) json["nccl"] = facts.libraries->nccl.front().version;
  return json;
}

}  // namespace

std::string render_looked_at(std::span<const LookedAt> themes) {
  std::string text;
  for (const LookedAt& theme : themes)
    text += fmt::format("{} {:<10}  {}\n", theme.is_well ? inked(Ink::good, "✓") : " ",
                        tr(theme.name), tr(theme.seen));
  return text;
}

std::string render_advices(std::span<const Advice> advices) {
  if (advices.empty()) return tr("no problems found") + "\n";
  std::string text;
  for (const Advice& advice : advices) {
    text += heading(advice.finding);
    if (!advice.finding.remedy.empty())
      text += fmt::format("          {} {}\n", inked(Ink::help, tr("help:")),
                          tr(advice.finding.remedy));
  }
  return text;
}

std::string in_one_line(const Finding& finding) {
  const std::string text = fmt::format("{}: {}", finding.cause, finding.evidence);
  return finding.remedy.empty() ? text : fmt::format("{}; help: {}", text, finding.remedy);
}

std::string advices_json(const HostFacts& facts, std::span<const Advice> advices,
                         const FixReport& fixed) {
  Json json;
  json["blocked"] = std::ranges::any_of(advices, blocks, &Advice::finding);
  json["findings"] = Json::array();
  for (const Advice& advice : advices) json["findings"].push_back(to_json(advice));
  json["fixed"] = fixed;
  json["versions"] = versions(facts);
  json["looked_at"] = Json::array();
  for (const LookedAt& theme : looked_at(facts, advices))
    json["looked_at"].push_back(
        {{"what", theme.name}, {"seen", theme.seen}, {"ok", theme.is_well}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace safelaunch::doctor
