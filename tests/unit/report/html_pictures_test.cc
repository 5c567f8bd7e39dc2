#include "html_parts.h"

using namespace safelaunch;
using namespace safelaunch::report;
using namespace safelaunch::testing;
using namespace std::chrono_literals;

namespace {

std::string axis_of(Duration length) {
  return built([&](HtmlWriter& to) { write_axis(length, to); });
}

std::string figures_html(const AttemptHistory& attempt) {
  return built([&](HtmlWriter& to) { write_figures(attempt, to); });
}

std::string collectives_html(const record::Collectives& told) {
  AttemptHistory attempt;
  attempt.collectives = told;
  return built([&](HtmlWriter& to) { write_collectives(attempt, to); });
}

std::string ways_html(const record::Ways& ways) {
  RunRecord run;
  run.ways = ways;
  return built([&](HtmlWriter& to) { write_ways(run, to); });
}

std::string overview_html(const RunRecord& run) {
  return built([&](HtmlWriter& to) { write_overview(run, to); });
}

}  // namespace

// ---- the axis

TEST_CASE("an axis has two to seven marks at round times, whatever its length", "[html]") {
  CHECK(axis_of(10s).find(">2s</b>") != std::string::npos);
  CHECK(axis_of(90s).find(">20s</b>") != std::string::npos);
  for (const Duration length : {1ms, 99ms, 500ms, 501ms})
    CHECK(times_in(axis_of(length), "<b ") >= 1);
  for (const Duration length :
       {Duration(1s), Duration(7s), Duration(59s), Duration(61s), Duration(10min), Duration(1h),
        Duration(25h), Duration(24h * 3650)}) {
    const std::size_t marks = times_in(axis_of(length), "<b ");
    INFO(length.count());
    CHECK(marks >= 2);
    CHECK(marks <= 7);
  }
}

TEST_CASE("an axis begins at 0 and has no mark whose label would not fit", "[html]") {
  const std::string axis = axis_of(10s);
  CHECK(axis.find("<b style=\"left:0.00%\">0</b>") != std::string::npos);
  CHECK(axis.find("100.00%") == std::string::npos);
  CHECK(axis_of(0s).find(">0</b>") != std::string::npos);
}

// ---- the timeline

TEST_CASE("an empty timeline is not drawn", "[html]") {
  CHECK(timeline_html({}).empty());
}

TEST_CASE("a bar has a stretch for each span, with its share and its times", "[html]") {
  Timeline timeline;
  timeline.length = 10s;
  timeline.verdict = 5s;
  timeline.rows.push_back({{Rank{0}},
                           {{TimelineSpan::Kind::starting, Stage::spawned, 0s, 1s},
                            {TimelineSpan::Kind::reached, Stage::imported, 1s, 3s},
                            {TimelineSpan::Kind::waiting, Stage::group, 3s, 5s},
                            {TimelineSpan::Kind::stopped, Stage::group, 5s, 10s}},
                           {},
                           "waited",
                           false});
  const std::string html = timeline_html(timeline);
  for (const char* part : {"<i class=\"s0\" style=\"width:10.00%\" title=\"starting, 0s–1s\"></i>",
                           "<i class=\"s1\" style=\"width:20.00%\" title=\"imported, 1s–3s\"></i>",
                           "<i class=\"w\" style=\"width:20.00%\" title=\"waiting, 3s–5s\"></i>",
                           "<i class=\"x\" style=\"width:50.00%\" title=\"stopped, 5s–10s\"></i>",
                           "<b style=\"left:50.00%\" title=\"verdict after 5s\"></b>",
                           "<span class=\"note\">waited</span>", "imported reached</span>",
                           "waiting for others</span>", "<i class=\"v\"></i>verdict</span>"}) {
    INFO(part);
    CHECK(html.find(part) != std::string::npos);
  }
  CHECK(html.find("missing</span>") == std::string::npos);
}

TEST_CASE("the table of times has the stages that a rank reached", "[html]") {
  Timeline timeline;
  timeline.length = 10s;
  TimelineRow row{
      {Rank{0}}, {{TimelineSpan::Kind::starting, Stage::spawned, 0s, 10s}}, {}, "", false};
  row.reached[static_cast<std::size_t>(Stage::imported)] = 1s;
  timeline.rows = {row, {{Rank{1}}, row.spans, {}, "missing", true}};
  const std::string html = timeline_html(timeline);
  CHECK(html.find("<tr><th>rank</th><th>imported</th></tr>") != std::string::npos);
  CHECK(html.find("<tr><td>rank 1</td><td>–</td></tr>") != std::string::npos);
}

