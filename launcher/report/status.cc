#include "safelaunch/report/status.h"

#include <algorithm>
#include <set>

#include "json.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/paper.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/report/run_record.h"

// The last attempt of the record is the present one. Up to sixteen ranks have a row each. Above
// that, ranks with the same stage that do the same share one, and a column then shows its least and
// its greatest value.
namespace safelaunch::report {
namespace {

constexpr std::size_t kMostDetailed = 16;

// The least and the most of what ranks in one row have.
template <class Value>
struct Extent {
  std::optional<Value> least;
  std::optional<Value> most;
  void add(const Value& value) {
    least = std::min(least.value_or(value), value);
    most = std::max(most.value_or(value), value);
  }
};

template <class Value, class Words>
std::string in_words(const Extent<Value>& extent, Words words) {
  if (!extent.least) return "-";
  const std::string least = words(*extent.least);
  const std::string most = words(*extent.most);
  return least == most ? least : tr("{} to {}", least, most);
}

struct Row {
  std::vector<Rank> ranks;
  std::string stage;
  std::string doing;
  Extent<Duration> since{};
  Extent<int> cpu{};
  Extent<std::uint64_t> memory{};
  Extent<std::uint64_t> children{};
  Extent<int> gpu_mib{};
};

void take_rank(int rank, const RunStatus& status, Row& row) {
  row.ranks.push_back(Rank{rank});
  if (const auto since = status.since.find(rank); since != status.since.end() && status.age)
    row.since.add(std::max(Duration{}, *status.age - since->second));
  const auto known = status.figures.find(rank);
  if (known == status.figures.end()) return;
  const RankFigures& figures = known->second;
  if (figures.cpu) row.cpu.add(*figures.cpu);
  if (figures.memory > 0) row.memory.add(figures.memory);
  if (figures.children > 0) row.children.add(figures.children);
  if (figures.gpu_mib) row.gpu_mib.add(*figures.gpu_mib);
}

// "working: uses 98 % of a CPU" -> "working": numbers would keep alike ranks apart.
std::string without_details(const std::string& doing) {
  return doing.substr(0, doing.find(':'));
}

std::string stage_of(int rank, const RunStatus& status) {
  if (status.training) return record::phase_in_words(status.serves);
  const auto stage = status.stages.find(rank);
  return stage == status.stages.end() ? "spawned" : stage->second;
}

// A place in the code says more than one in the kernel.
std::string doing_of(int rank, const RunStatus& status, bool in_detail) {
  const auto figures = status.figures.find(rank);
  if (figures == status.figures.end()) {
    const auto host = status.hosts.find(rank);
    if (host == status.hosts.end()) return "not seen on this host";
    return in_detail ? "elsewhere: on " + host->second : "elsewhere";
  }
  const std::string& doing = figures->second.doing;
  const std::string& where = figures->second.where;
  if (!where.empty()) return fmt::format("{}, in {}", without_details(doing), where);
  // Its CPU has a column of its own.
  const bool has_details = doing.find(": uses ") == std::string::npos;
  return in_detail && has_details ? doing : without_details(doing);
}

std::vector<Row> rows_of(const RunStatus& status) {
  std::set<int> ranks;
  for (const auto& [rank, stage] : status.stages) ranks.insert(rank);
  for (const auto& [rank, figures] : status.figures) ranks.insert(rank);
  std::vector<Row> rows;
  for (const int rank : ranks) {
    const std::string stage = stage_of(rank, status);
    const std::string told = doing_of(rank, status, ranks.size() <= kMostDetailed);
    const auto alike = std::ranges::find_if(
        rows, [&](const Row& row) { return row.stage == stage && row.doing == told; });
    Row* row = ranks.size() > kMostDetailed && alike != rows.end() ? &*alike : nullptr;
    if (row == nullptr) row = &rows.emplace_back(Row{.ranks = {}, .stage = stage, .doing = told});
    take_rank(rank, status, *row);
  }
  return rows;
}

using Cells = std::vector<std::string>;

std::string mib_in_words(int mib) {
  return rough_size(static_cast<std::uint64_t>(mib) << 20U);
}

Cells cells_of(const Row& row) {
  const auto size = [](std::uint64_t bytes) { return rough_size(bytes); };
  return {tr(rank_list(row.ranks)),
          tr(row.stage),
          in_words(row.since, [](Duration since) { return rough_age(since); }),
          in_words(row.cpu, [](int percent) { return fmt::format("{} %", percent); }),
          in_words(row.memory, size),
          in_words(row.children, size),
          in_words(row.gpu_mib, [](int mib) { return mib_in_words(mib); }),
          tr(row.doing)};
}

// A column in which no row tells anything is left out.
std::string aligned(const std::vector<Cells>& table) {
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < table.front().size(); ++column) {
    const bool told = std::any_of(table.begin() + 1, table.end(), [&](const Cells& row) {
      return !row[column].empty() && row[column] != "-";
    });
    std::size_t width = 0;
    for (const Cells& row : table) width = std::max(width, columns(row[column]));
    widths.push_back(told ? width : 0);
  }
  std::string text;
  for (const Cells& row : table) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column)
      if (widths[column] != 0) line += fmt::format("{:<{}}  ", row[column], widths[column]);
    text += "    " + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string in_words(const GpuFigures& gpu) {
  const std::string busy = gpu.busy ? tr(", busy {} %", *gpu.busy) : "";
  return tr("    GPU {}: {} of {} in use{}", gpu.gpu, mib_in_words(gpu.used_mib),
            mib_in_words(gpu.size_mib), busy) +
         "\n";
}

// "group: ranks 0 1 2", a line a stage.
std::string stages_in_words(const RunStatus& status) {
  std::map<std::string, std::vector<Rank>> ranks;
  for (const auto& [rank, stage] : status.stages) ranks[stage].push_back(Rank{rank});
  std::string text;
  for (const auto& [stage, list] : ranks)
    text += fmt::format("    {}: {}\n", stage, tr(rank_list(list)));
  return text;
}

// The ranks with their stage and the figures of this moment, a row a rank; above sixteen, those
// that do the same share a row. Below it the GPUs, a row each.
std::string table_of_ranks(const RunStatus& status) {
  std::vector<Cells> table{{"", tr("reached"), tr("since"), "CPU", tr("memory"), tr("its children"),
                            tr("GPU memory"), tr("does")}};
  for (const Row& row : rows_of(status)) table.push_back(cells_of(row));
  std::string text = aligned(table);
  for (const GpuFigures& gpu : status.gpus) text += in_words(gpu);
  for (const NetworkFigures& one : status.network)
    text += tr("    this host's {}: {} a second in, {} out", one.interface, rough_size(one.in),
               rough_size(one.out)) +
            "\n";
  return text;
}

namespace fs = std::filesystem;

// More than a healthy run records; larger files are not read.
constexpr std::size_t kMostOfEvents = 64U << 20;

// The last stage that the rank reached.
void take_stage(int rank, const RankHistory& history, RunStatus& status) {
  for (std::size_t i = 0; i < history.reached.size(); ++i) {
    const auto& at = history.reached[i];
    if (!at || (status.since.contains(rank) && *at < status.since[rank])) continue;
    status.since[rank] = *at;
    status.stages[rank] = name(static_cast<Stage>(i));
  }
}

// The rate between the last two answers of the rank that has finished most.
std::optional<double> rate_of(const std::vector<Looked<record::Usage>>& usage) {
  std::optional<double> rate;
  std::optional<FinishedCollectives> before;
  for (const auto& [at, figures] : usage) {
    if (figures.collectives.empty()) continue;
    const FinishedCollectives now{at, *std::ranges::max_element(figures.collectives)};
    if (now.count < 0) continue;
    if (before && now.at > before->at)
      rate = static_cast<double>(now.count - before->count) /
             std::chrono::duration<double>(now.at - before->at).count();
    before = now;
  }
  return rate;
}

RunStatus status_of(const RunRecord& run) {
  RunStatus status;
  status.run = run.id;
  status.process = run.process;
  status.boot_id = run.boot_id;
  status.started = run.started;
  status.command = run.summary.command;
  status.ended = run.state == RunRecord::State::ended;
  if (run.attempts.empty()) return status;
  const AttemptHistory& attempt = run.attempts.back();
  status.attempt = attempt.told.number;
  status.profile = attempt.told.profile;
  status.waiting = attempt.waiting;
  status.training = attempt.training.has_value();
  status.serves = attempt.serves;
  if (status.training) status.collectives_a_second = rate_of(attempt.usage);
  if (const auto& stall = attempt.standstill; stall && stall->over_after.empty())
    status.stall =
        in_words(record::Stall{.text = stall->text, .phase = {}, .serves = attempt.serves});
  status.straggler = attempt.straggler;
  for (const auto& [rank, history] : attempt.ranks) {
    if (!history.host.empty()) status.hosts[rank.value] = history.host;
    take_stage(rank.value, history, status);
  }
  return status;
}

// The status line counts the ranks of each stage first, which are told by name already.
std::string_view without_counts(std::string_view waiting) {
  for (const char* begin : {"waiting for ", "all ranks have stood", "the rank has stood"})
    if (const std::size_t at = waiting.find(begin); at != std::string_view::npos)
      return waiting.substr(at);
  return {};
}

Json json_of(const RankFigures& figures) {
  Json json{{"pid", figures.pid},
            {"memory_bytes", figures.memory},
            {"children_memory_bytes", figures.children}};
  if (figures.cpu) json["cpu_percent"] = *figures.cpu;
  if (figures.gpu_mib) json["gpu_mib"] = *figures.gpu_mib;
  if (!figures.doing.empty()) json["doing"] = figures.doing;
  if (!figures.where.empty()) json["where"] = figures.where;
  return json;
}

Json json_of(const GpuFigures& gpu) {
  Json json{{"gpu", gpu.gpu}, {"used_mib", gpu.used_mib}, {"size_mib", gpu.size_mib}};
  if (gpu.busy) json["busy_percent"] = *gpu.busy;
  return json;
}

Json json_of(const record::Straggler& straggler) {
  Json json;
  record::Straggler::fields(straggler,
                            [&](const char* key, const auto& value) { json[key] = value; });
  return json;
}

// Another user, or a job that writes into its own record, must not reach the reader's terminal.
RunStatus shown(RunStatus status) {
  for (std::string* text : {&status.run, &status.profile, &status.waiting, &status.stall})
    *text = plain_line(*text);
  status.command = {plain_line(shell_line(status.command))};
  for (auto& [rank, host] : status.hosts) host = plain_line(host);
  for (auto& [rank, figures] : status.figures) figures.where = plain_line(figures.where);
  if (status.straggler) status.straggler->where = plain_line(status.straggler->where);
  return status;
}

}  // namespace

