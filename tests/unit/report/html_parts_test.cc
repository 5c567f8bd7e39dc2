#include <algorithm>

#include "catch.h"
#include "launcher/report/html_page.h"
#include "launcher/report/timeline.h"
#include "recorded_runs.h"
#include "safelaunch/report/report.h"
#include "scratch.h"

using namespace safelaunch;
using namespace safelaunch::report;
using namespace safelaunch::testing;
using namespace std::chrono_literals;

namespace {

template <class Write>
std::string built(Write write) {
  HtmlWriter to;
  write(to);
  return to.take();
}

std::string head_of(const RunRecord& run) {
  return built([&](HtmlWriter& to) { write_head(run, to); });
}

std::string axis_of(Duration length) {
  return built([&](HtmlWriter& to) { write_axis(length, to); });
}

std::string timeline_html(const Timeline& timeline) {
  return built([&](HtmlWriter& to) { write_timeline(timeline, to); });
}

std::string attempt_html(const AttemptHistory& attempt, PageBudget budget = {}) {
  RunRecord run;
  run.state = RunRecord::State::ended;
  return built([&](HtmlWriter& to) { write_attempt(attempt, run, budget, to); });
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

std::size_t times_in(const std::string& html, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = html.find(part); at != std::string::npos; at = html.find(part, at + 1))
    ++count;
  return count;
}

RunRecord ended_run(std::vector<AttemptSummary> attempts, int exit_code) {
  RunRecord run;
  run.id = "r1";
  run.state = RunRecord::State::ended;
  run.summary.attempts = std::move(attempts);
  run.summary.exit_code = exit_code;
  return run;
}

AttemptSummary failed_attempt(FailureKind kind, bool communication = false) {
  AttemptSummary attempt;
  attempt.profile = "basic";
  attempt.failure = Failure{.kind = kind, .communication = communication};
  return attempt;
}

constexpr const char* kHostileMarkup = "</pre><script>alert(\"1\" + '2')</script>&amp;";
constexpr const char* kHarmless =
    "&lt;/pre&gt;&lt;script&gt;alert(&quot;1&quot; + &#39;2&#39;)&lt;/script&gt;&amp;amp;";

}  // namespace

// ---- the writer

TEST_CASE("every sign that HTML reads is escaped, and all other bytes stay", "[html]") {
  CHECK(html_text("&<>\"'") == "&amp;&lt;&gt;&quot;&#39;");
  CHECK(html_text(kHostileMarkup) == kHarmless);
  CHECK(html_text("").empty());
  CHECK(html_text("ä€ \n\t{{body}} %s") == "ä€ \n\t{{body}} %s");
  CHECK(html_text(std::string("a\0b", 3)) == std::string("a\0b", 3));
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  CHECK(html_text(all).size() == 256 + 4 + 3 + 3 + 5 + 4);
}

TEST_CASE("a text that is too long is cut between characters and before it is escaped", "[html]") {
  const auto cut_at = [](std::string_view text, std::size_t most) {
    return built([&](HtmlWriter& to) { to.text(text, most); });
  };
  CHECK(cut_at("abc", 3) == "abc");
  CHECK(cut_at("abcd", 3) == "abc…");
  CHECK(cut_at("a&b", 2) == "a&amp;…");
  CHECK(cut_at("aä", 2) == "a…");
  CHECK(cut_at("aä", 3) == "aä");
  CHECK(cut_at("€", 2) == "…");
  CHECK(cut_at("", 0).empty());
  CHECK(cut_at("x", 0) == "…");
}

TEST_CASE("a share is told in percent and stays within the picture", "[html]") {
  const auto percent = [](double share) {
    return built([&](HtmlWriter& to) { to.percent(share); });
  };
  CHECK(percent(0) == "0.00%");
  CHECK(percent(1.0 / 3) == "33.33%");
  CHECK(percent(1) == "100.00%");
  CHECK(percent(7) == "100.00%");
  CHECK(percent(-1) == "0.00%");
}

TEST_CASE("the share of a time in nothing is no division by nothing", "[html]") {
  CHECK(share_of(5s, 10s) == 0.5);
  CHECK(share_of(0s, 0s) == 0);
  CHECK(share_of(3ms, 0s) == 3);
}

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

// ---- the head

