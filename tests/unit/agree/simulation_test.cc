// The rules that hold whatever fails, over many seeded schedules. One that fails is told by its
// seed; play it again with SAFELAUNCH_SCHEDULE=SEED.
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "catch.h"
#include "safelaunch/base/format.h"
#include "simulator.h"

namespace safelaunch::agree {
namespace {

struct Summary {
  std::uint64_t events = 0;
  std::uint64_t attempts = 0;
  Duration slowest{};
};

Summary play_all(std::uint64_t first, std::uint64_t count) {
  Summary summary;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Played played = play(seed);
    if (!played.violation.empty()) FAIL("schedule " << seed << ": " << played.violation);
    summary.events += static_cast<std::uint64_t>(played.events);
    summary.attempts += static_cast<std::uint64_t>(played.attempts);
    summary.slowest = std::max(summary.slowest, played.agreed);
  }
  return summary;
}

/// The first schedule that shows the bug; 0: none does.
std::uint64_t found_by(const Bugs& bugs) {
  for (std::uint64_t seed = 1; seed <= 3'000; ++seed)
    if (!play(seed, bugs).violation.empty()) return seed;
  return 0;
}

}  // namespace

TEST_CASE("whatever fails, no rank runs twice and all agents agree: ten thousand schedules",
          "[agree][simulation]") {
  const Summary summary = play_all(1, 10'000);
  CHECK(summary.attempts > 10'000);
  CHECK(summary.slowest <= std::chrono::seconds(2));
}

TEST_CASE("schedules of the million that have shown a fault", "[agree][simulation]") {
  for (const std::uint64_t seed : {20'912, 140'505, 693'721}) {
    CAPTURE(seed);
    CHECK(play(seed).violation == "");
  }
}

TEST_CASE("whatever fails, no rank runs twice and all agents agree: a million schedules",
          "[.million]") {
  const auto begin = std::chrono::steady_clock::now();
  const Summary summary = play_all(1, 1'000'000);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  WARN(fmt::format("1,000,000 schedules in {:.0f} s: {} events, {} starts, agreement within {} ms",
                   took.count(), summary.events, summary.attempts, summary.slowest.count()));
}

TEST_CASE("a schedule is played again", "[.schedule]") {
  const char* seed = std::getenv("SAFELAUNCH_SCHEDULE");
  REQUIRE(seed != nullptr);
  const Played played = play(std::stoull(seed), {}, Tell::all);
  WARN(played.story);
  CHECK(played.violation.empty());
  CHECK(played.violation == "");
}

TEST_CASE("a schedule follows from its seed alone", "[agree][simulation]") {
  CHECK(play(7, {}, Tell::all).story == play(7, {}, Tell::all).story);
  CHECK(play(7, {}, Tell::all).story != play(8, {}, Tell::all).story);
}

TEST_CASE("bugs that are put in on purpose are found", "[agree][simulation]") {
  CHECK(found_by({.no_kill_margin = true}) != 0);
  CHECK(found_by({.lease_ignored = true}) != 0);
  CHECK(found_by({.nobody_waited_for = true}) != 0);
  CHECK(found_by({.generation_stays = true}) != 0);
  CHECK(found_by({.no_guardian = true}) != 0);
  CHECK(found_by({.break_frees_seat = true}) != 0);
  CHECK(found_by({.board_forgets = true}) != 0);
}

}  // namespace safelaunch::agree
