#include "launcher/run/metrics.h"

#include <boost/asio/io_context.hpp>

#include "catch.h"
#include "safelaunch/base/user_file.h"
#include "temporary_folder.h"

using namespace safelaunch;

using namespace safelaunch::run;
using namespace std::chrono_literals;
namespace record = safelaunch::report::record;

namespace {

constexpr TimePoint kStart{};

/// Two ranks in training; rank 1 has answered, rank 0 has not.
Figures training_figures() {
  Figures figures("r1");
  CHECK(figures.take(2, record::Attempt{"no-shm", {}}, kStart));
  CHECK(figures.take(2, record::Stage{0, "collective", 10}, kStart));
  CHECK(figures.take(2, record::Stage{1, "collective", 11}, kStart));
  CHECK(figures.take(2, record::Training{}, kStart));
  CHECK_FALSE(figures.take(2, record::Counted{1, 41}, kStart + 60s));
  return figures;
}

bool holds(const std::string& text, const std::string& line) {
  return text.find("\n" + line + "\n") != std::string::npos || text.starts_with(line + "\n");
}

}  // namespace

TEST_CASE("the figures of a run in training, as Prometheus reads them", "[metrics]") {
  CHECK(training_figures().text(kStart + 75s) ==
        R"(# HELP safelaunch_running 1 while the job runs, 0 once it has ended.
# TYPE safelaunch_running gauge
safelaunch_running{run="r1"} 1
# HELP safelaunch_attempt The number of the attempt.
# TYPE safelaunch_attempt gauge
safelaunch_attempt{run="r1"} 2
# HELP safelaunch_profile_info The profile of the attempt.
# TYPE safelaunch_profile_info gauge
safelaunch_profile_info{run="r1",profile="no-shm"} 1
# HELP safelaunch_training 1 once every rank has finished its first collective.
# TYPE safelaunch_training gauge
safelaunch_training{run="r1"} 1
# HELP safelaunch_ranks How many ranks are known.
# TYPE safelaunch_ranks gauge
safelaunch_ranks{run="r1"} 2
# HELP safelaunch_rank_stage_info The stage that the rank has reached.
# TYPE safelaunch_rank_stage_info gauge
safelaunch_rank_stage_info{run="r1",rank="0",stage="collective"} 1
safelaunch_rank_stage_info{run="r1",rank="1",stage="collective"} 1
# HELP safelaunch_rank_collectives_finished_total Collectives that the rank has finished.
# TYPE safelaunch_rank_collectives_finished_total counter
safelaunch_rank_collectives_finished_total{run="r1",rank="1"} 41
# HELP safelaunch_rank_last_collective_age_seconds Since the rank was seen to have finished one more collective.
# TYPE safelaunch_rank_last_collective_age_seconds gauge
safelaunch_rank_last_collective_age_seconds{run="r1",rank="1"} 15.0
)");
}

TEST_CASE("only a count that has changed is a sign of life", "[metrics]") {
  Figures figures = training_figures();
  figures.take(2, record::Counted{1, 41}, kStart + 120s);
  const std::string age = "safelaunch_rank_last_collective_age_seconds{run=\"r1\",rank=\"1\"} ";
  CHECK(holds(figures.text(kStart + 180s), age + "120.0"));
  figures.take(2, record::Counted{1, 42}, kStart + 180s);
  CHECK(holds(figures.text(kStart + 180s), age + "0.0"));
}

TEST_CASE("a rank that has ended, or whose launcher has, is told no more", "[metrics]") {
  Figures figures = training_figures();
  CHECK(figures.take(2, record::Exit{1, 11, "exit status 0"}, kStart));
  figures.take(2, record::Counted{1, 50}, kStart);
  CHECK(figures.text(kStart).find("rank=\"1\"") == std::string::npos);
  CHECK(figures.text(kStart).find("rank=\"0\"") != std::string::npos);
  figures.take(2, record::Exit{-1, 9, "exit status 0"}, kStart);
  CHECK(holds(figures.text(kStart), "safelaunch_ranks{run=\"r1\"} 0"));
}

TEST_CASE("a new attempt begins anew, and the end leaves the status alone", "[metrics]") {
  Figures figures = training_figures();
  CHECK(figures.take(3, record::Attempt{"basic", {}}, kStart));
  CHECK(holds(figures.text(kStart), "safelaunch_attempt{run=\"r1\"} 3"));
  CHECK(holds(figures.text(kStart), "safelaunch_training{run=\"r1\"} 0"));
  CHECK(figures.text(kStart).find("rank=") == std::string::npos);
  figures.take(3, record::Stage{0, "group", 10}, kStart);
  CHECK(figures.take(3, record::End{124}, kStart));
  CHECK(holds(figures.text(kStart), "safelaunch_running{run=\"r1\"} 0"));
  CHECK(holds(figures.text(kStart), "safelaunch_exit_status{run=\"r1\"} 124"));
  CHECK(figures.text(kStart).find("rank=") == std::string::npos);
}

TEST_CASE("the file is there for all to read, and no other is left beside it", "[metrics]") {
  const testing::TemporaryFolder folder;
  const std::filesystem::path file = folder / "job.prom";
  boost::asio::io_context io;
  MetricsFile metrics(io, file, "r1");
  metrics.take(1, record::Attempt{"basic", {}});
  io.run_one();  // soon, though nothing else happens
  metrics.take(1, record::End{3});
  CHECK(metrics.finish().empty());
  CHECK(user_file_text(file)->find("safelaunch_exit_status{run=\"r1\"} 3\n") != std::string::npos);
  CHECK((std::filesystem::status(file).permissions() & std::filesystem::perms::others_read) !=
        std::filesystem::perms::none);
  CHECK(std::distance(std::filesystem::directory_iterator(file.parent_path()), {}) == 1);
}

TEST_CASE("a file that cannot be written is told", "[metrics]") {
  const testing::TemporaryFolder folder;
  boost::asio::io_context io;
  MetricsFile metrics(io, folder / "gone/job.prom", "r1");
  CHECK(metrics.finish().find("cannot make") != std::string::npos);
}
