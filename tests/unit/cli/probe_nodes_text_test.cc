#include "launcher/cli/probe_nodes_text.h"

#include <nlohmann/json.hpp>

#include "catch.h"
#include "safelaunch/base/language.h"

using namespace safelaunch;

using namespace safelaunch::cli;

namespace {

using Catch::Matchers::ContainsSubstring;

probe::Verdict works(double bandwidth) {
  return probe::Works{1, 1, bandwidth};
}

const probe::Verdict kHangs = probe::Hung{probe::Phase::init, {0, 1}};

/// Three nodes, of which the last fails with both others.
nodes::NodeProbeEnd one_bad_node() {
  nodes::NodeProbeEnd end;
  end.leads = true;
  for (int i = 0; i < 3; ++i)
    end.nodes[i] = {
        "gpu-" + std::to_string(i),    8, "8 GPUs (NVIDIA H100)", "13.0", "2.29.7", "eth0",
        "10.0.0." + std::to_string(i), ""};
  end.took_part = {0, 1, 2};
  end.findings.over_all = {{"basic", kHangs, ""}};
  end.findings.bad_nodes = {2};
  end.findings.left_out = {2};
  end.findings.without = works(10);
  end.findings.pairs = {{{0, 1}, {works(10), ""}}, {{1, 2}, {kHangs, ""}}};
  end.exit_code = 1;
  return end;
}

probe::NodeConclusion conclusion_of(const nodes::NodeProbeEnd& end) {
  return probe::conclude(end.findings, end.took_part,
                         {{0, end.nodes.at(0).host}, {1, "gpu-1"}, {2, "gpu-2"}}, true);
}

}  // namespace

TEST_CASE("each node is told with its GPUs and the interface over which its ranks meet") {
  nodes::ProbedNodes nodes = one_bad_node().nodes;
  nodes[1].trouble = "no CUDA driver";
  CHECK(render_nodes(nodes) ==
        "3 nodes\n"
        "  gpu-0  8 GPUs (NVIDIA H100), CUDA 13.0, NCCL 2.29.7, ranks meet over eth0 (10.0.0.0)\n"
        "  gpu-1  cannot take part: no CUDA driver\n"
        "  gpu-2  8 GPUs (NVIDIA H100), CUDA 13.0, NCCL 2.29.7, ranks meet over eth0 (10.0.0.2)\n");
}

TEST_CASE("the matrix shows each pair that was tried, both ways") {
  CHECK(render_matrix(one_bad_node()) ==
        "pairs under basic, GB/s (. not tried)\n"
        "                  0       1       2\n"
        "   0  gpu-0       -    10.0       .\n"
        "   1  gpu-1    10.0       -   hangs\n"
        "   2  gpu-2       .   hangs       -\n");
}

TEST_CASE("nodes, matrix and conclusion are told in the language that is spoken") {
  nodes::NodeProbeEnd end = one_bad_node();
  speak(Language::chinese);
  const std::string nodes = render_nodes(end.nodes);
  const std::string told = render_end(end, conclusion_of(end));
  speak(Language::english);
  CHECK_THAT(nodes, ContainsSubstring("3 个节点") && ContainsSubstring("rank 之间通过 eth0"));
  CHECK_THAT(
      told, ContainsSubstring("basic 下两两配对的带宽") &&
                ContainsSubstring("gpu-2 与谁配对都失败；去掉它之后，all_reduce 在 basic 下可用") &&
                ContainsSubstring("没有 profile 能跨全部 3 个节点：basic 失败") &&
                ContainsSubstring("请用：srun"));
}

TEST_CASE("a slow pair is marked") {
  nodes::NodeProbeEnd end = one_bad_node();
  end.findings.pairs[{1, 2}] = {works(2), ""};
  end.findings.slow_links = {{1, 2}};
  CHECK_THAT(render_matrix(end), ContainsSubstring("! slow") && ContainsSubstring("2.00!"));
}

TEST_CASE("two nodes have no matrix beside their row") {
  nodes::NodeProbeEnd end = one_bad_node();
  end.findings.pairs = {{{0, 1}, {works(10), ""}}};
  CHECK(render_matrix(end).empty());
}

