#include "html_parts.h"

using namespace safelaunch;
using namespace safelaunch::report;
using namespace safelaunch::testing;
using namespace std::chrono_literals;

namespace {

std::string head_of(const RunRecord& run) {
  return built([&](HtmlWriter& to) { write_head(run, to); });
}

std::string attempt_html(const AttemptHistory& attempt, PageBudget budget = {}) {
  RunRecord run;
  run.state = RunRecord::State::ended;
  return built([&](HtmlWriter& to) { write_attempt(attempt, run, budget, to); });
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
