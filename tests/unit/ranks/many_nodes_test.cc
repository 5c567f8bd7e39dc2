#include <filesystem>

#include "rank_story.h"
#include "safelaunch/ranks/node_ranks.h"
#include "safelaunch/redact/redactor.h"
#include "safelaunch/report/event_log.h"
#include "safelaunch/report/report.h"
#include "safelaunch/report/status.h"
#include "tests/unit/report/scratch.h"

using namespace safelaunch;
using namespace safelaunch::ranks;
using namespace std::chrono_literals;

namespace {

constexpr int kRanksOfANode = 8;
constexpr std::size_t kLongestLine = 400;

constexpr auto kRendezvous = static_cast<std::size_t>(Stage::rendezvous);
constexpr auto kGroup = static_cast<std::size_t>(Stage::group);

NodeName name_of(int node) {
  return {node, "gpu-" + std::to_string(node)};
}

/// As the agent of that node sees its ranks, `step` pictures after their start.
std::vector<RankPicture> picture_of_node(int node, int step, int world) {
  const int missing = world - 5;
  std::vector<RankPicture> picture;
  for (int local = 0; local < kRanksOfANode; ++local) {
    const int rank = node * kRanksOfANode + local;
    RankPicture one{.rank = Rank{rank}, .process = {100 + local, 7}, .world = world};
    one.activity = Activity::idling;
    one.doing = "sleeping in hrtimer_nanosleep";
    one.reached[static_cast<std::size_t>(Stage::imported)] = step > 0;
    one.entered[kRendezvous] = one.reached[kRendezvous] = step > 1 && rank != missing;
    one.entered[kGroup] = step > 2 && rank != missing;
    picture.push_back(one);
  }
  return picture;
}

/// The ranks of node 0, which wait; the other nodes come up step by step, but for one rank.
void begin(RankStory& job, int nodes) {
  const int world = nodes * kRanksOfANode;
  for (int rank = 0; rank < kRanksOfANode; ++rank) {
    job.says(rank, RankStarted{Rank{rank}, process_of(rank), world, Source::hook});
    for (const Stage stage : {Stage::imported, Stage::rendezvous}) {
      job.says(rank, StageEntered{Rank{rank}, process_of(rank), stage, "", world});
      job.reaches(rank, stage);
    }
    job.says(rank, StageEntered{Rank{rank}, process_of(rank), Stage::group, "gloo", world});
  }
  for (int step = 0; step < 5; ++step)
    for (int node = 1; node < nodes; ++node) {
      // Every third comes one step behind the others, so that lists of ranks have holes.
      job.on(NodeSpoke{name_of(node), picture_of_node(node, step - node % 3 / 2, world)});
      job.pass(1ms);
    }
}

/// The record that the job's events make, with all that is read of it.
void check_record(const RankStory& job, std::size_t world) {
  const testing::ScratchFolder run;
  run.write("job.json", R"({"run":"r1","pid":1,"command":["torchrun"],"started":"now"})");
  redact::Redactor redactor;
  {
    report::EventLog log(run.path / "events.jsonl", Clock::now(), redactor);
    log.set_attempt(1);
    log.record(report::record::Attempt{"basic", {"torchrun"}});
    for (const WatchAction& action : job.done()) {
      if (const auto* one = std::get_if<RecordEvent>(&action)) log.record(one->event);
      if (const auto* one = std::get_if<RecordSome>(&action)) log.record_some(one->event);
    }
  }
  CHECK(std::filesystem::file_size(run.path / "events.jsonl") < 600 * world);
  report::RunStatus status = *report::read_status(run.path);
  status.figures[0] = {};
  const std::string told = report::render(status);
  INFO(told);
  CHECK(std::ranges::count(told, '\n') < 12);
  REQUIRE(report::write_report_page(run.path, {}));
  CHECK(std::filesystem::file_size(run.path / "report.html") < 200'000);
}

void find_the_missing_rank(int nodes) {
  const int world = nodes * kRanksOfANode;
  RankStory job({.stages = {.world_size = world}, .hook = true});
  begin(job, nodes);
  job.pass(30min);
  REQUIRE(job.all<TellVerdict>().size() == 1);
  const Failure verdict = job.all<TellVerdict>().front().verdict;
  REQUIRE(verdict.missing.size() == 1);
  CHECK(verdict.missing.front().rank == Rank{world - 5});
  CHECK(verdict.missing.front().doing ==
        "sleeping in hrtimer_nanosleep, on " + name_of(nodes - 1).host);
  CHECK(verdict.waiting.size() == static_cast<std::size_t>(world) - 1);
  for (const ShowStatus& show : job.all<ShowStatus>()) CHECK(show.line.size() < kLongestLine);
  check_record(job, static_cast<std::size_t>(world));
}

}  // namespace

TEST_CASE("one rank of many nodes that never comes is named on a screen that fits", "[nodes]") {
  find_the_missing_rank(64);
}

// Takes 20 s where nothing is optimised.
TEST_CASE("one rank of 8192 on 1024 nodes that never comes is named on a screen that fits",
          "[.many]") {
  find_the_missing_rank(1'024);
}
