#include "launcher/report/timeline.h"

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::report;
using namespace std::chrono_literals;

namespace {

using Kind = TimelineSpan::Kind;

/// An attempt from second 10 to second 70 of its run.
AttemptHistory attempt_of_a_minute() {
  AttemptHistory attempt;
  attempt.began = 10s;
  attempt.until = 70s;
  return attempt;
}

void reach(AttemptHistory& attempt, int rank, Stage stage, Duration at) {
  attempt.ranks[Rank{rank}].reached[static_cast<std::size_t>(stage)] = at;
}

void end(AttemptHistory& attempt, int rank, const std::string& status, Duration at) {
  attempt.ranks[Rank{rank}].ended = at;
  attempt.ranks[Rank{rank}].status = status;
}

TimelineRow only_row(const AttemptHistory& attempt) {
  const Timeline timeline = timeline_of(attempt, 10);
  REQUIRE(timeline.rows.size() == 1);
  return timeline.rows.front();
}

}  // namespace

TEST_CASE("a row goes from stage to stage, up to the end of the attempt", "[timeline]") {
  AttemptHistory attempt = attempt_of_a_minute();
  reach(attempt, 0, Stage::imported, 12s);
  reach(attempt, 0, Stage::group, 20s);
  CHECK(only_row(attempt).spans ==
        std::vector<TimelineSpan>{{Kind::starting, Stage::spawned, 0s, 2s},
                                  {Kind::reached, Stage::imported, 2s, 10s},
                                  {Kind::reached, Stage::group, 10s, 60s}});
}

TEST_CASE("the row of a rank that ended ends with it", "[timeline]") {
  AttemptHistory attempt = attempt_of_a_minute();
  reach(attempt, 0, Stage::imported, 12s);
  end(attempt, 0, "exit status 0", 30s);
  CHECK(only_row(attempt).spans.back() == TimelineSpan{Kind::reached, Stage::imported, 2s, 20s});
  CHECK(only_row(attempt).note.empty());
}

TEST_CASE("the row of another node's rank names its host", "[timeline]") {
  AttemptHistory attempt = attempt_of_a_minute();
  reach(attempt, 3, Stage::imported, 12s);
  attempt.ranks[Rank{3}].host = "gpu-17";
  CHECK(only_row(attempt).note == "on gpu-17");
  end(attempt, 3, "exit status 1", 30s);
  CHECK(only_row(attempt).note == "failed first, exit status 1, on gpu-17");
}

TEST_CASE("a rank that reached no stage is starting all the time", "[timeline]") {
  AttemptHistory attempt = attempt_of_a_minute();
  attempt.ranks[Rank{0}] = {};
  CHECK(only_row(attempt).spans ==
        std::vector<TimelineSpan>{{Kind::starting, Stage::spawned, 0s, 60s}});
}

TEST_CASE("times before the attempt's beginning, or behind its end, stay within the picture",
          "[timeline]") {
  AttemptHistory attempt = attempt_of_a_minute();
  reach(attempt, 0, Stage::imported, 5s);
  reach(attempt, 0, Stage::group, 100s);
  const TimelineRow row = only_row(attempt);
  CHECK(row.reached[static_cast<std::size_t>(Stage::imported)] == 0s);
  for (const TimelineSpan& span : row.spans) {
    CHECK(span.from < span.to);
    CHECK(span.to <= 60s);
  }
}

TEST_CASE("the first rank that failed by itself is the suspect, with its status", "[timeline]") {
  AttemptHistory attempt = attempt_of_a_minute();
  end(attempt, 0, "exit status 1", 31s);
  end(attempt, 1, "exit status 7", 30s);
  const Timeline timeline = timeline_of(attempt, 10);
  CHECK(timeline.rows.at(0).note == "exit status 1");
  CHECK_FALSE(timeline.rows.at(0).suspect);
  CHECK(timeline.rows.at(1).note == "failed first, exit status 7");
  CHECK(timeline.rows.at(1).suspect);
}

