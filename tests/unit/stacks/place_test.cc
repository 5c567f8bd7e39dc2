#include "safelaunch/stacks/place.h"

#include <array>

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::stacks;

namespace {

RankPlace rank_at(int rank, std::string where, std::string doing = "idling: sleeping in poll") {
  return {.rank = Rank{rank},
          .process = {100 + rank, 7},
          .command = "python train.py",
          .standing = {},
          .where = std::move(where),
          .frames = "thread MainThread\n  train.py:40 main\n",
          .teller = Teller::hook,
          .doing = std::move(doing)};
}

}  // namespace

TEST_CASE("ranks that stand at the same place are told once", "[place]") {
  const JobPlaces job{
      .title = "the job",
      .world = 4,
      .ranks = {rank_at(0, "train.py:40 main → all_reduce"), rank_at(1, "train.py:48 never"),
                rank_at(2, "train.py:40 main → all_reduce"),
                rank_at(3, "train.py:40 main → all_reduce")},
      .stores = {},
      .notes = {}};
  CHECK(render(job, false) ==
        "the job\n"
        "  ranks 0 2 3 (pids 100 102 103): in train.py:40 main → all_reduce; idling: sleeping in "
        "poll\n"
        "  rank 1 (pid 101): in train.py:48 never; idling: sleeping in poll\n");
}

TEST_CASE("what ranks at one place do in the kernel may differ", "[place]") {
  const JobPlaces job{
      .title = "the job",
      .world = 0,
      .ranks = {rank_at(0, "a.py:1 f", "idling: x"), rank_at(1, "a.py:1 f", "quiet")},
      .stores = {},
      .notes = {}};
  CHECK(render(job, false) ==
        "the job\n  ranks 0 1 (pids 100 101): in a.py:1 f; idling: x or quiet\n");
}

TEST_CASE("without a stack the kernel tells ranks apart", "[place]") {
  const JobPlaces job{.title = "the job",
                      .world = 0,
                      .ranks = {rank_at(0, "", "idling: x"), rank_at(1, "", "working")},
                      .stores = {},
                      .notes = {"a note"}};
  CHECK(render(job, false) ==
        "the job\n  rank 0 (pid 100): idling: x\n  rank 1 (pid 101): working\n  a note\n");
}

TEST_CASE("ranks of the world that are not here are told", "[place]") {
  const JobPlaces job{.title = "the job",
                      .world = 4,
                      .ranks = {rank_at(1, "a.py:1 f", "")},
                      .stores = {},
                      .notes = {}};
  CHECK(render(job, false).ends_with("  ranks 0 2 3 of 4: no process of this host says to be\n"));
}

TEST_CASE("who is connected to which store is told", "[place]") {
  JobPlaces job{.title = "the job", .world = 0, .ranks = {}, .stores = {}, .notes = {}};
  job.stores = {{"h:1", "rank 0 (pid 100)", {Rank{0}, Rank{2}}, {Rank{1}}},
                {"h:2", "", {}, {Rank{1}}}};
  CHECK(render(job, false) ==
        "the job\n"
        "  store h:1, held by rank 0 (pid 100); connected: ranks 0 2; not connected: rank 1\n"
        "  store h:2: nobody on this host listens there; not connected: rank 1\n");
}

TEST_CASE("processes without a rank are told by their commands", "[place]") {
  RankPlace loader = rank_at(0, "", "working");
  loader.rank.reset();
  RankPlace other = loader;
  other.command = "python other.py";
  const JobPlaces job{
      .title = "pid 100", .world = 0, .ranks = {loader, other}, .stores = {}, .notes = {}};
  CHECK(render(job, false) ==
        "pid 100\n  pid 100 (python train.py): working\n  pid 100 (python other.py): working\n");
}

TEST_CASE("all frames are told where they are wanted", "[place]") {
  const JobPlaces job{.title = "the job",
                      .world = 0,
                      .ranks = {rank_at(0, "a.py:1 f", "")},
                      .stores = {},
                      .notes = {}};
  CHECK(
      render(job, true) ==
      "the job\n  rank 0 (pid 100): in a.py:1 f\n    thread MainThread\n      train.py:40 main\n");
}

TEST_CASE("the places are JSON too", "[place]") {
  const JobPlaces job{.title = "the job",
                      .world = 2,
                      .ranks = {rank_at(0, "a.py:1 f", "")},
                      .stores = {},
                      .notes = {}};
  const std::string json = places_json(std::array{job});
  CHECK(json.find("\"teller\": \"hook\"") != std::string::npos);
  CHECK(json.find("\"rank\": 0") != std::string::npos);
}