std::optional<RunStatus> read_status(const fs::path& directory) {
  RunFiles files{.directory = directory, .files = {}};
  for (const char* name : {"events.jsonl", "job.json"}) {
    const auto text = read_user_file(directory / name, kMostOfEvents, Links::refused);
    files.files.push_back({name, text ? *text : ""});
  }
  if (array_if(parse_json<Json>(files.text("job.json")), "command") == nullptr) return std::nullopt;
  return status_of(parse_run(files));
}

std::string render(const RunStatus& run) {
  const RunStatus status = shown(run);
  std::string text =
      tr("{}  pid {}  attempt {} {}{}", status.run, status.process.pid, status.attempt,
         status.profile,
         status.training ? tr(", {}", tr(record::phase_in_words(status.serves))) : "") +
      fmt::format("\n    {}\n", status.command.front());
  if (!status.figures.empty())
    text += table_of_ranks(status);
  else if (!status.training)  // else all ranks are through
    text += stages_in_words(status);
  if (status.collectives_a_second)
    text += tr("    {:.1f} collectives a second", *status.collectives_a_second) + "\n";
  if (!status.stall.empty()) text += fmt::format("    {}\n", tr(status.stall));
  if (status.straggler) text += fmt::format("    {}\n", tr(in_words(*status.straggler)));
  if (status.training || status.ended) return text;
  if (const std::string_view waiting = without_counts(status.waiting); !waiting.empty())
    text += fmt::format("    {}\n", tr(waiting));
  return text;
}

