#include "status_table.h"

#include <algorithm>
#include <set>

#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/base/strings.h"

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
  return least == most ? least : least + " to " + most;
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
  if (status.training) return "training";
  const auto stage = status.stages.find(rank);
  return stage == status.stages.end() ? "spawned" : stage->second;
}

std::string doing_of(int rank, const RunStatus& status) {
  const auto figures = status.figures.find(rank);
  if (figures == status.figures.end()) {
    const auto host = status.hosts.find(rank);
    return host == status.hosts.end() ? "not seen on this host" : "elsewhere: on " + host->second;
  }
  // Its CPU has a column of its own.
  const std::string& doing = figures->second.doing;
  return doing.find(": uses ") == std::string::npos ? doing : without_details(doing);
}

std::vector<Row> rows_of(const RunStatus& status) {
  std::set<int> ranks;
  for (const auto& [rank, stage] : status.stages) ranks.insert(rank);
  for (const auto& [rank, figures] : status.figures) ranks.insert(rank);
  std::vector<Row> rows;
  for (const int rank : ranks) {
    const std::string stage = stage_of(rank, status);
    const std::string doing = doing_of(rank, status);
    const std::string told = ranks.size() > kMostDetailed ? without_details(doing) : doing;
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
  return {rank_list(row.ranks),
          row.stage,
          in_words(row.since, [](Duration since) { return rough_age(since); }),
          in_words(row.cpu, [](int percent) { return fmt::format("{} %", percent); }),
          in_words(row.memory, size),
          in_words(row.children, size),
          in_words(row.gpu_mib, [](int mib) { return mib_in_words(mib); }),
          row.doing};
}

// A column in which no row tells anything is left out.
std::string aligned(const std::vector<Cells>& table) {
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < table.front().size(); ++column) {
    const bool told = std::any_of(table.begin() + 1, table.end(), [&](const Cells& row) {
      return !row[column].empty() && row[column] != "-";
    });
    std::size_t width = 0;
    for (const Cells& row : table) width = std::max(width, row[column].size());
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
  const std::string busy = gpu.busy ? fmt::format(", busy {} %", *gpu.busy) : "";
  return fmt::format("    GPU {}: {} of {} in use{}\n", gpu.gpu, mib_in_words(gpu.used_mib),
                     mib_in_words(gpu.size_mib), busy);
}

}  // namespace

std::string stages_in_words(const RunStatus& status) {
  std::map<std::string, std::vector<Rank>> ranks;
  for (const auto& [rank, stage] : status.stages) ranks[stage].push_back(Rank{rank});
  std::string text;
  for (const auto& [stage, list] : ranks)
    text += fmt::format("    {}: {}\n", stage, rank_list(list));
  return text;
}

std::string table_of_ranks(const RunStatus& status) {
  std::vector<Cells> table{
      {"", "reached", "since", "CPU", "memory", "its children", "GPU memory", "does"}};
  for (const Row& row : rows_of(status)) table.push_back(cells_of(row));
  std::string text = aligned(table);
  for (const GpuFigures& gpu : status.gpus) text += in_words(gpu);
  return text;
}

}  // namespace safelaunch::report