TEST_CASE("the headline says in a word or two how the run ended", "[html]") {
  RunRecord running;
  running.state = RunRecord::State::running;
  CHECK(headline_text(running) == "Still running");
  CHECK(headline_text(RunRecord{}) == "Cut off");
  CHECK(headline_text(ended_run({}, 64)) == "No attempt was made");
  AttemptSummary good;
  good.profile = "no-p2p";
  CHECK(headline_text(ended_run({good}, 0)) == "Completed");
  CHECK(headline_text(ended_run({failed_attempt(FailureKind::hung), good}, 0)) ==
        "Worked with no-p2p");
  CHECK(headline_text(ended_run({failed_attempt(FailureKind::hung)}, 124)) == "Hung");
  CHECK(headline_text(ended_run({failed_attempt(FailureKind::stalled)}, 1)) ==
        "Stalled in training");
  CHECK(headline_text(ended_run({failed_attempt(FailureKind::interrupted)}, 130)) == "Interrupted");
  CHECK(headline_text(ended_run({failed_attempt(FailureKind::given_up)}, 1)) == "Given up");
  CHECK(headline_text(ended_run({failed_attempt(FailureKind::failed)}, 1)) == "Failed");
  CHECK(headline_text(ended_run({failed_attempt(FailureKind::failed, true)}, 1)) ==
        "Failed in communication");
}

TEST_CASE("the head has a colour for each mood", "[html]") {
  CHECK(head_of(ended_run({AttemptSummary{}}, 0)).starts_with("<header class=\"good\">"));
  CHECK(head_of(RunRecord{}).starts_with("<header class=\"bad\">"));
  RunRecord running;
  running.state = RunRecord::State::running;
  CHECK(head_of(running).starts_with("<header><h1>Still running</h1>"));
}

TEST_CASE("facts that are not known have no line in the head", "[html]") {
  const std::string bare = head_of(RunRecord{});
  for (const char* label : {"Exit status", "Cost", "Stopped because", "Started", "To run it again"})
    CHECK(bare.find(label) == std::string::npos);
  RunRecord run = ended_run({AttemptSummary{}}, 3);
  run.started = "2026-11-21T15:06:53.722Z";
  run.took = 30s;
  run.summary.cost = "medium";
  run.summary.stopped_because = "no profile is left";
  run.directory = "/runs/r1";
  const std::string head = head_of(run);
  for (const char* fact :
       {"<dt>Run</dt><dd>r1</dd>", "<dt>Started</dt><dd>2026-11-21 ", "<dt>Took</dt><dd>30s</dd>",
        "<dt>Exit status</dt><dd>3</dd>", "<dt>Cost</dt><dd>medium</dd>",
        "<dt>Stopped because</dt><dd>no profile is left</dd>",
        "<dt>Logs and evidence</dt><dd>/<wbr>runs/<wbr>r1</dd>"})
    CHECK(head.find(fact) != std::string::npos);
}

TEST_CASE("a time that has another form is shown as it is", "[html]") {
  for (const char* time :
       {"2026-11-21", "yesterday", "2026-11-21 15:06:53.722Z", "2026-11-21T15:06"}) {
    RunRecord run;
    run.started = time;
    CHECK(head_of(run).find("<dd>" + std::string(time) + "</dd>") != std::string::npos);
  }
}

TEST_CASE("the command to run it again is one that a shell reads", "[html]") {
  RunRecord run = ended_run({failed_attempt(FailureKind::hung)}, 124);
  run.working_directory = "/home/ann/my model";
  run.options = {"--profile=basic", "--nodes=2"};
  run.summary.command = {"torchrun", "train.py", "--name", "it's", ""};
  const std::string head = without_tags(head_of(run));
  CHECK(head.find("cd &#39;/home/ann/my model&#39;\n") != std::string::npos);
  CHECK(head.find("safelaunch --profile=basic --nodes=2 -- torchrun train.py --name "
                  "&#39;it&#39;\\&#39;&#39;s&#39; &#39;&#39;\n") != std::string::npos);
}

TEST_CASE("the head's advice has a link to the stacks of its attempt", "[html]") {
  RunRecord run = ended_run({failed_attempt(FailureKind::hung)}, 124);
  run.summary.attempts.front().number = 1;
  run.attempts.emplace_back().told = run.summary.attempts.front();
  CHECK(head_of(run).find("href=\"#stood-1\"") == std::string::npos);
  run.attempts.front().stacks = {{"rank-0", "a.py:1 main", 11, 0}};
  CHECK(head_of(run).find("href=\"#stood-1\"") != std::string::npos);
  CHECK(attempt_html(run.attempts.front()).find("id=\"stood-1\"") != std::string::npos);
}

TEST_CASE("a run that needed another profile begins with that one again", "[html]") {
  AttemptSummary good;
  good.profile = "no-p2p";
  RunRecord run = ended_run({failed_attempt(FailureKind::hung), good}, 0);
  run.options = {"--profile=basic", "--forget", "--nodes=2"};
  run.summary.command = {"torchrun"};
  CHECK(without_tags(head_of(run)).find("safelaunch --profile=no-p2p --nodes=2 -- torchrun\n") !=
        std::string::npos);
}