TEST_CASE("each stage has a colour of its own", "[html]") {
  const char* classes[] = {"s0", "s1", "s2", "s3", "s4", "s5"};
  for (int i = 0; i < kStageCount; ++i) {
    Timeline timeline;
    timeline.length = 1s;
    timeline.rows.push_back(
        {{Rank{0}}, {{TimelineSpan::Kind::reached, static_cast<Stage>(i), 0s, 1s}}, {}, "", false});
    CHECK(timeline_html(timeline).find("<i class=\"" + std::string(classes[i]) +
                                       "\" style=\"width:100.00%\"") != std::string::npos);
  }
}

TEST_CASE("a suspect's row stands out, and many rows are drawn small", "[html]") {
  Timeline timeline;
  timeline.length = 1s;
  timeline.rows.push_back({{Rank{1}}, {}, {}, "missing", true});
  CHECK(timeline_html(timeline).find("<div class=\"r bad\"><span class=\"who\">rank 1</span>") !=
        std::string::npos);
  CHECK(timeline_html(timeline).find("<div class=\"tl\">") != std::string::npos);
  for (int i = 0; i < 20; ++i) timeline.rows.push_back({{Rank{i + 2}}, {}, {}, "", false});
  timeline.ranks_left_out = 1'003;
  CHECK(timeline_html(timeline).find("<div class=\"tl many\">") != std::string::npos);
  CHECK(timeline_html(timeline).find("and 1003 ranks more") != std::string::npos);
}

