#include "safelaunch/ranks/stall_watch.h"

#include <boost/asio/io_context.hpp>
#include <functional>
#include <limits>

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::ranks;

namespace {

/// A job in training, whose hooks answer as the test says.
class Training {
 public:
  explicit Training(Duration timeout)
      : watch(
            io, {timeout}, ranks, through,
            [this](const RanksTell& news) {
              if (const auto* stalled = std::get_if<TrainingStalled>(&news))
                reports.push_back(stalled->report);
            },
            [this](int id) {
              asked.push_back(id);
              on_question();
            }) {}

  /// It waits, in the store, for others to make a group with it.
  void meets(Rank rank) { watch.answered(rank, {0, {}, {}, watch::Uncounted::meets}); }
  void answer(Rank rank, std::int64_t called, std::int64_t finished) {
    watch.answered(rank, {0, {{"world", {called, called, finished}}}, {}});
  }
  /// Handles what comes until `enough` holds.
  void run_until(const std::function<bool()>& enough) {
    while (!enough()) REQUIRE(io.run_one_for(std::chrono::seconds(60)) > 0);
  }

  boost::asio::io_context io;
  std::vector<int> asked;
  std::vector<watch::StallReport> reports;
  std::function<void()> on_question = [] {};
  std::map<Rank, safelaunch::watch::RankState> ranks;
  std::set<Rank> through;
  StallWatch watch;
};

constexpr Duration kSoon{20};

}  // namespace

TEST_CASE("without a timeout the stall watch never wakes up", "[stall_watch]") {
  Training training(Duration::zero());
  training.watch.begin(2);
  training.watch.saw_output();
  training.answer(Rank{0}, 1, 1);
  CHECK(training.io.run() == 0);
}

TEST_CASE("a silent job is asked twice and then reported, with the rank that is behind",
          "[stall_watch]") {
  Training training(kSoon);
  training.on_question = [&] {
    training.answer(Rank{0}, 2, 1);
    training.answer(Rank{1}, 1, 1);
  };
  training.watch.begin(2);
  training.run_until([&] { return !training.reports.empty(); });

  CHECK(training.asked == std::vector<int>{1, 2});
  CHECK(training.reports.front().lagging == std::vector<Rank>{Rank{1}});
}

TEST_CASE("who came to an earlier meeting and has ended is awaited at the next one",
          "[stall_watch]") {
  Training training(kSoon);
  for (const int rank : {0, 1}) {
    watch::RankState& state = training.ranks[Rank{rank}];
    state.claim({70 + rank, 1}, watch::RankEvidence::hook);
    state.claimed_world = 2;
  }
  training.ranks[Rank{1}].exit({71, 1}, Exited{0}, Clock::now());
  training.on_question = [&] { training.meets(Rank{0}); };
  training.watch.begin(2);
  training.run_until([&] { return !training.reports.empty(); });
  CHECK(training.reports.front().lagging == std::vector<Rank>{Rank{1}});
}

TEST_CASE("a silent job that finishes collectives is not reported", "[stall_watch]") {
  Training training(kSoon);
  std::int64_t finished = 0;
  training.on_question = [&] {
    ++finished;
    training.answer(Rank{0}, finished, finished);
  };
  training.watch.begin(2);
  training.run_until([&] { return training.asked.size() >= 5; });
  CHECK(training.reports.empty());
}

TEST_CASE("where all ranks have ended, the launcher may take its time", "[stall_watch]") {
  Training training(kSoon);
  const ProcessId process{71, 5};
  (void)training.ranks[Rank{0}].claim(process, safelaunch::watch::RankEvidence::hook);
  training.on_question = [&] { training.answer(Rank{0}, 1, 1); };
  training.watch.begin(1);
  SECTION("while it lives, it is told") {
    training.run_until([&] { return !training.reports.empty(); });
  }
  SECTION("once it has ended, it is not") {
    training.ranks[Rank{0}].exit(process, Exited{0}, Clock::now());
    training.run_until([&] { return training.asked.size() >= 5; });
    CHECK(training.reports.empty());
  }
}

TEST_CASE("once the stall watch has ended, nobody is asked", "[stall_watch]") {
  Training training(kSoon);
  training.watch.begin(2);
  training.watch.end();
  training.answer(Rank{0}, 1, 1);
  training.io.run();
  CHECK(training.asked.empty());
}

TEST_CASE("a rank's collectives are counted over all its groups", "[stall_watch]") {
  const auto counted = [](std::map<std::string, std::pair<std::int64_t, std::int64_t>> groups) {
    safelaunch::watch::CountersAnswer answer;
    for (const auto& [name, counts] : groups)
      answer.groups[name] = {counts.first, counts.first, counts.second};
    const safelaunch::watch::Collectives sum = sum_of(answer.groups);
    return std::pair(sum.begun, sum.finished);
  };
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  CHECK(counted({}) == std::pair<std::int64_t, std::int64_t>(0, 0));
  CHECK(counted({{"0", {5, 4}}, {"1", {2, 2}}}) == std::pair<std::int64_t, std::int64_t>(7, 6));
  // Before its first collective torch says -1.
  CHECK(counted({{"0", {5, 4}}, {"1", {-1, -1}}}) == std::pair<std::int64_t, std::int64_t>(5, 4));
  CHECK(counted({{"0", {kMost, kMost}}, {"1", {1, 1}}}) == std::pair(kMost, kMost));
}
