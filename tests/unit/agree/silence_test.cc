#include "launcher/agree/silence.h"

#include "catch.h"

namespace safelaunch::agree {
namespace {

using namespace std::chrono_literals;

const TimePoint kStart{1'000s};

TEST_CASE("silence is the time between looks that show the same sign", "[silence]") {
  Silence silence(10s);
  silence.look(kStart, kStart + 1s, {{2, "beat 1"}});
  CHECK(silence.of(2) == 0s);
  silence.look(kStart + 3s, kStart + 4s, {{2, "beat 1"}});
  CHECK(silence.of(2) == 2s);
  CHECK_FALSE(silence.heard_any());
  silence.look(kStart + 9s, kStart + 9s, {{2, "beat 1"}});
  CHECK(silence.of(2) == 7s);
  silence.look(kStart + 10s, kStart + 10s, {{2, "beat 2"}});
  CHECK(silence.of(2) == 0s);
  CHECK(silence.heard_any());
}

TEST_CASE("a look that itself takes long is nobody's silence", "[silence]") {
  Silence silence(10s);
  silence.look(kStart, kStart + 60s, {{0, "beat"}});
  silence.look(kStart + 61s, kStart + 120s, {{0, "beat"}});
  CHECK(silence.of(0) == 1s);
}

TEST_CASE("an observer that was stopped itself takes little of that for silence", "[silence]") {
  Silence silence(2s);
  silence.look(kStart, kStart, {{0, "beat"}});
  silence.look(kStart + 1h, kStart + 1h, {{0, "beat"}});
  CHECK(silence.of(0) == 2s);
}

TEST_CASE("a seat that a look misses keeps its silence", "[silence]") {
  Silence silence(10s);
  silence.look(kStart, kStart, {{0, "beat"}});
  silence.look(kStart + 3s, kStart + 3s, {{0, "beat"}});
  silence.look(kStart + 4s, kStart + 4s, {});
  CHECK(silence.of(0) == 3s);
}

}  // namespace
}  // namespace safelaunch::agree
