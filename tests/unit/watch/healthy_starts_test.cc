// Scene l and M5's twin number: however slowly and in whatever order a healthy job starts, nobody
// is blamed.
#include <cstdlib>
#include <random>

#include "catch.h"
#include "safelaunch/watch/stages.h"
#include "stages_story.h"

using namespace safelaunch;

using namespace safelaunch::watch;
using namespace safelaunch::testing;
using namespace std::chrono_literals;

namespace {

using Random = std::mt19937;

int pick(Random& random, int low, int high) {
  return std::uniform_int_distribution(low, high)(random);
}

// A healthy job of random size and pace. Before a rank comes it does as real ranks do: it works for
// up to 20 minutes, or idles for less than the deadline.
class HealthyJob {
 public:
  explicit HealthyJob(Random& random)
      : random_(random), world_(pick(random, 2, 9)), eager_(pick(random, 0, 1) == 1) {}

  void run() {
    everybody_imports(story_, world_);
    arrive([&](int rank) { calls_init(story_, rank, world_); },
           [&](int rank) {
             if (!eager_) story_.reached(rank, Stage::group);
           });
    if (eager_) finish(Stage::group);
    arrive([&](int rank) { story_.entered(rank, Stage::collective, world_, "allreduce_"); },
           [](int) {});
    finish(Stage::collective);
    story_.pass(1h);
  }

  [[nodiscard]] const Story& story() const { return story_; }

 private:
  template <class Enter, class Pass>
  void arrive(Enter enter, Pass pass_through) {
    for (const int rank : in_any_order()) {
      does_something_for_a_while(rank);
      enter(rank);
      pass_through(rank);
      story_.does(rank, pick(random_, 0, 1) == 1 ? Activity::quiet : Activity::working);
    }
  }

  void does_something_for_a_while(int rank) {
    story_.does(rank, Activity::working, "c++ compiles in a child (pid 71)");
    // All but the last rank share the 30 minutes that the first one waits.
    story_.pass(std::chrono::seconds(pick(random_, 0, 1500 / world_)));
    story_.does(rank, pick(random_, 0, 1) == 1 ? Activity::idling : Activity::working);
    story_.pass(std::chrono::seconds(pick(random_, 0, 15)));
    if (pick(random_, 0, 9) == 0) story_.sleep(60s);  // we are stopped
  }

  void finish(Stage stage) {
    for (const int rank : in_any_order()) {
      story_.pass(std::chrono::milliseconds(pick(random_, 0, 3000)));
      story_.reached(rank, stage);
    }
  }

  std::vector<int> in_any_order() {
    std::vector<int> ranks(static_cast<std::size_t>(world_));
    for (int i = 0; i < world_; ++i) ranks[static_cast<std::size_t>(i)] = i;
    std::shuffle(ranks.begin(), ranks.end(), random_);
    return ranks;
  }

  Random& random_;
  int world_;
  bool eager_;  // init_process_group waits for all ranks, as gloo's does
  Story story_;
};

}  // namespace

TEST_CASE("slow but healthy starts in random order bring no verdict", "[stages]") {
  const int starts = std::getenv("SAFELAUNCH_SOAK") != nullptr ? 10'000 : 100;
  Random random(20261120);
  for (int start = 0; start < starts; ++start) {
    HealthyJob job(random);
    job.run();
    INFO("start " << start << ": " << job.story().words());
    REQUIRE_FALSE(job.story().verdict());
    REQUIRE(job.story().trainings() == 1);
  }
}
