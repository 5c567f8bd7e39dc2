#include "catch.h"
#include "recorded_runs.h"
#include "safelaunch/base/paper.h"
#include "safelaunch/report/report.h"

using namespace safelaunch;

using namespace safelaunch::report;
using namespace safelaunch::testing;

namespace {

constexpr const char* kHostile =
    "</pre></script><script>alert(1)</script><img src=x onerror='alert(2)'>\"&";

report::RunFiles hostile_run() {
  report::RunFiles files = healed_run();
  for (report::RecordedFile& file : files.files)
    if (!file.name.ends_with(".json") && !file.name.ends_with(".jsonl")) file.text = kHostile;
  add(files, std::string("attempt-1-") + "<b>" + "/rank-7.out", kHostile);
  add(files, "attempt-1-basic/<i>.out", kHostile);
  std::string events;
  for (const char* what : {"status", "verdict", "cause", "stall", "hook_error", "finding", "<u>"}) {
    std::string text(kHostile);
    text.replace(text.find('"'), 1, "\\\"");
    events += R"({"t":1,"attempt":1,"e":")" + std::string(what) + R"(","text":")" + text +
              R"(","id":"<s>","evidence":"<s>","remedy":"<s>","severity":"<s>"})" + "\n";
  }
  files.files[5].text = events;
  return files;
}

bool has_tag(const std::string& page, const char* tag) {
  return page.find(std::string("<") + tag) != std::string::npos;
}

}  // namespace

TEST_CASE("the text tells what the closing screen says, and more", "[text_report]") {
  const std::string text = laid_out(report::text_report(report::parse_run(healed_run())), {});
  for (const char* part :
       {"run 20261121-150653-b939a3", "torchrun --nproc-per-node 2 train.py",
        "worked with no-p2p; cost: medium", "cause: rank-missing (confirmed)", "-  missing",
        "stack of rank 1", "train.py:50 sleep", "+ NCCL_P2P_DISABLE=1", "    | from rank 1"}) {
    INFO(part);
    CHECK(contains(text, part));
  }
  CHECK_FALSE(contains(text, "\x1b"));
}

TEST_CASE("the text of a killed run says that it was, and how far it had come", "[text_report]") {
  const std::string text = laid_out(report::text_report(report::parse_run(killed_run())), {});
  CHECK(contains(text, "cut off: safelaunch ended without an outcome"));
  CHECK(contains(text, "1 lines of events.jsonl cannot be read"));
  CHECK(contains(text, "waiting for rank 1"));
}

TEST_CASE("the page holds the story, the timeline and the stacks", "[html_report]") {
  const std::string page = report::html_report(report::parse_run(healed_run()));
  CHECK(page.starts_with("<!doctype html>"));
  for (const char* part :
       {"<title>Worked with no-p2p", "a rank never came", "train.py:50 sleep", "class=\"r bad\"",
        "NCCL_P2P_DISABLE=1", "from the launcher", "rank-missing"}) {
    INFO(part);
    CHECK(contains(page, part));
  }
}

TEST_CASE("the page needs no network and runs no script", "[html_report]") {
  const std::string page = report::html_report(report::parse_run(healed_run()));
  CHECK(contains(page, "default-src 'none'"));
  for (const char* part : {"http:", "https:", "url(", "<script", "<link", "<img", "javascript:"})
    CHECK_FALSE(contains(page, part));
}

TEST_CASE("no word of a job becomes markup", "[html_report]") {
  const std::string page =
      report::html_report(report::parse_run(report::cleaned(hostile_run(), {})));
  for (const char* tag : {"script", "img", "b>", "i>", "u>", "s>"}) CHECK_FALSE(has_tag(page, tag));
  CHECK(contains(page, "&lt;script&gt;alert(1)&lt;/script&gt;"));
}

