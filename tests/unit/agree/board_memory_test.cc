#include "launcher/agree/board_memory.h"

#include <filesystem>

#include "catch.h"
#include "temporary_folder.h"

namespace safelaunch::agree {
namespace {

using namespace std::chrono_literals;

TEST_CASE("the memory of a board reads back, and anything else is no memory", "[board_memory]") {
  const Remembered remembered{"boot", 1234ms, 7};
  CHECK(remembered_from(to_text(remembered)) == remembered);
  for (const std::string_view text :
       {"", "boot", "boot 1", "boot x 7", "boot -1 7", "boot 1 2 3", " \n"})
    CHECK_FALSE(remembered_from(text).has_value());
}

TEST_CASE("the leases of an earlier life are over a lease after it can have given the last one",
          "[board_memory]") {
  const Remembered earlier{"boot", 100s, 7};
  const auto left = [&](Remembered now) { return left_of_leases(earlier, now, 5s, 13s); };
  CHECK(left({"boot", 100s, 7}) == Duration(18s));
  CHECK(left({"boot", 110s}) == Duration(8s));
  CHECK(left({"boot", 118s}) == std::nullopt);
  CHECK(left({"another boot", 101s}) == std::nullopt);
  CHECK(left({"boot", 99s}) == std::nullopt);
}

TEST_CASE("each job has a memory of its own, which goes when the board ends in order",
          "[board_memory]") {
  const safelaunch::testing::TemporaryFolder folder;
  {
    BoardMemory memory(folder / "boards", "../job/1");
    CHECK_FALSE(memory.earlier().has_value());
    memory.write({"boot", 7ms});
  }
  CHECK_FALSE(BoardMemory(folder / "boards", "../job/2").earlier().has_value());
  {
    BoardMemory memory(folder / "boards", "../job/1");
    CHECK(memory.earlier() == Remembered{"boot", 7ms});
    memory.forget();
  }
  CHECK(std::filesystem::is_empty(folder / "boards"));
}

TEST_CASE("a board without a folder remembers nothing", "[board_memory]") {
  BoardMemory memory("", "job");
  memory.write({"boot", 7ms});
  CHECK_FALSE(memory.earlier().has_value());
}

TEST_CASE("now is after now", "[board_memory]") {
  const Remembered one = remembered_now(7);
  CHECK_FALSE(one.boot_id.empty());
  CHECK(remembered_now(7).lived >= one.lived);
}

}  // namespace
}  // namespace safelaunch::agree
