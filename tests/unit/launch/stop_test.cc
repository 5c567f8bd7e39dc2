#include "safelaunch/launch/stop.h"

#include "catch.h"
#include "safelaunch/launch/descendants.h"

using namespace safelaunch;

using namespace safelaunch::launch;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

using Actions = std::vector<StopAction>;
const TimePoint t0{};
const StopWanted kTerm{StopMode::polite, SIGTERM, Duration{30'000}};
const StopWanted kInt{StopMode::polite, SIGINT, Duration{30'000}};
const StopWanted kHup{StopMode::polite, SIGHUP, Duration{30'000}};
const StopWanted kSweep{StopMode::sweep, 0, Duration{1'000}};
const StopWanted kNow{StopMode::now, 0, {}};

const Actions kSweeping{SignalTree{SIGTERM}, SignalTree{SIGCONT}};
const Actions kKilling{SignalTree{SIGKILL}};
const Actions kKillingReadersToo{SignalTree{SIGKILL, false}};
const Actions kDone{StopDone{}};

}  // namespace

TEST_CASE("a user's signal goes to the launcher alone, as it is, once") {
  StopSequence stop;
  CHECK(stop.on(kHup, t0) == Actions{AskMain{SIGHUP}});
  CHECK(stop.on(kHup, t0).empty());
  CHECK(stop.deadline() == t0 + seconds(30));
}

TEST_CASE("ranks that outlive their launcher end by themselves before anything is swept") {
  StopSequence stop;
  CHECK(stop.on(MainEnded{}, t0).empty());
  CHECK(stop.on(StopWanted{StopMode::await, SIGTERM, kOrphansSave}, t0).empty());
  CHECK(stop.deadline() == t0 + kOrphansSave);
  CHECK(stop.on(TimePassed{}, t0 + seconds(29)).empty());
  SECTION("the last rank ends") {
    CHECK(stop.on(RanksGone{}, t0 + seconds(3)) == kSweeping);
  }
  SECTION("one does not end") {
    CHECK(stop.on(TimePassed{}, t0 + seconds(30)) == kSweeping);
  }
  SECTION("the user wants the end") {
    CHECK(stop.on(kInt, t0 + seconds(3)) == kSweeping);
  }
  SECTION("the user insists") {
    (void)stop.on(kInt, t0 + seconds(3));
    CHECK(stop.on(kInt, t0 + seconds(3)) == kKillingReadersToo);
  }
  SECTION("nothing is left") {
    CHECK(stop.on(TreeEmpty{}, t0 + seconds(3)) == kDone);
  }
}

TEST_CASE("what lives at the end of the grace is killed") {
  StopSequence stop;
  CHECK(stop.on(kTerm, t0) == Actions{AskMain{SIGTERM}});
  CHECK(stop.on(TimePassed{}, t0 + milliseconds(29'999)).empty());
  CHECK(stop.on(TimePassed{}, t0 + seconds(30)) == kKilling);
}

TEST_CASE(
    "without a grace a job is waited for, and only what a killed launcher leaves is on a clock") {
  StopSequence stop;
  CHECK(stop.on(StopWanted{StopMode::polite, SIGTERM, {}}, t0) == Actions{AskMain{SIGTERM}});
  CHECK(stop.deadline() == std::nullopt);
  CHECK(stop.on(TimePassed{}, t0 + std::chrono::hours(100)).empty());
  SECTION("it ends by itself") {
    CHECK(stop.on(MainEnded{}, t0 + seconds(2)) == kSweeping);
    CHECK(stop.deadline() == t0 + seconds(2) + kSweepGrace);
  }
  SECTION("the signal kills it") {
    CHECK(stop.on(MainEnded{MainEnded::How::by_signal}, t0 + seconds(2)) == kSweeping);
    CHECK(stop.deadline() == t0 + seconds(2) + kOrphansSave);
  }
  SECTION("the user insists") {
    CHECK(stop.on(kTerm, t0 + std::chrono::hours(1)) == kKillingReadersToo);
  }
}

TEST_CASE("a second INT or TERM kills at once, and further ones change nothing") {
  StopSequence stop;
  CHECK(stop.on(kInt, t0) == Actions{AskMain{SIGINT}});
  CHECK(stop.on(kTerm, t0 + seconds(1)) == kKillingReadersToo);
  for (int i = 0; i < 8; ++i) CHECK(stop.on(kInt, t0 + seconds(1)).empty());
  CHECK(stop.on(TreeEmpty{}, t0 + seconds(1)) == kDone);
}

TEST_CASE("a TERM after a hangup is passed on and does not prolong the grace") {
  StopSequence stop;
  CHECK(stop.on(kHup, t0) == Actions{AskMain{SIGHUP}});
  CHECK(stop.on(kTerm, t0 + seconds(5)) == Actions{AskMain{SIGTERM}});
  CHECK(stop.deadline() == t0 + seconds(30));
  CHECK(stop.on(kTerm, t0 + seconds(6)) == kKillingReadersToo);
}

TEST_CASE("what a launcher leaves running when it ends is swept after it") {
  StopSequence stop;
  CHECK(stop.on(kTerm, t0) == Actions{AskMain{SIGTERM}});
  CHECK(stop.on(MainEnded{}, t0 + seconds(2)) == kSweeping);
  CHECK(stop.on(TimePassed{}, t0 + seconds(2) + kSweepGrace) == kKilling);
}

TEST_CASE("what a launcher leaves that the signal killed has the rest of the grace") {
  StopSequence stop;
  CHECK(stop.on(kTerm, t0) == Actions{AskMain{SIGTERM}});
  CHECK(stop.on(MainEnded{MainEnded::How::by_signal}, t0 + seconds(2)) == kSweeping);
  CHECK(stop.deadline() == t0 + seconds(30));
}

TEST_CASE("what is left when the ranks are gone has a second, whenever that is known") {
  StopSequence stop;
  CHECK(stop.on(kTerm, t0) == Actions{AskMain{SIGTERM}});
  SECTION("they end before the last worker") {
    CHECK(stop.on(RanksGone{}, t0 + seconds(1)).empty());
    CHECK(stop.deadline() == t0 + seconds(30));  // a launcher may have to tell of them
    CHECK(stop.on(MainEnded{MainEnded::How::by_signal}, t0 + seconds(2)) == kSweeping);
    CHECK(stop.deadline() == t0 + seconds(2) + kSweepGrace);
  }
  SECTION("they end below a wrapper that was killed before them") {
    CHECK(stop.on(MainEnded{MainEnded::How::by_signal}, t0 + seconds(2)) == kSweeping);
    CHECK(stop.on(RanksGone{}, t0 + seconds(5)).empty());
    CHECK(stop.deadline() == t0 + seconds(5) + kSweepGrace);
    CHECK(stop.on(TimePassed{}, t0 + seconds(6)) == kKilling);
  }
  SECTION("they end just before the grace does") {
    CHECK(stop.on(MainEnded{MainEnded::How::by_signal}, t0 + seconds(2)) == kSweeping);
    CHECK(stop.on(RanksGone{}, t0 + milliseconds(29'900)).empty());
    CHECK(stop.deadline() == t0 + seconds(30));
  }
}

TEST_CASE("a launcher that ends just before the grace does not prolong it") {
  StopSequence stop;
  CHECK(stop.on(kTerm, t0) == Actions{AskMain{SIGTERM}});
  CHECK(stop.on(MainEnded{}, t0 + milliseconds(29'900)) == kSweeping);
  CHECK(stop.deadline() == t0 + seconds(30));
}

TEST_CASE("a hung job is swept: TERM and CONT to all, then KILL, and no waiting once it is empty") {
  StopSequence stop;
  CHECK(stop.on(kSweep, t0) == kSweeping);
  SECTION("it ends") {
    CHECK(stop.on(TreeEmpty{}, t0 + milliseconds(3)) == kDone);
    CHECK(stop.deadline() == std::nullopt);
  }
  SECTION("it does not") {
    CHECK(stop.on(TimePassed{}, t0 + seconds(1)) == kKilling);
  }
  SECTION("the user insists meanwhile") {
    CHECK(stop.on(kInt, t0 + milliseconds(10)).empty());
    CHECK(stop.on(kInt, t0 + milliseconds(20)) == kKillingReadersToo);
  }
}

TEST_CASE("a polite stop becomes a sweep or a kill, never the reverse") {
  StopSequence stop;
  CHECK(stop.on(kTerm, t0) == Actions{AskMain{SIGTERM}});
  CHECK(stop.on(kSweep, t0) == kSweeping);
  CHECK(stop.on(kNow, t0) == kKillingReadersToo);
  CHECK(stop.on(kSweep, t0).empty());
  CHECK(stop.on(kTerm, t0).empty());
}

TEST_CASE("killing walks again and again, ever more rarely, and gives up on what does not end") {
  StopSequence stop;
  CHECK(stop.on(kNow, t0) == kKillingReadersToo);
  int walks = 0;
  Duration last_pause{};
  for (auto now = stop.deadline(); now && walks < 10'000; now = stop.deadline(), ++walks) {
    const Actions actions = stop.on(TimePassed{}, *now);
    if (actions == kDone) break;
    CHECK(actions == kKillingReadersToo);
    const auto pause = std::chrono::duration_cast<Duration>(*stop.deadline() - *now);
    CHECK(pause >= last_pause);
    last_pause = pause;
  }
  CHECK(walks > 10);
  CHECK(walks < 200);
  CHECK(stop.deadline() == std::nullopt);
}

TEST_CASE("nothing happens before a stop is wanted, nor after it is done") {
  StopSequence stop;
  CHECK(stop.on(TreeEmpty{}, t0).empty());
  CHECK(stop.on(MainEnded{}, t0).empty());
  CHECK(stop.on(TimePassed{}, t0).empty());
  CHECK(stop.on(kNow, t0) == kKillingReadersToo);
  CHECK(stop.on(TreeEmpty{}, t0) == kDone);
  CHECK(stop.on(kTerm, t0).empty());
}
