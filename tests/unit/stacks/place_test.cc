#include "safelaunch/stacks/place.h"

#include <array>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "safelaunch/base/language.h"

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
  CHECK(render(job, false).ends_with("  ranks 0 2 3 of 4: on no process of this host\n"));
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

TEST_CASE("the place of a rank and the head of a stack are told in Chinese", "[place]") {
  JobPlaces job{.title = "a job",
                .world = 0,
                .ranks = {rank_at(0, "训练 脚本.py:12 <module> → all_reduce", "")},
                .stores = {},
                .notes = {}};
  job.ranks[0].standing = "in training";
  job.ranks[0].collectives = 3;
  job.ranks[0].frames = "thread MainThread (innermost last)\n  训练 脚本.py:12 <module>\n";
  speak(Language::chinese);
  CHECK(render(job, true) ==
        "a job\n  rank 0（pid 100）: 位于 训练 脚本.py:12 <module> → all_reduce；训练中；已完成 3 "
        "个集合通信\n    线程 MainThread（最内层的调用在最后）\n      训练 脚本.py:12 <module>\n");
  speak(Language::english);
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

namespace {

JobPlaces job_of(std::vector<RankPlace> ranks, int world = 0) {
  return {.title = "the job", .world = world, .ranks = std::move(ranks), .stores = {}, .notes = {}};
}

std::string lines_of(const JobPlaces& job, bool whole = false) {
  const std::string text = render(job, whole);
  return text.substr(text.find('\n') + 1);
}

}  // namespace

TEST_CASE("each teller has its word", "[place]") {
  CHECK(std::string(name(Teller::nobody)) == "nobody");
  CHECK(std::string(name(Teller::hook)) == "hook");
  CHECK(std::string(name(Teller::py_spy)) == "py-spy");
}

TEST_CASE("the place of a rank is told by all that is known of it, in one order", "[place]") {
  struct Case {
    const char* where;
    const char* standing;
    const char* doing;
    const char* words;
  };
  for (const Case& one :
       {Case{"a.py:1 f", "waits in group", "working", "in a.py:1 f; waits in group; working"},
        Case{"a.py:1 f", "", "working", "in a.py:1 f; working"},
        Case{"", "waits in group", "working", "waits in group; working"},
        Case{"", "waits in group", "", "waits in group"}, Case{"", "", "has ended", "has ended"},
        Case{"", "", "", "nothing is known of it"}}) {
    RankPlace place = rank_at(0, one.where, one.doing);
    place.standing = one.standing;
    CHECK(lines_of(job_of({place})) == std::string("  rank 0 (pid 100): ") + one.words + "\n");
  }
}

TEST_CASE("ranks at one line that safelaunch knows to stand otherwise are told apart", "[place]") {
  RankPlace waits = rank_at(1, "a.py:1 f", "");
  waits.standing = "waits in group";
  CHECK(lines_of(job_of({rank_at(0, "a.py:1 f", ""), waits})) ==
        "  rank 0 (pid 100): in a.py:1 f\n  rank 1 (pid 101): in a.py:1 f; waits in group\n");
}

TEST_CASE("of many calls in which the kernel sees ranks of one place two are told", "[place]") {
  CHECK(lines_of(job_of({rank_at(0, "a.py:1 f", "x"), rank_at(1, "a.py:1 f", "y"),
                         rank_at(2, "a.py:1 f", "x"), rank_at(3, "a.py:1 f", "z")})) ==
        "  ranks 0-3 (pids 100 101 102 103): in a.py:1 f; x or y\n");
}

TEST_CASE("of many processes at one place eight pids are told, and the rest counted", "[place]") {
  std::vector<RankPlace> ranks;
  for (int rank = 0; rank < 8; ++rank) ranks.push_back(rank_at(rank, "a.py:1 f", ""));
  CHECK(lines_of(job_of(ranks)) ==
        "  ranks 0-7 (pids 100 101 102 103 104 105 106 107): in a.py:1 f\n");
  ranks.push_back(rank_at(8, "a.py:1 f", ""));
  CHECK(lines_of(job_of(ranks)) ==
        "  ranks 0-8 (pids 100 101 102 103 104 105 106 107 and 1 more): in a.py:1 f\n");
}

TEST_CASE("ranks are told in rising order, however they were found", "[place]") {
  CHECK(lines_of(job_of({rank_at(2, "a.py:1 f", ""), rank_at(0, "a.py:1 f", "")})) ==
        "  ranks 0 2 (pids 102 100): in a.py:1 f\n");
}

TEST_CASE("processes of one command that do the same are told once", "[place]") {
  RankPlace one = rank_at(0, "", "working");
  one.rank.reset();
  RankPlace other = one;
  other.process.pid = 200;
  CHECK(lines_of(job_of({one, other})) == "  pids 100 200 (python train.py): working\n");
}

TEST_CASE("no rank is missed where the world is not known, all are here, or none is", "[place]") {
  const RankPlace rank = rank_at(0, "a.py:1 f", "");
  RankPlace nameless = rank;
  nameless.rank.reset();
  for (const JobPlaces& job : {job_of({rank}, 0), job_of({rank}, 1), job_of({nameless}, 4),
                               job_of({}, 4), job_of({rank, rank_at(1, "a.py:1 f", "")}, 2)})
    CHECK(render(job, false).find("no process") == std::string::npos);
}

TEST_CASE("one missing rank is told as one, and one of a huge world at no cost", "[place]") {
  CHECK(lines_of(job_of({rank_at(0, "a.py:1 f", "")}, 2))
            .ends_with("  rank 1 of 2: on no process of this host\n"));
  CHECK(lines_of(job_of({rank_at(0, "a.py:1 f", "")}, 1'000'000))
            .ends_with("  ranks 1-999999 of 1000000: on no process of this host\n"));
}

TEST_CASE("a rank beyond the world it says fills no gap", "[place]") {
  CHECK(lines_of(job_of({rank_at(7, "a.py:1 f", "")}, 2))
            .ends_with("  ranks 0 1 of 2: on no process of this host\n"));
}

TEST_CASE("a store to which no rank of here belongs is told by its holder alone", "[place]") {
  JobPlaces job = job_of({});
  job.stores = {{"far:1", "another host", {}, {}}};
  job.notes = {"first", "second"};
  CHECK(render(job, false) == "the job\n  store far:1, held by another host\n  first\n  second\n");
}

TEST_CASE("the frames of several ranks at one place are told apart by their pids", "[place]") {
  RankPlace silent = rank_at(2, "a.py:1 f", "");
  silent.frames.clear();
  CHECK(lines_of(job_of({rank_at(0, "a.py:1 f", ""), rank_at(1, "a.py:1 f", ""), silent}), true) ==
        "  ranks 0-2 (pids 100 101 102): in a.py:1 f\n"
        "    pid 100\n    thread MainThread\n      train.py:40 main\n"
        "    pid 101\n    thread MainThread\n      train.py:40 main\n");
}

TEST_CASE("frames without an end of line are told whole", "[place]") {
  RankPlace place = rank_at(0, "a.py:1 f", "");
  place.frames = "one\n\nthree";
  CHECK(lines_of(job_of({place}), true) ==
        "  rank 0 (pid 100): in a.py:1 f\n    one\n    \n    three\n");
}

TEST_CASE("the JSON of a job has every field, and no rank where a process has none", "[place]") {
  RankPlace nameless = rank_at(0, "", "working");
  nameless.rank.reset();
  nameless.teller = Teller::nobody;
  nameless.frames.clear();
  JobPlaces job = job_of({rank_at(1, "a.py:1 f", "idling: x"), nameless}, 4);
  job.ranks.front().standing = "waits in group";
  job.stores = {{"h:1", "pid 9 (x)", {Rank{1}}, {Rank{0}, Rank{2}}}};
  job.notes = {"a note"};
  using nlohmann::json;
  const json expected = json::parse(R"json([{
    "job": "the job", "world_size": 4,
    "ranks": [
      {"pid": 101, "rank": 1, "command": "python train.py", "where": "a.py:1 f",
       "doing": "idling: x", "standing": "waits in group", "teller": "hook",
       "frames": "thread MainThread\n  train.py:40 main\n"},
      {"pid": 100, "command": "python train.py", "where": "", "doing": "working", "standing": "",
       "teller": "nobody", "frames": ""}],
    "stores": [{"address": "h:1", "holder": "pid 9 (x)", "connected": [1],
                "not_connected": [0, 2]
}],
    "notes": ["a note"]
}])json");
  CHECK(json::parse(places_json(std::array{job})) == expected);
}