TEST_CASE("of many nodes only the pairs that do not work are listed") {
  nodes::NodeProbeEnd end = one_bad_node();
  for (int i = 2; i < 40; ++i) end.findings.pairs[{i, i + 1}] = {works(10), ""};
  end.findings.pairs[{20, 21}] = {kHangs, ""};
  const std::string text = render_matrix(end);
  CHECK_THAT(text, ContainsSubstring("38 of 40 pairs work as usual under basic\n") &&
                       ContainsSubstring("  gpu-1 – gpu-2: hangs\n") &&
                       ContainsSubstring("  node 20 – node 21: hangs\n"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);
}

TEST_CASE("a round tells how many of its groups work, and which do not") {
  const probe::SearchRound round{probe::SearchRound::Purpose::pairs, 0, {{0, 1}, {2, 3}}};
  const std::vector<probe::GroupResult> results{{{0, 1}, works(10)}, {{2, 3}, kHangs}};
  CHECK(render_round(round, results, "basic", one_bad_node().nodes) ==
        "pairs under basic: 1 of 2 work (gpu-2 node 3 hangs)\n");
}

TEST_CASE("nodes are told with a verdict that names some of them") {
  const nodes::ProbedNodes nodes = one_bad_node().nodes;
  probe::GroupResult result{{0, 1, 2}, kHangs};
  result.stopped = {1};
  CHECK(where(result, nodes) == "gpu-1");
  result.stopped = {0, 1, 2};
  CHECK(where(result, nodes).empty());
}

TEST_CASE("a program reads nodes, pairs, who is to blame and what to do") {
  const nodes::NodeProbeEnd end = one_bad_node();
  const auto json = nlohmann::json::parse(nodes_json(end, conclusion_of(end)));
  CHECK(json["nodes"].size() == 3);
  CHECK(json["nodes"][1]["interface"] == "eth0");
  CHECK(json["profiles"][0]["verdict"] == "hung");
  CHECK(json["pairs"][0]["bus_gb_per_s"] == 10);
  CHECK(json["pairs"][1]["verdict"] == "hangs");
  CHECK(json["bad_nodes"] == std::vector<int>{2});
  CHECK(json["works_without"] == true);
  CHECK(json["use"] == "srun --exclude=gpu-2 safelaunch --profile basic -- COMMAND");
  CHECK(json["status"] == 1);
}

TEST_CASE("the page shows the matrix, and no word of a node becomes markup") {
  nodes::NodeProbeEnd end = one_bad_node();
  end.nodes[0].host = "<script>alert(1)</script>";
  end.nodes[1].trouble = "\"><img src=x> & \x1b[2J";
  end.findings.over_all[0].verdict = probe::Failed{{{0, probe::Phase::init, "<b>bold</b>"}}};
  const std::string page = nodes_page(end, conclusion_of(end));
  CHECK_THAT(page, ContainsSubstring("class=\"matrix\"") && ContainsSubstring("class=\"bad\"") &&
                       ContainsSubstring("&lt;script&gt;") && ContainsSubstring("&lt;b&gt;bold"));
  CHECK_THAT(page, !ContainsSubstring("<script") && !ContainsSubstring("<img") &&
                       !ContainsSubstring("<b>") && !ContainsSubstring("\x1b"));
}

TEST_CASE("what a node tells of itself is read as it was written, and nonsense as nothing") {
  const nodes::ProbedNode node = one_bad_node().nodes[0];
  CHECK(nodes::probed_node_from(to_text(node)) == node);
  CHECK(nodes::probed_node_from("nonsense") == nodes::ProbedNode{});
  CHECK(nodes::probed_node_from(R"({"ranks":-3,"host":7})") == nodes::ProbedNode{});
  CHECK(nodes::probed_node_from(R"({"ranks":1e99,"gpus":["x"]})") == nodes::ProbedNode{});
}

TEST_CASE("nodes that were asked to probe different profiles are told of", "[probe_nodes]") {
  nodes::ProbedNodes nodes;
  nodes[0] = {.host = "gpu-0", .profiles = "basic, no-shm"};
  nodes[1] = {.host = "gpu-1", .profiles = "basic, no-shm"};
  CHECK(nodes::other_profiles(nodes).empty());
  nodes[2] = {.host = "gpu-2", .profiles = "basic"};
  CHECK(
      nodes::other_profiles(nodes) ==
      "gpu-2 (node 2) is to probe basic, and gpu-0 basic, no-shm: give all nodes the same options");
}

TEST_CASE("a node without a name or an interface is told by its seat", "[probe_nodes]") {
  nodes::ProbedNodes nodes;
  nodes[3] = {.gpus = "1 GPU (T4)", .cuda = "12.4", .nccl = "2.21.5"};
  CHECK(render_nodes(nodes) == "1 nodes\n  node 3  1 GPU (T4), CUDA 12.4, NCCL 2.21.5\n");
  CHECK(render_nodes({}) == "0 nodes\n");
}

TEST_CASE("each round says what it was for", "[probe_nodes]") {
  using Purpose = probe::SearchRound::Purpose;
  const nodes::ProbedNodes nodes = one_bad_node().nodes;
  const std::vector<probe::GroupResult> one_works{{{0}, works(1)}, {{1}, kHangs}};
  struct Row {
    Purpose purpose;
    std::string_view name;
  };
  for (const Row& row :
       {Row{Purpose::pairs, "pairs"}, Row{Purpose::again, "pairs again, with proved partners"},
        Row{Purpose::alone, "alone"}, Row{Purpose::halves, "halves"}})
    CHECK(render_round({row.purpose, 0, {}}, one_works, "basic", nodes) ==
          std::string(row.name) + " under basic: 1 of 2 work (gpu-1 hangs)\n");
  CHECK(render_round({Purpose::without, 0, {}}, {{{0, 1}, works(1)}}, "basic", nodes) ==
        "2 nodes without the suspects under basic: 1 of 1 work\n");
  CHECK(render_round({Purpose::everywhere, 0, {}}, one_works, "basic", nodes).empty());
}

TEST_CASE("groups of many nodes are told by their verdict alone, and of many groups sixteen",
          "[probe_nodes]") {
  using Purpose = probe::SearchRound::Purpose;
  const std::vector<probe::GroupResult> halves{{{0, 1, 2}, kHangs}, {{3, 4, 5}, works(1)}};
  CHECK(render_round({Purpose::halves, 0, {}}, halves, "basic", {}) ==
        "halves under basic: 1 of 2 work (hangs)\n");
  const std::vector<probe::GroupResult> many(40, {{0}, kHangs});
  const std::string text = render_round({Purpose::alone, 0, {}}, many, "basic", {});
  CHECK(std::count(text.begin(), text.end(), ',') == 15);
  CHECK_THAT(text, ContainsSubstring("0 of 40 work"));
}

TEST_CASE("a profile over all nodes names the nodes that its verdict names", "[probe_nodes]") {
  const nodes::ProbedNodes nodes = one_bad_node().nodes;
  probe::GroupResult all{{0, 1, 2}, kHangs};
  all.stopped = {2};
  CHECK(render_everywhere("basic", all, nodes, 7) ==
        "basic            -            -  driver ✓ device ✓ nccl ✓ init ✗ ranks 0 1: no answer "
        "within the deadline on gpu-2\n");
  all.stopped.clear();
  CHECK_THAT(render_everywhere("basic", all, nodes, 7), !ContainsSubstring(" on gpu-2"));
}

TEST_CASE("no list of nodes is longer than sixteen", "[probe_nodes]") {
  probe::GroupResult many;
  for (int seat = 0; seat < 40; ++seat) many.nodes.push_back(seat);
  many.stopped = {many.nodes.begin(), many.nodes.begin() + 16};
  CHECK_THAT(where(many, {}), ContainsSubstring("node 0 node 1 ") && ContainsSubstring(" node 15"));
  many.stopped.push_back(16);
  CHECK(where(many, {}).empty());
}

TEST_CASE("the end is the matrix, what it means, and the line to type", "[probe_nodes]") {
  const nodes::NodeProbeEnd end = one_bad_node();
  probe::NodeConclusion conclusion{{"gpu-2 is bad", "the others work"}, "do this", 1};
  CHECK(render_end(end, conclusion) ==
        "\n" + render_matrix(end) + "\ngpu-2 is bad\nthe others work\nuse: do this\n");
  nodes::NodeProbeEnd two = end;
  two.findings.pairs = {{{0, 1}, {works(10), ""}}};
  conclusion.use.clear();
  CHECK(render_end(two, conclusion) == "\ngpu-2 is bad\nthe others work\n");
}

TEST_CASE("a probe without a result tells a program why", "[probe_nodes]") {
  nodes::NodeProbeEnd end;
  end.why = "a node is missing";
  end.exit_code = 69;
  CHECK(nlohmann::json::parse(no_result_json(end)) ==
        nlohmann::json::parse(R"({"conclusion": ["a node is missing"], "status": 69})"));
}

TEST_CASE("of many pairs that do not work sixteen are listed and the rest counted",
          "[probe_nodes]") {
  nodes::NodeProbeEnd end = one_bad_node();
  end.findings.pairs.clear();
  for (int i = 0; i < 20; ++i) end.findings.pairs[{2 * i, 2 * i + 1}] = {kHangs, ""};
  const std::string text = render_matrix(end);
  CHECK(text.starts_with("0 of 20 pairs work as usual under basic\n"));
  CHECK(text.ends_with("  and 4 more\n"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 18);
}

TEST_CASE("a pair with a slow node is slow", "[probe_nodes]") {
  nodes::NodeProbeEnd end = one_bad_node();
  end.findings.pairs[{1, 2}] = {works(9.999), ""};
  end.findings.slow_nodes = {2};
  const auto json = nlohmann::json::parse(nodes_json(end, conclusion_of(end)));
  CHECK(json["pairs"][0]["slow"] == false);
  CHECK(json["pairs"][1]["slow"] == true);
  CHECK(json["slow_nodes"] == std::vector<int>{2});
  CHECK_THAT(nodes_page(end, conclusion_of(end)), ContainsSubstring("<td class=\"slow\">"));
}

TEST_CASE("a program reads of bad links and of nodes that cannot take part", "[probe_nodes]") {
  nodes::NodeProbeEnd end = one_bad_node();
  end.nodes[1].trouble = "no CUDA driver";
  end.findings.ill = {{1, "no CUDA driver"}};
  end.findings.bad_links = {{0, 2}};
  end.findings.works = 0;
  end.findings.without.reset();
  const auto json = nlohmann::json::parse(nodes_json(end, conclusion_of(end)));
  CHECK(json["bad_links"] == nlohmann::json::parse("[[0, 2]]"));
  CHECK(json["cannot_take_part"] ==
        nlohmann::json::parse(R"([{"node": 1, "why": "no CUDA driver"}])"));
  CHECK(json["nodes"][1]["trouble"] == "no CUDA driver");
  CHECK_FALSE(json["nodes"][0].contains("trouble"));
  CHECK(json["fastest"] == "basic");
  CHECK(json["works_without"] == false);
}

TEST_CASE("the page is good where a profile works over all nodes", "[probe_nodes]") {
  const nodes::NodeProbeEnd end = one_bad_node();
  CHECK_THAT(nodes_page(end, {{"all work"}, "", 0}),
             ContainsSubstring("<header class=\"good\">\n<h1>all work</h1>\n</header>"));
  CHECK_THAT(nodes_page(end, {{"none works", "because"}, "do <this>", 1}),
             ContainsSubstring("<header class=\"\">\n<h1>none works</h1>\n<p>because</p>\n"
                               "<p>use: <code>do &lt;this&gt;</code></p>\n</header>"));
}

TEST_CASE("a page of more nodes than a browser shows lists the pairs that do not work",
          "[probe_nodes]") {
  nodes::NodeProbeEnd end = one_bad_node();
  for (int i = 2; i < 140; ++i) end.findings.pairs[{i, i + 1}] = {works(10), ""};
  const std::string page = nodes_page(end, conclusion_of(end));
  CHECK_THAT(page, ContainsSubstring("<pre>139 of 140 pairs work as usual under basic\n") &&
                       !ContainsSubstring("class=\"matrix\""));
}