TEST_CASE("the timeline of 1,024 ranks has at most 64 rows, and names the missing one", "[html]") {
  AttemptHistory attempt;
  attempt.until = 100s;
  attempt.verdict = RecordedVerdict{.at = 90s, .text = "", .failure = {}};
  attempt.verdict->failure.missing = {{.rank = Rank{517}}};
  for (int i = 0; i < 1'024; ++i) {
    attempt.ranks[Rank{i}].reached[1] = Duration(i * 10);
    if (i != 517) attempt.verdict->failure.waiting.push_back(Rank{i});
  }
  const std::string html = attempt_html(attempt);
  CHECK(times_in(html, "<div class=\"r bad\">") == 1);
  CHECK(html.find(">rank 517</span>") != std::string::npos);
  CHECK(html.find("ranks 0-516 518-1023") != std::string::npos);
  CHECK(html.size() < 10'000);
}

// ---- figures

TEST_CASE("an attempt without figures has no charts", "[html]") {
  CHECK(figures_html({}).empty());
  AttemptHistory once;
  once.until = 10s;
  once.usage = {{1s, {{0}, {1}, {2}, {3}, {}}}};
  CHECK(figures_html(once).empty());
}

TEST_CASE("a chart tells its scale, the most, and who had it", "[html]") {
  AttemptHistory attempt;
  attempt.until = 10s;
  attempt.usage = {{1s, {{0, 1}, {50, 98}, {512, 600}, {0, 0}, {}}},
                   {9s, {{0, 1}, {60, 97}, {700, 600}, {0, 0}, {}}}};
  const std::string html = figures_html(attempt);
  CHECK(html.find("memory<small>0 to 768 MiB</small>") != std::string::npos);
  CHECK(html.find("most 700 MiB, rank 0") != std::string::npos);
  CHECK(html.find("CPU<small>0 to 100 %</small>") != std::string::npos);
  CHECK(html.find("most 98 %, rank 1") != std::string::npos);
  CHECK(html.find("memory of its children") == std::string::npos);
  CHECK(html.find("points=\"100.0,") != std::string::npos);
  CHECK(times_in(html, "<svg ") == 2);
}

TEST_CASE("a rank that is gone has no figures, so its lines do not fall to nothing", "[html]") {
  AttemptHistory attempt;
  attempt.until = 10s;
  attempt.usage = {{0s, {{0}, {10}, {512}, {0}, {}}},
                   {5s, {{0}, {10}, {512}, {0}, {}}},
                   {9s, {{0}, {0}, {0}, {0}, {}}}};
  const std::string html = figures_html(attempt);
  CHECK(html.find("500.0,") != std::string::npos);
  CHECK(html.find("900.0,") == std::string::npos);
}

TEST_CASE("figures of any origin stay within their picture", "[html]") {
  const int most = std::numeric_limits<int>::max();
  const int least = std::numeric_limits<int>::min();
  AttemptHistory attempt;
  attempt.began = 5s;
  attempt.until = 6s;
  attempt.usage = {{0s, {{0}, {least}, {1}, {least}, {least}}},
                   {3s, {{0}, {least}, {-5}, {least}, {least}}},
                   {9s, {{0}, {most}, {most}, {most}, {most}}}};
  attempt.gpus = {{0s, {{-7}, {least}, {0}, {-1}, {}, {}}},
                  {9s, {{-7}, {most}, {most}, {most}, {}, {}}}};
  const std::string html = figures_html(attempt);
  CHECK(html.find("points=\"0.0,") != std::string::npos);
  CHECK(html.find("nan") == std::string::npos);
  CHECK(html.find("inf") == std::string::npos);
  CHECK(html.find("points=\"-") == std::string::npos);
}

TEST_CASE("GPUs have charts of their own, and a driver that tells no work has none", "[html]") {
  AttemptHistory attempt;
  attempt.until = 10s;
  attempt.gpus = {{1s, {{0}, {1024}, {81'920}, {-1}, {}, {}}},
                  {9s, {{0}, {2048}, {81'920}, {-1}, {}, {}}}};
  const std::string html = figures_html(attempt);
  CHECK(html.find("memory of the GPUs<small>0 to 80.0 GiB</small>") != std::string::npos);
  CHECK(html.find("most 2.0 GiB, GPU 0") != std::string::npos);
  CHECK(html.find("work of the GPUs") == std::string::npos);
}

TEST_CASE("the rate of collectives is told with a digit where it is small", "[html]") {
  AttemptHistory attempt;
  attempt.training = 10s;
  attempt.ranks[Rank{0}].finished = FinishedCollectives{20s, 25};
  CHECK(figures_html(attempt).find("After the start: 2.5 collectives a second") !=
        std::string::npos);
  attempt.ranks[Rank{1}].finished = FinishedCollectives{20s, 2'500};
  CHECK(figures_html(attempt).find("After the start: 250 collectives a second") !=
        std::string::npos);
  attempt.ranks.clear();
  attempt.ranks[Rank{0}].finished = FinishedCollectives{10s, 25};
  CHECK(figures_html(attempt).empty());
}

// ---- collectives

TEST_CASE("the matrix of collectives is shown where the ranks do not agree", "[html]") {
  const std::vector<std::string> answers{
      "rank 0: all_reduce, collective 1 of group 0: finished; broadcast, collective 2 of group 0: "
      "started; waits in TCPStore__wait",
      "rank 1: all_reduce, collective 1 of group 0: finished"};
  CHECK(collectives_html({answers, "", "", ""}).empty());
  CHECK(collectives_html({{}, "they differ", "", ""}).empty());
  const std::string html = collectives_html({answers, "", "rank 1 is <behind>", ""});
  for (const char* part :
       {"<p>rank 1 is &lt;behind&gt;</p>", "<th>1<small>group 0</small></th>",
        "<td class=\"done\">all_reduce<small>finished</small></td>",
        "<td class=\"open\">broadcast<small>started</small></td>",
        "<td class=\"not\">not called</td>", "<td class=\"dim\">waits in TCPStore__wait </td>"}) {
    INFO(part);
    CHECK(html.find(part) != std::string::npos);
  }
}

TEST_CASE("a collective that a rank has behind it is not said to be not called", "[html]") {
  const std::string html = collectives_html({{"rank 0: all_reduce, collective 31 of group 0: "
                                              "finished; all_reduce, collective 32 of group "
                                              "0: started",
                                              "rank 1: all_reduce, collective 30 of group 0: "
                                              "finished; all_reduce, collective 31 of group "
                                              "0: finished"},
                                             "",
                                             "rank 1 is behind",
                                             ""});
  const auto count = [&](std::string_view part) {
    int found = 0;
    for (auto at = html.find(part); at != std::string::npos; at = html.find(part, at + 1)) ++found;
    return found;
  };
  CHECK(count("<td class=\"dim\">earlier</td>") == 1);
  CHECK(count("not called</td>") == 1);
}

TEST_CASE("of 1,024 ranks that all differ 64 rows are shown and the rest is counted", "[html]") {
  std::vector<std::string> answers;
  for (int i = 0; i < 1'024; ++i)
    answers.push_back("rank " + std::to_string(i) + ": all_reduce, collective " +
                      std::to_string(i) + " of group 0: started");
  const std::string html = collectives_html({answers, "they differ", "", ""});
  CHECK(times_in(html, "<tr>") == 65);
  CHECK(html.find("and 960 rows more") != std::string::npos);
  for (std::string& answer : answers)
    answer = answer.substr(0, answer.find(", c")) + ", collective 1 of group 0: started";
  CHECK(collectives_html({answers, "they differ", "", ""}).find("<th>ranks 0-1023</th>") !=
        std::string::npos);
}

// ---- ways and attempts

TEST_CASE("a way is told by what was reached and how fast", "[html]") {
  const record::Ways ways{{"a", "b", "c"},
                          {0, 0, 1, 1, 2},
                          {1, 1, 0, 2, 0},
                          {"eth0", "ib0", "eth0", "eth0", "eth0"},
                          {"reached", "no answer", "reached", "refused", "reached"},
                          {90, 0, 1'250, 0, 0},
                          0};
  const std::string html = ways_html(ways);
  for (const char* part :
       {"<td class=\"open\" title=\"eth0: reached, ib0: no answer\">1/2</td>",
        "<td class=\"done\" title=\"eth0: reached\">1.25</td>",
        "<td class=\"not\" title=\"eth0: refused\">0/1</td>",
        "<td class=\"done\" title=\"eth0: reached\">✓</td>", "<th>0 a</th>", "<details open>"}) {
    INFO(part);
    CHECK(html.find(part) != std::string::npos);
  }
}

TEST_CASE("of more nodes than a browser shows no matrix is drawn", "[html]") {
  record::Ways ways{std::vector<std::string>(32, "h"), {0}, {1}, {"eth0"}, {"reached"}, {1}, 0};
  CHECK(times_in(ways_html(ways), "<tr>") == 33);
  CHECK(times_in(ways_html(ways), "<details>") == 1);  // all is reached, so it is closed
  ways.hosts.emplace_back("h");
  CHECK(ways_html(ways).empty());
  ways = {{"a"}, {}, {}, {}, {}, {}, 0};
  CHECK(ways_html(ways).empty());
}

TEST_CASE("one attempt without a probe needs no overview", "[html]") {
  RunRecord run;
  CHECK(overview_html(run).empty());
  run.attempts.resize(1);
  CHECK(overview_html(run).empty());
}

TEST_CASE("of many attempts fifty have a bar and the rest is counted", "[html]") {
  RunRecord run;
  run.took = 100s;
  run.attempts.resize(60);
  for (int i = 0; i < 60; ++i) run.attempts[static_cast<std::size_t>(i)].told.number = i + 1;
  const std::string html = overview_html(run);
  CHECK(times_in(html, "<a href=\"#attempt-") == 50);
  CHECK(html.find("and 10 attempts more") != std::string::npos);
}

TEST_CASE("the last word of the probes on a profile counts", "[html]") {
  RunRecord run;
  run.attempts.resize(2);
  run.attempts[0].probes = {{"basic", "works", "a", 5'000}, {"no-p2p", "hung", "b", 0}};
  run.attempts[1].probes = {{"basic", "works", "c", 10'000}, {"no-shm", "failed", "<d>", 2'500}};
  const std::string html = overview_html(run);
  for (const char* part :
       {"<span class=\"note\">10.0 GB/s</span>", "<span class=\"note\">hung</span>",
        "<span class=\"note\">2.5 GB/s</span>", "style=\"width:25.00%\"", "title=\"&lt;d&gt;\""}) {
    INFO(part);
    CHECK(html.find(part) != std::string::npos);
  }
  CHECK(html.find("5.0 GB/s") == std::string::npos);
  CHECK(times_in(html, "<div class=\"r bad\">") == 2);
}