TEST_CASE("no job at all is an empty list, and bytes that are no text are replaced", "[place]") {
  CHECK(places_json({}) == "[]\n");
  CHECK(places_json(std::array{job_of({rank_at(0, "\xff.py:1 f", "")})}).find("\uFFFD.py:1 f") !=
        std::string::npos);
}

TEST_CASE("the tree of a job has a line a process, with the places of the ranks", "[place]") {
  JobPlaces job = job_of({rank_at(0, "train.py:40 main"), rank_at(1, "", "working")}, 3);
  job.tree = {{10, 0, 'S', 0, "torchrun train.py"},
              {100, 1, 'S', 3, "python train.py"},
              {101, 1, 'R', 100, "python train.py"},
              {105, 2, 'S', 12, "loader"}};
  CHECK(render_tree(job) ==
        "the job\n"
        "  10 S   0 % torchrun train.py\n"
        "    100 S   3 % rank 0 (python train.py): in train.py:40 main; idling: sleeping in poll\n"
        "    101 R 100 % rank 1 (python train.py): working\n"
        "      105 S  12 % loader\n"
        "  rank 2 of 3: on no process of this host\n");
  const auto told = nlohmann::json::parse(places_json(std::array{job}));
  CHECK(told[0]["tree"][3] ==
        nlohmann::json{
            {"pid", 105}, {"depth", 2}, {"state", "S"}, {"cpu", 12}, {"command", "loader"}});
}
