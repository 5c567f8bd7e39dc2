#include <algorithm>
#include <map>
#include <utility>

#include "html_page.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"

// The ways between the nodes as a small matrix: which node reaches which other, on which
// interfaces.
namespace safelaunch::report {
namespace {

// The matrix shows at most so many nodes; more nodes are told in the findings.
constexpr std::size_t kMostNodesInMatrix = 32;

/// All that was tried from one node to another.
struct Cell {
  int tried = 0;
  int reached = 0;
  int fastest_us = 0;
  std::string words;  ///< "eth0: reached, ib0: no answer"
};

using TriedWays = std::map<std::pair<int, int>, Cell>;

bool is_reached(const std::string& end) {
  return end == "reached";
}

TriedWays cells_of(const record::Ways& ways) {
  TriedWays cells;
  for (std::size_t i = 0; i < ways.end.size(); ++i) {
    Cell& cell = cells[{ways.from[i], ways.to[i]}];
    const bool reached = is_reached(ways.end[i]);
    const int time = ways.round_trip_us[i];
    ++cell.tried;
    if (reached) ++cell.reached;
    if (time > 0 && (cell.fastest_us == 0 || time < cell.fastest_us)) cell.fastest_us = time;
    cell.words +=
        fmt::format("{}{}: {}", cell.words.empty() ? "" : ", ", ways.interface[i], ways.end[i]);
  }
  return cells;
}

void write_way(const TriedWays& cells, int from, int to_node, HtmlWriter& to) {
  const auto found = cells.find({from, to_node});
  if (found == cells.end()) {
    to.markup("<td class=\"dim\"></td>");
    return;
  }
  const Cell& cell = found->second;
  if (cell.reached == cell.tried)
    to.markup("<td class=\"done\" title=\"");
  else
    cell.reached > 0 ? to.markup("<td class=\"open\" title=\"")
                     : to.markup("<td class=\"not\" title=\"");
  to.text(tr(cell.words), kLongestText).markup("\">");
  if (cell.reached < cell.tried)
    to.text(fmt::format("{}/{}", cell.reached, cell.tried));
  else if (cell.fastest_us > 0)
    to.text(fmt::format("{:.2f}", cell.fastest_us / 1e3));
  else
    to.markup("✓");
  to.markup("</td>");
}

}  // namespace

void write_ways(const RunRecord& run, HtmlWriter& to) {
  if (!run.ways || run.ways->end.empty() || run.ways->hosts.size() > kMostNodesInMatrix) return;
  const auto nodes = static_cast<int>(run.ways->hosts.size());
  const TriedWays cells = cells_of(*run.ways);
  const bool whole = std::ranges::all_of(run.ways->end, is_reached);
  whole ? to.markup("<section><details>") : to.markup("<section><details open>");
  to.markup("<summary>").text(tr("The ways between the nodes")).markup("</summary>\n");
  to.note(tr("From the node of the row to that of the column: the quickest round trip in "
             "milliseconds, or how many of the interfaces that were tried answer."))
      .markup("<div class=\"wide\"><table class=\"called\"><tr><th></th>");
  for (int node = 0; node < nodes; ++node)
    to.markup("<th>").text(std::to_string(node)).markup("</th>");
  to.markup("</tr>\n");
  for (int from = 0; from < nodes; ++from) {
    const std::string& host = run.ways->hosts[static_cast<std::size_t>(from)];
    to.markup("<tr><th>").text(fmt::format("{} {}", from, host), kLongestText).markup("</th>");
    for (int node = 0; node < nodes; ++node) write_way(cells, from, node, to);
    to.markup("</tr>\n");
  }
  to.markup("</table></div></details></section>\n");
}

}  // namespace safelaunch::report