std::string status_json(const std::vector<RunStatus>& runs) {
  Json json = Json::array();
  for (const RunStatus& run : runs) {
    Json entry{{"run", run.run},          {"pid", run.process.pid}, {"started", run.started},
               {"command", run.command},  {"attempt", run.attempt}, {"profile", run.profile},
               {"training", run.training}};
    if (!run.user.empty()) entry["user"] = run.user;
    entry["stages"] = Json::object();
    for (const auto& [rank, stage] : run.stages) entry["stages"][std::to_string(rank)] = stage;
    if (!run.waiting.empty() && !run.training) entry["waiting"] = run.waiting;
    for (const auto& [rank, figures] : run.figures)
      entry["ranks"][std::to_string(rank)] = json_of(figures);
    for (const auto& [rank, host] : run.hosts) entry["ranks"][std::to_string(rank)]["host"] = host;
    if (run.collectives_a_second) entry["collectives_a_second"] = *run.collectives_a_second;
    if (!run.stall.empty()) entry["stall"] = run.stall;
    if (run.straggler) entry["straggler"] = json_of(*run.straggler);
    for (const GpuFigures& gpu : run.gpus) entry["gpus"].push_back(json_of(gpu));
    for (const NetworkFigures& one : run.network)
      entry["network"].push_back({{"interface", one.interface},
                                  {"in_bytes_a_second", one.in},
                                  {"out_bytes_a_second", one.out}});
    json.push_back(std::move(entry));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace safelaunch::report
