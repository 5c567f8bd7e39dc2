#include "safelaunch/run/records.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/log.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/launch/guardian.h"
#include "safelaunch/probe/measured.h"
#include "safelaunch/profile/render.h"

namespace safelaunch {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

void write_later(DiskQueue& disk, std::filesystem::path file, std::string text) {
  const std::size_t size = text.size();
  const auto write = [path = std::move(file), whole = std::move(text)] {
    (void)write_atomically(path, whole);
  };
  if (!disk.post(size, write))
    log_warning("the disk does not keep up: a file of the record is missing");
}

void write_job_file(DiskQueue& disk, const RunDirectory& directory, const RunPlan& plan,
                    const RunSummary& summary) {
  const int guardian = guardian_pid();
  const auto facts = facts_of(guardian != 0 ? guardian : getpid());
  Json json;
  json["run"] = summary.run_id;
  json["pid"] = facts ? facts->id.pid : 0;
  json["start_ticks"] = facts ? facts->id.start_ticks : 0;
  json["boot_id"] = read_boot_id();
  json["started"] = wall_time_now();
  json["command"] = summary.command;
  std::error_code gone;  // a folder that was removed under us is no reason not to run
  json["directory"] = std::filesystem::current_path(gone).native();
  if (!plan.options.log_dir.empty())
    json["log_dir"] = std::filesystem::absolute(plan.options.log_dir, gone).native();
  json["chain"] = plan.chain_names;
  write_later(disk, directory.path() / "job.json",
              json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

void write_env_diff(DiskQueue& disk, const std::filesystem::path& attempt,
                    const std::vector<Difference>& differences, const Redactor& redactor) {
  if (attempt.empty() || differences.empty()) return;
  write_later(disk, attempt / "env.diff", render_differences(differences, redactor));
}

void record_nccl(EventLog& log, const NcclRecord& nccl) {
  if (!nccl.any) return;
  const auto list = [](const std::set<std::string>& words) {
    return std::vector<std::string>(words.begin(), words.end());
  };
  log.record(record::Nccl{.version = nccl.version ? to_string(*nccl.version) : "",
                          .interface = list(nccl.interfaces),
                          .network = list(nccl.networks),
                          .transport = list(nccl.transports),
                          .read = nccl.variables,
                          .unread = nccl.unread,
                          .standing = describe_standing(nccl)});
}

void record_collectives(EventLog& log, const RankAnswers& answers) {
  if (answers.collectives.empty()) return;
  std::vector<std::string> ranks;
  for (const auto& [rank, seen] : answers.collectives)
    ranks.push_back(fmt::format("rank {}: {}", rank.value, describe(seen)));
  const CollectivesCompared compared = compare(answers.collectives);
  log.record(record::Collectives{ranks, compared.contradiction, compared.behind_what,
                                 compared.store_waits});
}

void record_removed_segments(EventLog& log, const std::vector<LeftFile>& removed) {
  if (removed.empty()) return;
  std::uint64_t bytes = 0;
  std::vector<std::string> paths;
  for (const LeftFile& file : removed) {
    bytes += file.bytes;
    paths.push_back(file.path);
  }
  log.record(record::Segments{paths, static_cast<std::int64_t>(bytes)});
}

std::string cost_in_words(const Profile& profile) {
  const std::string cost(name(profile.cost));
  return profile.description.empty() ? cost : cost + " (" + profile.description + ")";
}

std::string cost_in_words(const RunPlan& plan, const Profile& profile) {
  const HostKey key = host_key(plan);
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto host = load_measured(measured_file(plan.environment, key.hostname));
  const auto measured =
      host ? measured_cost(*host, key, now, plan.chain_names.front(), profile.name) : std::nullopt;
  return measured ? *measured : cost_in_words(profile);
}

void remember_success(const RunPlan& plan, const Profile& profile, int attempts, Probed probed) {
  const bool worth_it = attempts >= 2 || probed == Probed::yes;
  if (!worth_it && !plan.options.forget) return;
  const std::string file = memory_file(plan.environment);
  if (file.empty()) return;
  const HostKey key = host_key(plan);
  Memory memory = forget(load_memory(file), key);
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  if (worth_it) memory = remember(std::move(memory), {key, profile.name, now});
  if (const auto saved = save_memory(file, memory); !saved) log_debug(saved.error().message);
}

}  // namespace safelaunch
