#include "safelaunch/ranks/driver_watch.h"

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::ranks;
using namespace std::chrono_literals;

namespace {

const std::vector<Rank> kBoth{Rank{0}, Rank{1}};
const TimePoint kStart{1h};

DriverDoubt two_stand_still() {
  DriverDoubt doubt(30s);
  for (const Rank rank : kBoth) doubt.stands_still(rank, kStart);
  return doubt;
}

}  // namespace

TEST_CASE("the driver is asked once ranks have stood still for long enough", "[driver_doubt]") {
  DriverDoubt doubt = two_stand_still();
  CHECK(doubt.suspects(kStart + 29s).empty());
  CHECK(doubt.suspects(kStart + 30s) == kBoth);
}

TEST_CASE("a rank that has moved meanwhile begins to stand still anew", "[driver_doubt]") {
  DriverDoubt doubt = two_stand_still();
  doubt.moves(Rank{1});
  doubt.stands_still(Rank{1}, kStart + 20s);
  CHECK(doubt.suspects(kStart + 30s) == std::vector{Rank{0}});
  CHECK(doubt.suspects(kStart + 50s) == kBoth);
}

TEST_CASE("a rank that goes on standing still has done so from the first look", "[driver_doubt]") {
  DriverDoubt doubt = two_stand_still();
  for (const Rank rank : kBoth) doubt.stands_still(rank, kStart + 29s);
  CHECK(doubt.suspects(kStart + 30s) == kBoth);
}

TEST_CASE("the second silence counts", "[driver_doubt]") {
  DriverDoubt doubt = two_stand_still();
  CHECK_FALSE(doubt.silent(kBoth, kStart + 60s));
  CHECK(doubt.silent(kBoth, kStart + 90s));
}

TEST_CASE("two silences with an answer between them are none", "[driver_doubt]") {
  DriverDoubt doubt = two_stand_still();
  CHECK_FALSE(doubt.silent(kBoth, kStart + 60s));
  doubt.answered();
  CHECK_FALSE(doubt.silent(kBoth, kStart + 200s));
}

TEST_CASE("a silence for ranks that have moved on says nothing of them", "[driver_doubt]") {
  DriverDoubt doubt = two_stand_still();
  CHECK_FALSE(doubt.silent(kBoth, kStart + 60s));
  doubt.moves(Rank{1});
  CHECK_FALSE(doubt.silent(kBoth, kStart + 90s));
}

TEST_CASE("a driver that answers is asked ever more rarely", "[driver_doubt]") {
  DriverDoubt doubt = two_stand_still();
  doubt.answered();
  CHECK(doubt.suspects(kStart + 59s).empty());
  CHECK(doubt.suspects(kStart + 60s) == kBoth);
  CHECK_FALSE(doubt.looks_seldom());
  doubt.answered();
  doubt.answered();
  CHECK(doubt.looks_seldom());
}