TEST_CASE("every element of a page is closed, whatever the run", "[html_report]") {
  for (const report::RunFiles& files :
       {healed_run(), killed_run(), hostile_run(), report::RunFiles{}}) {
    const std::string page = report::html_report(report::parse_run(files));
    for (const char* tag : {"section", "details", "pre", "table", "div", "span", "p", "td", "dl"}) {
      const auto count = [&](const std::string& what) {
        std::size_t found = 0;
        for (std::size_t at = page.find(what); at != std::string::npos;
             at = page.find(what, at + 1))
          ++found;
        return found;
      };
      INFO(tag);
      CHECK(count(std::string("<") + tag + ">") + count(std::string("<") + tag + " ") ==
            count(std::string("</") + tag + ">"));
    }
  }
}

TEST_CASE("a thousand ranks with long logs stay a page of few megabytes", "[html_report]") {
  report::RunFiles files;
  std::string events = R"({"t":0,"e":"attempt","attempt":1,"profile":"basic"})"
                       "\n";
  for (int i = 0; i < 1'000; ++i) {
    const std::string rank = std::to_string(i);
    events += R"({"t":1,"e":"stage","attempt":1,"rank":)" + rank +
              R"(,"stage":"imported"})"
              "\n";
    add(files, "attempt-1-basic/rank-" + rank + ".err", std::string(20'000, '<'));
    add(files, "attempt-1-basic/evidence/rank-" + rank + ".stack", rank + std::string(5'000, '&'));
  }
  add(files, "events.jsonl", events);
  CHECK(report::html_report(report::parse_run(files)).size() < 10'000'000);
}

TEST_CASE("the page of a run is written into its folder", "[html_report]") {
  const ScratchFolder run;
  run.write("job.json", kJob);
  run.write("attempt-1-basic/rank-0.err", "MY_TOKEN=abcdefgh1\n");
  REQUIRE(report::write_report_page(run.path, {}));
  const std::string page = read_file(run.path / "report.html");
  CHECK(contains(page, "MY_TOKEN=[redacted]"));
  CHECK_FALSE(report::write_report_page(run.path / "none", {}));
}

namespace {

report::RunFiles run_with_figures(int ranks) {
  report::RunFiles files = healed_run();
  std::string events = files.files[5].text;
  std::string list;
  std::string figures;
  for (int rank = 0; rank < ranks; ++rank) {
    list += (rank == 0 ? "" : ",") + std::to_string(rank);
    figures += (rank == 0 ? "" : ",") + std::to_string(100 + rank);
  }
  for (int t = 24; t < 30; ++t)
    events += R"({"t":)" + std::to_string(t) + R"(,"e":"usage","attempt":2,"ranks":[)" + list +
              R"(],"cpu":[)" + figures + R"(],"memory":[)" + figures + R"(],"children":[)" +
              figures + "]}\n";
  events +=
      R"({"t":23,"e":"probe","attempt":1,"profile":"no-p2p","verdict":"works","mb_per_s":23800})"
      "\n"
      R"({"t":23,"e":"probe","attempt":1,"profile":"basic","verdict":"hung","text":"no answer"})"
      "\n"
      R"({"t":23,"e":"collectives","attempt":1,"ranks":["rank 0: all_reduce, collective 1 of group 0: enqueued","rank 1: no collective yet"],"behind":"rank 1 never called all_reduce"})"
      "\n"
      R"({"t":29.5,"e":"counted","attempt":2,"rank":0,"collectives":450})"
      "\n";
  files.files[5].text = events;
  return files;
}

}  // namespace

TEST_CASE("the head of a page says who, where, what the cause was, and how to run it again",
          "[html_report]") {
  report::RunFiles files = healed_run();
  for (report::RecordedFile& file : files.files)
    if (file.name == "job.json")
      file.text.insert(file.text.rfind('}'),
                       R"(, "options": ["--init-timeout=4s", "--profile=basic"])");
  const std::string page = report::html_report(report::parse_run(files));
  const std::string head = without_tags(page.substr(0, page.find("</header>")));
  for (const char* part :
       {"Rank 0 waited for rank 1.", "a rank never came", "confirmed", "cd /home/ann/model\n",
        "safelaunch --profile=no-p2p --init-timeout=4s -- torchrun "
        "--nproc-per-node 2 train.py\n"}) {
    INFO(part);
    CHECK(contains(head, part));
  }
}

TEST_CASE("all attempts are one picture, with what the probes measured as bars", "[html_report]") {
  const std::string page = report::html_report(report::parse_run(run_with_figures(2)));
  for (const char* part : {"All attempts", "href=\"#attempt-2\"", "id=\"attempt-2\"", "23.8 GB/s",
                           "What the probes measured"}) {
    INFO(part);
    CHECK(contains(page, part));
  }
}

TEST_CASE("a page draws memory and CPU over time, and tells the rate of collectives",
          "[html_report]") {
  const std::string page = report::html_report(report::parse_run(run_with_figures(2)));
  for (const char* part :
       {"What the ranks used", "<polyline class=\"c1\"", "memory of its children",
        "most 101 %, rank 1", "After the start: 100 collectives a second"}) {
    INFO(part);
    CHECK(contains(page, part));
  }
}

TEST_CASE("a page shows which rank never called the collective of the others", "[html_report]") {
  const std::string page = report::html_report(report::parse_run(run_with_figures(2)));
  CHECK(contains(page, "Which rank called which collective"));
  CHECK(contains(page, "<td class=\"not\">not called</td>"));
  CHECK_FALSE(contains(report::html_report(report::parse_run(healed_run())), "class=\"not\""));
}

TEST_CASE("the figures of a thousand ranks add little to a page", "[html_report]") {
  const std::string page = report::html_report(report::parse_run(run_with_figures(1'024)));
  CHECK(page.size() < 100'000);
  CHECK(contains(page, "all, from least to most"));
}

TEST_CASE("the page's tab and head name the rank, its place and the line of source",
          "[html_report]") {
  report::RunRecord run = report::parse_run(healed_run());
  run.summary.attempts.resize(1);
  Failure& failure = *run.summary.attempts[0].failure;
  failure.headline = "rank 1 never joined the process group";
  failure.places = {"train.py:50 in load:  queue.get()"};
  failure.details = "Rank 0 waited 9s for it.";
  const std::string page = report::html_report(run);
  CHECK(contains(page,
                 "<title>Hung: rank 1 never joined the process group · train.py:50 · " + run.id));
  CHECK(contains(page, "<p class=\"lead\">rank 1 never joined the process group</p>"));
  CHECK(contains(page, "<pre class=\"place\">train.py:50 in load:  queue.get()</pre>"));
  CHECK(contains(page, "<p>Rank 0 waited 9s for it.</p>"));
}

TEST_CASE("of many ranks the page shows those that are missing, and one band of all that waited",
          "[html_report]") {
  report::RunRecord run;
  report::AttemptHistory& attempt = run.attempts.emplace_back();
  attempt.until = Duration{10'000};
  Failure verdict{.kind = FailureKind::hung};
  verdict.missing = {{.rank = Rank{1}}};
  for (int rank = 0; rank < 64; ++rank) {
    attempt.ranks[Rank{rank}].reached[1] = Duration{1'000};
    if (rank != 1) verdict.waiting.push_back(Rank{rank});
  }
  attempt.verdict = {.at = Duration{8'000}, .text = "rank 1 is missing", .failure = verdict};
  const std::string page = report::html_report(run);
  const std::size_t suspect = page.find("<span class=\"who\">rank 1</span>");
  const std::size_t band = page.find("<span class=\"who\">ranks 0 2-63</span>");
  REQUIRE(suspect != std::string::npos);
  REQUIRE(band != std::string::npos);
  CHECK(suspect < band);
  CHECK(!contains(page, "<span class=\"who\">rank 2</span>"));
}
