#include "safelaunch/probe/session.h"

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::probe;

namespace {

/// A shell script in the place of safelaunch-probe. It is called with `rank RANK RANKS DEVICE
/// FILE`.
class Script {
 public:
  explicit Script(const std::string& body) {
    char name[] = "/tmp/safelaunch-probe-test-XXXXXX";
    folder_ = ::mkdtemp(name);
    std::ofstream(path()) << "#!/bin/sh\nrank=$2\n" << body << "\n";
    std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
  }
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;
  ~Script() { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path() const { return folder_ + "/probe"; }

  /// A probe of so many ranks with time enough for each phase.
  [[nodiscard]] Spec spec(int ranks) const {
    Spec spec;
    spec.program = path();
    spec.nccl = "libnccl.so.2";
    spec.seats = seat_ranks(ranks, ranks, std::nullopt, current_environment());
    spec.limits.of.fill(Duration(30'000));
    return spec;
  }

 private:
  std::string folder_;
};

Verdict verdict_of(const Spec& spec) {
  const auto outcome = run_probe(spec);
  if (!outcome) FAIL(outcome.error().message);
  return outcome->verdict;
}

/// Goes through all phases; rank 0 makes the id, and the others wait for it.
const char* const kHealthy = R"(
say() { echo "{\"phase\":\"$1\",\"ms\":2$2}"; }
say driver; say context; say library
if [ $rank = 0 ]; then say unique_id ',"id":"c0ffee"'; else read word id; [ "$id" = c0ffee ] || exit 3; say unique_id; fi
say init; say first_all_reduce; say checked; say bandwidth ',"gb_per_s":8'
read word; [ "$word" = end ])";

}  // namespace

TEST_CASE("ranks are given rank 0's id, and end when all have measured") {
  const Script script(kHealthy);
  CHECK(verdict_of(script.spec(3)) == Verdict{Works{2, 2, bus_bandwidth(8, 3)}});
}

TEST_CASE("a rank that hangs is told to abort, and the phase is named") {
  const Script script(R"(echo '{"phase":"driver","ms":1}'; read word; echo "$word" >&2)");
  auto spec = script.spec(2);
  spec.limits[Phase::context] = Duration(100);
  spec.limits.abort_grace = Duration(30'000);
  const auto outcome = run_probe(spec);
  REQUIRE(outcome.has_value());
  CHECK(outcome->verdict == Verdict{Hung{Phase::context, {0, 1}}});
  CHECK(outcome->log == "abort\nabort\n");
}

TEST_CASE("a rank that hears nothing any more is killed") {
  const Script script("exec sleep 600");
  auto spec = script.spec(1);
  spec.limits[Phase::driver] = Duration(50);
  CHECK(verdict_of(spec) == Verdict{Hung{Phase::driver, {0}}});
}

TEST_CASE("a crash is told with the phase in which it was, and NCCL's lines are kept") {
  const Script script(R"(
echo '{"phase":"driver","ms":1}'; echo 'NCCL WARN a line' >&2; kill -SEGV $$)");
  const auto outcome = run_probe(script.spec(1));
  REQUIRE(outcome.has_value());
  const auto* failed = std::get_if<Failed>(&outcome->verdict);
  REQUIRE(failed != nullptr);
  CHECK(failed->failures.front().phase == Phase::context);
  CHECK_THAT(failed->failures.front().words, Catch::Matchers::ContainsSubstring("SIGSEGV"));
  CHECK_THAT(outcome->log, Catch::Matchers::ContainsSubstring("NCCL WARN a line"));
}

TEST_CASE("a probe that says nothing but nonsense has failed in its first phase") {
  const Script script("echo nonsense; echo '{}'; echo '{\"phase\":\"bandwidth\"}'");
  const auto verdict = verdict_of(script.spec(1));
  CHECK(stopped_at(verdict) == Phase::driver);
}

TEST_CASE("a probe that is stopped tells nothing about the profile") {
  const Script script("read word");
  boost::asio::io_context io;
  launch::Reaper reaper(io, [](int, const ExitStatus&) {});
  std::optional<Outcome> outcome;
  auto session =
      Session::start(io, reaper, script.spec(2), [&](const Outcome& told) { outcome = told; });
  REQUIRE(session.has_value());
  session->stop("the job needs the GPUs");
  while (!outcome) io.run_one();
  CHECK(outcome->verdict == Verdict{Untold{"the job needs the GPUs"}});
}

TEST_CASE("a session that is destroyed kills its ranks") {
  const Script script("exec sleep 600");
  boost::asio::io_context io;
  launch::Reaper reaper(io, [](int, const ExitStatus&) {});
  {
    const auto session =
        Session::start(io, reaper, script.spec(2), [](const Outcome&) { FAIL("destroyed"); });
    REQUIRE(session.has_value());
  }
  bool childless = false;
  reaper.when_childless([&] { childless = true; });
  while (!childless) io.run_one();
}

TEST_CASE("a probe that is not there is an error") {
  Spec spec;
  spec.program = "/no/such/probe";
  spec.seats = seat_ranks(1, 1, std::nullopt, {});
  CHECK_FALSE(run_probe(spec).has_value());
}
