#include "safelaunch/ranks/straggler_watch.h"

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::ranks;
using namespace std::chrono_literals;

namespace {

// Two ranks that are asked for their arrivals, and what is recorded of them.
class Asked {
 public:
  Asked() {
    log_.watch([this](int, const report::record::Event& event) {
      told.push_back(std::get<report::record::Straggler>(event).rank);
    });
  }

  void answer(std::chrono::microseconds late) {
    watch.begin(++question_, {Rank{0}, Rank{1}});
    answer(0, 0us);
    answer(1, late);
  }
  void answer(int rank, std::chrono::microseconds late) {
    watch::ArrivalsAnswer answer{question_, {}};
    for (int i = 0; i < 20; ++i) answer.arrivals.came.push_back({"0", i, i * 300ms + late});
    watch.answered(Rank{rank}, answer);
  }

 private:
  report::EventLog log_;
  int question_ = 0;

 public:
  StragglerWatch watch{log_};
  std::vector<int> told;  // the ranks; -1: none any more
};

}  // namespace

TEST_CASE("a slow rank is recorded once, and its end", "[straggler]") {
  Asked job;
  job.answer(0us);
  CHECK(job.told.empty());
  job.answer(100ms);
  job.answer(120ms);
  CHECK(job.told == std::vector{1});
  job.answer(0us);
  job.answer(0us);
  CHECK(job.told == std::vector{1, -1});
}

TEST_CASE("who has not been asked, or answers twice, is not compared", "[straggler]") {
  Asked job;
  job.watch.begin(1, {Rank{0}, Rank{1}});
  job.watch.answered(Rank{0}, {7, {}});
  job.watch.answered(Rank{2}, {1, {}});
  CHECK(job.told.empty());
  job.answer(100ms);
  job.answer(1, 0us);
  CHECK(job.told == std::vector{1});
}

TEST_CASE("a job that finishes no more collectives is not asked when it came", "[straggler]") {
  Asked job;
  CHECK_FALSE(job.watch.wants_to_ask());
  job.watch.counted(Rank{0}, 7);
  CHECK(job.watch.wants_to_ask());
  job.answer(0us);
  job.watch.counted(Rank{0}, 7);
  CHECK_FALSE(job.watch.wants_to_ask());
  job.watch.counted(Rank{0}, 8);
  CHECK(job.watch.wants_to_ask());
}