TEST_CASE("a rank that raised before the others came is not shown as missing", "[timeline]") {
  AttemptHistory attempt = attempt_of_a_minute();
  end(attempt, 0, "exit status 1", 30s);
  attempt.verdict =
      RecordedVerdict{.at = 30s, .text = {}, .failure = {.kind = FailureKind::raised}};
  attempt.verdict->failure.missing = {{.rank = Rank{0}}};
  const TimelineRow row = only_row(attempt);
  CHECK(row.note == "failed first, exit status 1");
  CHECK(row.suspect);
  CHECK(row.spans.front().kind == Kind::starting);
  attempt.verdict->failure.kind = FailureKind::hung;
  CHECK(only_row(attempt).note == "missing, exit status 1");
}

TEST_CASE("a rank that was told to end is no suspect, and its own signal is named", "[timeline]") {
  AttemptHistory attempt = attempt_of_a_minute();
  end(attempt, 0, "killed by SIGTERM", 31s);
  end(attempt, 1, "killed by SIGSEGV", 32s);
  for (auto& [rank, history] : attempt.ranks) history.told_to_end = true;
  const Timeline timeline = timeline_of(attempt, 10);
  CHECK(timeline.rows.at(0).note == "told to end");
  CHECK(timeline.rows.at(1).note == "told to end: killed by SIGSEGV");
  CHECK_FALSE(timeline.rows.at(1).suspect);
}

TEST_CASE("a rank that told its shell's status of our signal was told to end", "[timeline]") {
  AttemptHistory attempt = attempt_of_a_minute();
  end(attempt, 0, "exit status 143", 31s);
  end(attempt, 1, "exit status 14", 32s);
  for (auto& [rank, history] : attempt.ranks) history.told_to_end = true;
  CHECK(timeline_of(attempt, 10).rows.at(0).note == "told to end");
  CHECK(timeline_of(attempt, 10).rows.at(1).note == "told to end: exit status 14");
}

TEST_CASE("ranks that trained before they stood still are shown in training", "[timeline]") {
  AttemptHistory attempt = attempt_of_a_minute();
  reach(attempt, 0, Stage::collective, 20s);
  attempt.verdict = RecordedVerdict{
      .at = 60s, .text = {}, .failure = {.kind = FailureKind::stalled, .waited = 15s}};
  attempt.verdict->failure.waiting = {Rank{0}};
  CHECK(only_row(attempt).spans ==
        std::vector<TimelineSpan>{{Kind::starting, Stage::spawned, 0s, 10s},
                                  {Kind::reached, Stage::collective, 10s, 35s},
                                  {Kind::waiting, Stage::collective, 35s, 50s},
                                  {Kind::stopped, Stage::collective, 50s, 60s}});
  attempt.verdict->failure.waited = 0s;  // an older record
  CHECK(only_row(attempt).spans.at(1).kind == Kind::waiting);
}

TEST_CASE("a stage of ranks that share a row begins with the last of them", "[timeline]") {
  AttemptHistory attempt = attempt_of_a_minute();
  for (int rank = 0; rank < 5; ++rank) reach(attempt, rank, Stage::group, 20s + rank * 1s);
  const Timeline timeline = timeline_of(attempt, 4);
  REQUIRE(timeline.rows.size() == 1);
  CHECK(timeline.rows[0].ranks.size() == 5);
  CHECK(timeline.rows[0].spans.at(1).from == 14s);
}

TEST_CASE("ranks that reached different stages, or ended differently, share no row", "[timeline]") {
  AttemptHistory attempt = attempt_of_a_minute();
  for (int rank = 0; rank < 6; ++rank) reach(attempt, rank, Stage::imported, 12s);
  reach(attempt, 1, Stage::group, 20s);
  end(attempt, 2, "exit status 0", 30s);
  CHECK(timeline_of(attempt, 4).rows.size() == 3);
}

TEST_CASE("an attempt without ranks has no rows", "[timeline]") {
  CHECK(timeline_of(attempt_of_a_minute(), 4).rows.empty());
  CHECK(timeline_of(AttemptHistory{}, 4).length == 0s);
}
