#include "safelaunch/report/status.h"

#include <algorithm>

#include "json.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/report/record.h"
#include "status_table.h"

namespace safelaunch::report {
namespace {

namespace fs = std::filesystem;

// More than a healthy run records; larger files are not read.
constexpr std::size_t kMostOfEvents = 64U << 20;

int number_or_none(const Json& json, const char* key) {
  return number_of(json, key).value_or(-1);
}

void take_counts(const record::Usage& usage, Duration at, RunStatus& status) {
  if (usage.collectives.empty()) return;
  const RunStatus::Counted now{at, *std::ranges::max_element(usage.collectives)};
  if (now.collectives < 0) return;
  if (const auto& before = status.counted; before && now.at > before->at)
    status.collectives_a_second = (now.collectives - before->collectives) /
                                  std::chrono::duration<double>(now.at - before->at).count();
  status.counted = now;
}

void apply(const record::Line& line, RunStatus& status) {
  const auto* event = std::get_if<record::Event>(&line.event);
  if (event == nullptr) return;
  if (const auto* attempt = std::get_if<record::Attempt>(event)) {
    status.attempt = line.attempt;
    status.profile = attempt->profile;
    status.stages.clear();
    status.since.clear();
    status.hosts.clear();
    status.waiting.clear();
    status.training = false;
    status.counted.reset();
    status.collectives_a_second.reset();
  } else if (const auto* stage = std::get_if<record::Stage>(event)) {
    status.stages[stage->rank] = stage->stage;
    status.since[stage->rank] = line.at;
  } else if (const auto* node = std::get_if<record::Node>(event)) {
    for (const int rank : node->ranks) status.hosts[rank] = node->host;
  } else if (const auto* told = std::get_if<record::Status>(event)) {
    status.waiting = told->text;
  } else if (const auto* usage = std::get_if<record::Usage>(event)) {
    take_counts(*usage, line.at, status);
  } else if (std::holds_alternative<record::Training>(*event)) {
    status.training = true;
  } else if (std::holds_alternative<record::End>(*event)) {
    status.ended = true;
  }
}

// The status line counts the ranks of each stage first, which are told by name already.
std::string_view without_counts(std::string_view waiting) {
  const std::size_t at = waiting.find("waiting for ");
  return at == std::string_view::npos ? std::string_view() : waiting.substr(at);
}

}  // namespace

std::optional<RunStatus> read_status(const fs::path& directory) {
  const Json job = parse_json(user_file_text(directory / "job.json").value_or(""));
  if (array_if(job, "command") == nullptr) return std::nullopt;
  RunStatus status;
  status.run = text_of(job, "run");
  status.process.pid = number_or_none(job, "pid");
  status.process.start_ticks = number_of<std::uint64_t>(job, "start_ticks").value_or(0);
  status.boot_id = text_of(job, "boot_id");
  status.started = text_of(job, "started");
  status.command = texts_of(job, "command");
  const std::string events = user_file_text(directory / "events.jsonl", kMostOfEvents).value_or("");
  for (std::string_view rest = events; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (const auto read = record::read_line(line)) apply(*read, status);
  }
  return status;
}

std::string render(const RunStatus& status) {
  std::string command;
  for (const std::string& word : status.command) command += " " + word;
  std::string text =
      fmt::format("{}  pid {}  attempt {} {}{}\n   {}\n", status.run, status.process.pid,
                  status.attempt, status.profile, status.training ? ", training" : "", command);
  if (!status.figures.empty())
    text += table_of_ranks(status);
  else if (!status.training)  // else all ranks are through
    text += stages_in_words(status);
  if (status.collectives_a_second)
    text += fmt::format("    {:.1f} collectives a second\n", *status.collectives_a_second);
  if (status.training) return text;
  if (const std::string_view waiting = without_counts(status.waiting); !waiting.empty())
    text += fmt::format("    {}\n", waiting);
  return text;
}

namespace {

Json json_of(const RankFigures& figures) {
  Json json{{"pid", figures.pid},
            {"memory_bytes", figures.memory},
            {"children_memory_bytes", figures.children}};
  if (figures.cpu) json["cpu_percent"] = *figures.cpu;
  if (figures.gpu_mib) json["gpu_mib"] = *figures.gpu_mib;
  if (!figures.doing.empty()) json["doing"] = figures.doing;
  return json;
}

Json json_of(const GpuFigures& gpu) {
  Json json{{"gpu", gpu.gpu}, {"used_mib", gpu.used_mib}, {"size_mib", gpu.size_mib}};
  if (gpu.busy) json["busy_percent"] = *gpu.busy;
  return json;
}

}  // namespace

std::string status_json(const std::vector<RunStatus>& runs) {
  Json json = Json::array();
  for (const RunStatus& run : runs) {
    Json entry{{"run", run.run},          {"pid", run.process.pid}, {"started", run.started},
               {"command", run.command},  {"attempt", run.attempt}, {"profile", run.profile},
               {"training", run.training}};
    entry["stages"] = Json::object();
    for (const auto& [rank, stage] : run.stages) entry["stages"][std::to_string(rank)] = stage;
    if (!run.waiting.empty() && !run.training) entry["waiting"] = run.waiting;
    for (const auto& [rank, figures] : run.figures)
      entry["ranks"][std::to_string(rank)] = json_of(figures);
    for (const auto& [rank, host] : run.hosts) entry["ranks"][std::to_string(rank)]["host"] = host;
    if (run.collectives_a_second) entry["collectives_a_second"] = *run.collectives_a_second;
    for (const GpuFigures& gpu : run.gpus) entry["gpus"].push_back(json_of(gpu));
    json.push_back(std::move(entry));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace safelaunch::report