TEST_CASE("the head tells the last failure that was not given up", "[html]") {
  AttemptSummary hung = failed_attempt(FailureKind::hung);
  hung.failure->explanation = "Rank 0 waited for rank 1.";
  hung.failure->title = "a rank never came";
  hung.failure->remedy = "Look at it.";
  AttemptSummary given_up = failed_attempt(FailureKind::given_up);
  given_up.failure->explanation = "a probe showed that it would hang";
  const std::string failed = head_of(ended_run({hung, given_up}, 1));
  CHECK(failed.find("Rank 0 waited for rank 1.") != std::string::npos);
  CHECK(failed.find("a probe showed") == std::string::npos);
  CHECK(failed.find("Look at it.") != std::string::npos);
  AttemptSummary good;
  good.profile = "no-p2p";
  const std::string healed = head_of(ended_run({hung, good}, 0));
  CHECK(healed.find("<p class=\"dim\">basic failed:</p>") != std::string::npos);
  CHECK(healed.find("Look at it.") == std::string::npos);
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

// ---- one attempt

TEST_CASE("an attempt tells how it ended", "[html]") {
  AttemptHistory attempt;
  attempt.told.number = 2;
  attempt.told.profile = "no-p2p";
  attempt.told.took = 7s;
  CHECK(attempt_html(attempt).find("<span class=\"tag warn\">was not ended</span>") !=
        std::string::npos);
  attempt.ended = true;
  CHECK(attempt_html(attempt).find("<span class=\"tag good\">completed in 7s</span>") !=
        std::string::npos);
  attempt.told.failure = Failure{.kind = FailureKind::hung};
  CHECK(attempt_html(attempt).find("<span class=\"tag bad\">hung, stopped after 7s</span>") !=
        std::string::npos);
}

TEST_CASE("no text of an attempt becomes markup", "[html]") {
  AttemptHistory attempt;
  attempt.told.profile = kHostileMarkup;
  attempt.told.stages = kHostileMarkup;
  attempt.ended = true;
  Failure failure{.kind = FailureKind::hung};
  failure.cause = failure.title = failure.explanation = failure.remedy = kHostileMarkup;
  failure.lines = {kHostileMarkup};
  attempt.told.failure = failure;
  attempt.nccl = attempt.waiting = kHostileMarkup;
  attempt.verdict = RecordedVerdict{.at = 1s, .text = kHostileMarkup, .failure = {}};
  attempt.ranks[Rank{0}].host = attempt.ranks[Rank{0}].status = kHostileMarkup;
  attempt.environment = {{kHostileMarkup, kHostileMarkup}};
  attempt.stacks = {{"rank-0", kHostileMarkup, 10, 0}};
  attempt.evidence = {{kHostileMarkup, kHostileMarkup, 10, 0}};
  attempt.logs = {{kHostileMarkup, kHostileMarkup, 10, 0}};
  attempt.probes = {{kHostileMarkup, kHostileMarkup, kHostileMarkup, 0}};
  attempt.collectives =
      record::Collectives{{"rank 0: " + std::string(kHostileMarkup) + ", collective 1 of group " +
                           kHostileMarkup + ": " + kHostileMarkup},
                          kHostileMarkup,
                          kHostileMarkup,
                          kHostileMarkup};
  const std::string html = attempt_html(attempt);
  CHECK(html.find("<script") == std::string::npos);
  CHECK(times_in(html, kHarmless) >= 8);
}

TEST_CASE("stacks and logs stay within the page's budget", "[html]") {
  AttemptHistory attempt;
  attempt.ended = true;
  attempt.told.failure = Failure{};
  for (int i = 0; i < 40; ++i) {
    const std::string text = std::to_string(i) + std::string(50'000, 'x');
    attempt.stacks.push_back({"rank-" + std::to_string(i), text, text.size(), 0});
    attempt.logs.push_back({"rank-" + std::to_string(i) + ".err", text, text.size(), 0});
  }
  const std::string small = attempt_html(attempt, PageBudget{.logs = 10'000, .stacks = 10'000});
  CHECK(small.size() < 40'000);
  CHECK(small.find("and 39 stacks more") != std::string::npos);
  CHECK(attempt_html(attempt).size() < (2U << 20U));
  CHECK(attempt_html(attempt, PageBudget{.logs = 0, .stacks = 0}).find("xxx") == std::string::npos);
}

TEST_CASE("a stack shows the line of source below its frame", "[html]") {
  RunRecord run;
  run.sources = {{"/x/train.py:50", "time.sleep(3600) # <b>"}};
  AttemptHistory attempt;
  attempt.stacks = {
      {"rank-0", "thread MainThread\n  /x/train.py:50 sleep\n  /x/train.py:51 f\n", 1, 0}};
  PageBudget budget;
  const std::string html = built([&](HtmlWriter& to) { write_attempt(attempt, run, budget, to); });
  CHECK(html.find("  /<wbr>x/<wbr>train.py:50 sleep\n<span class=\"src\">    time.sleep(3600) # "
                  "&lt;b&gt;</span>\n  /<wbr>x/<wbr>train.py:51 f\n") != std::string::npos);
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

// ---- the page

TEST_CASE("the title of a page holds no markup, and is filled in once", "[html]") {
  RunRecord run;
  run.id = "{{body}}</title><script>";
  const std::string page = html_report(run);
  CHECK(page.find("<title>Cut off · {{body}}&lt;/title&gt;&lt;script&gt;") != std::string::npos);
  CHECK(times_in(page, "</header>") == 1);
}

TEST_CASE("the page has a text for an issue: what happened, where, and the command", "[html]") {
  RunRecord run = ended_run({failed_attempt(FailureKind::hung)}, 124);
  Failure& failure = *run.summary.attempts.back().failure;
  failure.headline = "rank 1 never joined the process group";
  failure.places = {"train.py:48 in load_data"};
  failure.cause = "rank-missing";
  run.attempts.resize(1);
  run.summary.command = {"torchrun", "train.py"};
  run.took = 30s;
  run.host = record::Host{"gpu-7", "Linux 6.1", "0.1.0", "2.13.0", "2.28.9", "", "8 × H100"};
  const std::string page = html_report(run);
  const std::size_t at = page.find("<summary>Text for an issue</summary><pre class=\"command\">");
  REQUIRE(at != std::string::npos);
  const std::string text = page.substr(at, page.find("</pre>", at) - at);
  for (const char* part :
       {"Hung: rank 1 never joined the process group\n  --&gt; train.py:48 in load_data\n",
        "cause: rank-missing (", "safelaunch -- torchrun train.py\n",
        "exit status 124 after 30s, 1 attempt\n",
        "safelaunch 0.1.0, torch 2.13.0, NCCL 2.28.9, 8 × H100; Linux 6.1 on gpu-7\n"})
    CHECK(text.find(part) != std::string::npos);
}

TEST_CASE("an empty run is a page that says so", "[html]") {
  const std::string page = html_report(RunRecord{});
  CHECK(page.find("<h1>Cut off</h1>") != std::string::npos);
  CHECK(page.find("All that was recorded") == std::string::npos);
  CHECK(page.find("Found before the run") == std::string::npos);
  CHECK(page.find("unreadable") == std::string::npos);
}

TEST_CASE("lines that were left out are counted where they stood", "[html]") {
  RunRecord run;
  run.unreadable = 7;
  run.lines = {{1s, 0, "run", "<a>"}, {2s, 1, "end", "b"}};
  run.lines_left_out = 600;
  const std::string page = html_report(run);
  const std::size_t first =
      page.find("<tr><td>1s</td><td></td><td>run</td><td>&lt;a&gt;</td></tr>");
  const std::size_t gap = page.find("600 lines are left out here; events.jsonl has them");
  const std::size_t last = page.find("<tr><td>2s</td><td>1</td><td>end</td><td>b</td></tr>");
  CHECK(first < gap);
  CHECK(gap < last);
  CHECK(last != std::string::npos);
  CHECK(page.find("7 lines of the record were unreadable.") != std::string::npos);
}

TEST_CASE("findings are told with what blocks the run in colour, at most 200", "[html]") {
  RunRecord run;
  run.findings = {{"port-taken", Severity::blocks, "29500 <x>", ""},
                  {"shm-small", Severity::risk, "64 MB", "more & more"}};
  const std::string page = html_report(run);
  CHECK(page.find("<li><span class=\"tag bad\">blocks</span> <code>port-taken</code> 29500 "
                  "&lt;x&gt;</li>") != std::string::npos);
  CHECK(page.find("<span class=\"dim\">Remedy</span> more &amp; more</li>") != std::string::npos);
  run.findings.assign(1'000, run.findings[1]);
  CHECK(times_in(html_report(run), "<li>") == 200);
}

TEST_CASE("on a phone the ranks of the table of stages stay on one line", "[html]") {
  Timeline timeline;
  timeline.rows.resize(1);
  timeline.rows[0].ranks = {Rank{0}};
  CHECK(timeline_html(timeline).find("<table class=\"times\"><tr><th>rank</th>") !=
        std::string::npos);
  RunRecord run;
  CHECK(html_report(run).find(".times td:first-child { min-width: 5rem; white-space: normal; }") !=
        std::string::npos);
}
