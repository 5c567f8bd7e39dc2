#include "probe_nodes_text.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "probe_text.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/harmless.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/report/report.h"
#include "verbs.h"

// Of many nodes a table would not be read, so a screen and a page each have a number of nodes from
// which they list only the pairs that are not as usual. A pair is slow where its link is, or one of
// its nodes.
namespace safelaunch::cli {
namespace {

using NodesJson = nlohmann::ordered_json;

// So many nodes fit on a terminal of 100 columns, and so many on a page that a browser shows at
// once.
constexpr std::size_t kMostOnScreen = 12;
constexpr std::size_t kMostOnPage = 128;
constexpr std::size_t kMostPairs = 16;

std::string host_of(const nodes::ProbedNodes& nodes, int seat) {
  const auto node = nodes.find(seat);
  return node != nodes.end() && !node->second.host.empty() ? node->second.host
                                                           : fmt::format("node {}", seat);
}

std::string hosts_of(const nodes::ProbedNodes& nodes, const std::vector<int>& seats) {
  std::vector<std::string> names;
  for (const int seat : seats) names.push_back(host_of(nodes, seat));
  return join(names, " ");
}

std::optional<double> bandwidth_of(const probe::Verdict& verdict) {
  const auto* works = std::get_if<probe::Works>(&verdict);
  return works == nullptr ? std::nullopt : works->bus_gb_per_s;
}

bool is_slow(const probe::SearchFindings& findings, const probe::NodePair& pair) {
  return findings.slow_links.contains(pair) || findings.slow_nodes.contains(pair.first) ||
         findings.slow_nodes.contains(pair.second);
}

/// "10.2", "fails", "." for a pair that was not tried.
std::string cell_of(const probe::SearchFindings& findings, int one, int other) {
  if (one == other) return "-";
  const auto seen = findings.pairs.find(probe::pair_of(one, other));
  if (seen == findings.pairs.end()) return ".";
  const auto bandwidth = bandwidth_of(seen->second.verdict);
  if (!bandwidth) return probe::word_for(seen->second.verdict);
  return fmt::format("{:.{}f}{}", *bandwidth, *bandwidth < 10 ? 2 : 1,
                     is_slow(findings, seen->first) ? "!" : "");
}

bool is_odd(const probe::SearchFindings& findings, const probe::NodePair& pair) {
  return !bandwidth_of(findings.pairs.at(pair).verdict) || is_slow(findings, pair);
}

/// The nodes of which a pair was tried.
std::vector<int> seats_in_matrix(const probe::SearchFindings& findings) {
  std::set<int> seats;
  for (const auto& [pair, seen] : findings.pairs) seats.insert({pair.first, pair.second});
  return {seats.begin(), seats.end()};
}

std::string searched_profile(const probe::SearchFindings& findings) {
  return findings.searched < findings.over_all.size() ? findings.over_all[findings.searched].profile
                                                      : std::string();
}

std::string odd_pairs(const nodes::NodeProbeEnd& end) {
  const probe::SearchFindings& findings = end.findings;
  std::string text;
  std::size_t odd = 0;
  for (const auto& [pair, seen] : findings.pairs) {
    if (!is_odd(findings, pair) || ++odd > kMostPairs) continue;
    text +=
        fmt::format("  {} – {}: {}\n", host_of(end.nodes, pair.first),
                    host_of(end.nodes, pair.second), cell_of(findings, pair.first, pair.second));
  }
  if (odd > kMostPairs) text += "  " + tr("and {} more", odd - kMostPairs) + "\n";
  return tr("{} of {} pairs work as usual under {}", findings.pairs.size() - odd,
            findings.pairs.size(), searched_profile(findings)) +
         "\n" + text;
}

}  // namespace

std::string render_nodes(const nodes::ProbedNodes& nodes) {
  std::size_t width = 0;
  for (const auto& [seat, node] : nodes) width = std::max(width, host_of(nodes, seat).size());
  std::string text = fmt::format("{} {}\n", nodes.size(), tr("nodes"));
  for (const auto& [seat, node] : nodes) {
    text += fmt::format("  {:<{}}  ", host_of(nodes, seat), width);
    if (!node.trouble.empty())
      text += tr("cannot take part: {}", tr(node.trouble));
    else
      text += fmt::format("{}, CUDA {}, NCCL {}{}", node.gpus, node.cuda, node.nccl,
                          node.interface.empty()
                              ? ""
                              : ", " + tr("ranks meet over {} ({})", node.interface, node.address));
    text += "\n";
  }
  return text;
}

std::string where(const probe::GroupResult& result, const nodes::ProbedNodes& nodes) {
  const bool all = result.stopped.size() == result.nodes.size();
  if (result.stopped.empty() || all || result.stopped.size() > kMostPairs) return "";
  return hosts_of(nodes, result.stopped);
}

std::string render_round(const probe::SearchRound& round,
                         const std::vector<probe::GroupResult>& results, const std::string& profile,
                         const nodes::ProbedNodes& nodes) {
  using Purpose = probe::SearchRound::Purpose;
  constexpr std::array kNames{"",      "pairs",   "pairs again, with proved partners",
                              "alone", "without", "halves"};
  if (round.purpose == Purpose::everywhere) return "";
  std::vector<std::string> odd;
  std::size_t works = 0;
  for (const probe::GroupResult& one : results) {
    if (std::holds_alternative<probe::Works>(one.verdict))
      ++works;
    else if (odd.size() < kMostPairs)
      odd.push_back(one.nodes.size() <= 2 ? fmt::format("{} {}", hosts_of(nodes, one.nodes),
                                                        tr(probe::word_for(one.verdict)))
                                          : tr(probe::word_for(one.verdict)));
  }
  std::string name = tr(kNames[static_cast<std::size_t>(round.purpose)]);
  if (round.purpose == Purpose::without)
    name = tr("{} nodes without the suspects", results.front().nodes.size());
  return tr("{} under {}: {} of {} work{}", name, profile, works, results.size(),
            odd.empty() ? "" : fmt::format(" ({})", join(odd, ", "))) +
         "\n";
}

std::string render_matrix(const nodes::NodeProbeEnd& end) {
  const probe::SearchFindings& findings = end.findings;
  const std::vector<int> seats = seats_in_matrix(findings);
  if (seats.size() < 3) return "";
  if (seats.size() > kMostOnScreen) return odd_pairs(end);
  std::size_t width = 0;
  for (const int seat : seats) width = std::max(width, host_of(end.nodes, seat).size());
  const bool all_fast = findings.slow_links.empty() && findings.slow_nodes.empty();
  std::string text = tr("pairs under {}, GB/s (. not tried{})", searched_profile(findings),
                        all_fast ? "" : tr(", ! slow")) +
                     fmt::format("\n{:{}}", "", width + 6);
  for (const int seat : seats) text += fmt::format("{:>8}", seat);
  for (const int row : seats) {
    text += fmt::format("\n  {:>2}  {:<{}}", row, host_of(end.nodes, row), width);
    for (const int column : seats) text += fmt::format("{:>8}", cell_of(findings, row, column));
  }
  return text + "\n";
}

std::string render_everywhere(const std::string& profile, const probe::GroupResult& all,
                              const nodes::ProbedNodes& nodes, std::size_t width) {
  const std::string row = render_probe_row({profile, all.verdict, all.cause}, kSeveralRanks, width);
  const std::string at = where(all, nodes);
  return at.empty() ? row : fmt::format("{} on {}\n", row.substr(0, row.size() - 1), at);
}

std::string render_end(const nodes::NodeProbeEnd& end, const probe::NodeConclusion& conclusion) {
  const std::string matrix = render_matrix(end);
  std::string text = fmt::format("\n{}{}", matrix, matrix.empty() ? "" : "\n");
  for (const std::string& sentence : conclusion.sentences) text += tr(sentence) + "\n";
  if (!conclusion.use.empty()) text += tr("use: {}", tr(conclusion.use)) + "\n";
  return text;
}

// ---- JSON ---------------------------------------------------------------------------------------

std::string no_result_json(const nodes::NodeProbeEnd& end) {
  return NodesJson{{"conclusion", {end.why}}, {"status", end.exit_code}}.dump(
             2, ' ', false, NodesJson::error_handler_t::replace) +
         "\n";
}

namespace {

NodesJson node_json(int seat, const nodes::ProbedNode& node) {
  NodesJson json{{"node", seat},      {"host", node.host}, {"ranks", node.ranks},
                 {"gpus", node.gpus}, {"cuda", node.cuda}, {"nccl", node.nccl}};
  json["interface"] = node.interface;
  json["address"] = node.address;
  if (!node.trouble.empty()) json["trouble"] = node.trouble;
  return json;
}

NodesJson pair_json(const nodes::NodeProbeEnd& end, const probe::NodePair& pair,
                    const probe::PairSeen& seen) {
  NodesJson json{{"nodes", {pair.first, pair.second}},
                 {"hosts", {host_of(end.nodes, pair.first), host_of(end.nodes, pair.second)}},
                 {"verdict", probe::word_for(seen.verdict)},
                 {"slow", is_slow(end.findings, pair)}};
  if (const auto bandwidth = bandwidth_of(seen.verdict)) json["bus_gb_per_s"] = *bandwidth;
  if (const std::string why = probe::reason(seen.verdict); !why.empty()) json["why"] = why;
  if (!seen.cause.empty()) json["cause"] = seen.cause;
  return json;
}

NodesJson links_json(const std::set<probe::NodePair>& links) {
  NodesJson json = NodesJson::array();
  for (const auto& [one, other] : links) json.push_back({one, other});
  return json;
}

}  // namespace

std::string nodes_json(const nodes::NodeProbeEnd& end, const probe::NodeConclusion& conclusion) {
  const probe::SearchFindings& findings = end.findings;
  NodesJson nodes = NodesJson::array();
  for (const auto& [seat, node] : end.nodes) nodes.push_back(node_json(seat, node));
  NodesJson profiles = NodesJson::array();
  for (const probe::ProbedProfile& one : findings.over_all)
    profiles.push_back(NodesJson::parse(profile_json(one)));
  NodesJson pairs = NodesJson::array();
  for (const auto& [pair, seen] : findings.pairs) pairs.push_back(pair_json(end, pair, seen));
  NodesJson ill = NodesJson::array();
  for (const auto& [seat, why] : findings.ill) ill.push_back({{"node", seat}, {"why", why}});
  NodesJson json{{"nodes", nodes}, {"profiles", profiles}, {"pairs", pairs}};
  json["pairs_profile"] = searched_profile(findings);
  json["fastest"] = findings.works ? findings.over_all[*findings.works].profile : "";
  json["cannot_take_part"] = ill;
  json["bad_nodes"] = findings.bad_nodes;
  json["bad_links"] = links_json(findings.bad_links);
  json["slow_nodes"] = findings.slow_nodes;
  json["slow_links"] = links_json(findings.slow_links);
  json["left_out"] = findings.left_out;
  json["works_without"] =
      findings.without && std::holds_alternative<probe::Works>(*findings.without);
  json["conclusion"] = conclusion.sentences;
  json["use"] = conclusion.use;
  json["status"] = conclusion.exit_code;
  return json.dump(2, ' ', false, NodesJson::error_handler_t::replace) + "\n";
}

// ---- the page -----------------------------------------------------------------------------------

namespace {

/// No word of a node or of NCCL becomes markup, or moves a cursor where the page is shown raw.
std::string escaped(std::string_view text) {
  return report::html_text(harmless(text));
}

constexpr const char* kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="safelaunch">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark">
<title>safelaunch probe over several nodes</title>
<style>
:root { --page: #f6f7f9; --card: #fff; --line: #e1e5ea; --ink: #1d242d; --dim: #66717f; --good: #18794e; --bad: #c62a2f;
  --good-soft: #e6f4ec; --bad-soft: #fdecec; --warn-soft: #fdf0df; --soft: #f1f3f6; }
@media (prefers-color-scheme: dark) { :root { --page: #12161b; --card: #1a2027; --line: #2c353f; --ink: #e4e9ef;
  --dim: #95a1af; --good: #5bc796; --bad: #ff7a7d; --good-soft: #17342a; --bad-soft: #3d1e21; --warn-soft: #3a2b16; --soft: #222a33; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 66rem; padding: 1.25rem 1rem 3rem; background: var(--page); color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
header, section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1.1rem 1.25rem;
  margin-bottom: 1rem; overflow-x: auto; }
header { border-top: 4px solid var(--bad); }
header.good { border-top-color: var(--good); }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .7rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 0 0 .6rem; }
p { margin: .45rem 0; overflow-wrap: anywhere; }
code { background: var(--soft); border-radius: 4px; padding: .1em .35em; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid var(--line); padding: .25em .6em; text-align: left; font-weight: 400; white-space: nowrap; }
.matrix td { text-align: right; }
.works { background: var(--good-soft); } .bad { background: var(--bad-soft); } .slow { background: var(--warn-soft); }
.dim { color: var(--dim); }
</style>
</head>
<body>
)";

const char* class_of(const probe::SearchFindings& findings, int one, int other) {
  const auto seen = findings.pairs.find(probe::pair_of(one, other));
  if (one == other || seen == findings.pairs.end()) return "dim";
  if (is_slow(findings, seen->first)) return "slow";
  return bandwidth_of(seen->second.verdict) ? "works" : "bad";
}

std::string title_of(const probe::SearchFindings& findings, int one, int other) {
  const auto seen = findings.pairs.find(probe::pair_of(one, other));
  if (one == other || seen == findings.pairs.end()) return "";
  const std::string why = probe::reason(seen->second.verdict);
  return why.empty() ? "" : fmt::format(" title=\"{}\"", escaped(why));
}

std::string page_matrix(const nodes::NodeProbeEnd& end) {
  const std::vector<int> seats = seats_in_matrix(end.findings);
  if (seats.size() < 2) return "";
  std::string text = fmt::format("<section>\n<h2>Pairs under {}, GB/s</h2>\n",
                                 escaped(searched_profile(end.findings)));
  if (seats.size() > kMostOnPage)
    return text + "<pre>" + escaped(odd_pairs(end)) + "</pre>\n</section>\n";
  text += "<table class=\"matrix\">\n<tr><th></th>";
  for (const int seat : seats) text += fmt::format("<th>{}</th>", seat);
  for (const int row : seats) {
    text += fmt::format("</tr>\n<tr><th>{} {}</th>", row, escaped(host_of(end.nodes, row)));
    for (const int column : seats)
      text += fmt::format("<td class=\"{}\"{}>{}</td>", class_of(end.findings, row, column),
                          title_of(end.findings, row, column), cell_of(end.findings, row, column));
  }
  return text + "</tr>\n</table>\n<p class=\"dim\">. not tried</p>\n</section>\n";
}

std::string page_profiles(const nodes::NodeProbeEnd& end) {
  std::string text = "<section>\n<h2>Profiles over all nodes</h2>\n<table>\n";
  for (const probe::ProbedProfile& one : end.findings.over_all) {
    const auto bandwidth = bandwidth_of(one.verdict);
    text += fmt::format(
        "<tr><th>{}</th><td class=\"{}\">{}</td><td>{}</td></tr>\n", escaped(one.profile),
        std::holds_alternative<probe::Works>(one.verdict)    ? "works"
        : std::holds_alternative<probe::Untold>(one.verdict) ? "dim"
                                                             : "bad",
        bandwidth ? fmt::format("{:.2f} GB/s", *bandwidth) : probe::word_for(one.verdict),
        escaped(probe::reason(one.verdict)));
  }
  return text + "</table>\n</section>\n";
}

std::string page_nodes(const nodes::ProbedNodes& nodes) {
  std::string text =
      "<section>\n<h2>Nodes</h2>\n<table>\n<tr><th></th><th>host</th><th>GPUs</th><th>CUDA</th>"
      "<th>NCCL</th><th>ranks meet over</th></tr>\n";
  for (const auto& [seat, node] : nodes) {
    text += fmt::format("<tr><th>{}</th><td>{}</td>", seat, escaped(node.host));
    if (!node.trouble.empty())
      text += fmt::format("<td class=\"bad\" colspan=\"4\">{}</td></tr>\n", escaped(node.trouble));
    else
      text += fmt::format("<td>{}</td><td>{}</td><td>{}</td><td>{} {}</td></tr>\n",
                          escaped(node.gpus), escaped(node.cuda), escaped(node.nccl),
                          escaped(node.interface), escaped(node.address));
  }
  return text + "</table>\n</section>\n";
}

}  // namespace

std::string nodes_page(const nodes::NodeProbeEnd& end, const probe::NodeConclusion& conclusion) {
  std::string page = kHead;
  page +=
      fmt::format("<header class=\"{}\">\n<h1>{}</h1>\n", conclusion.exit_code == 0 ? "good" : "",
                  escaped(conclusion.sentences.front()));
  for (std::size_t i = 1; i < conclusion.sentences.size(); ++i)
    page += fmt::format("<p>{}</p>\n", escaped(conclusion.sentences[i]));
  if (!conclusion.use.empty())
    page += fmt::format("<p>use: <code>{}</code></p>\n", escaped(conclusion.use));
  page += "</header>\n" + page_matrix(end) + page_profiles(end) + page_nodes(end.nodes);
  return page + "</body>\n</html>\n";
}

}  // namespace safelaunch::cli
