// How agents find node 0's board in a shared folder.
#include <filesystem>

#include "board_backends.h"
#include "board_scene.h"
#include "launcher/agree/notice.h"

namespace safelaunch::agree {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::Agent;
using testing::InFolder;
using testing::Mute;
using testing::Scene;
using testing::short_terms;

const Duration kSilence = short_terms().lease + short_terms().kill_margin;

std::string folder_of(const Scene<InFolder>& scene) {
  return scene.backend.folder / "meeting";
}

NoticeFolder notices_of(const Scene<InFolder>& scene) {
  return {folder_of(scene), scene.job, Scene<InFolder>::kToken};
}

TEST_CASE("an agent that is not node 0 waits until node 0 has come", "[file_board]") {
  Scene<InFolder> scene;
  Agent& member = scene.agent('b', 1);
  scene.until([&] { return member.heard.failures.size() >= 2; });
  CHECK(member.heard.failures.back() == "the board at file://" + folder_of(scene) +
                                            " is not there: node 0 has not come yet, or has gone");
  CHECK(std::filesystem::is_empty(folder_of(scene)));
  scene.seated('a', 0);
  scene.until([&] { return !member.heard.confirmations.empty(); });
}

TEST_CASE("of agents without numbers one keeps the board, and is node 0", "[file_board]") {
  Scene<InFolder> scene;
  Agent& one = scene.agent('a', std::nullopt);
  Agent& other = scene.agent('b', std::nullopt);
  scene.until(
      [&] { return !one.heard.confirmations.empty() && !other.heard.confirmations.empty(); });
  CHECK(one.heard.seats.back().number + other.heard.seats.back().number == 1);
  CHECK((*notices_of(scene).newest())->number == 1);
  Agent& leader = one.heard.seats.back().number == 0 ? one : other;
  scene.leave(&leader == &one ? other : one);
  scene.leave(leader);
  CHECK(scene.backend.is_clean(scene.job));
}

TEST_CASE("the notice of a board that is gone is replaced once its leases are over",
          "[file_board]") {
  Scene<InFolder> scene(short_terms());
  const Mute mute;
  std::string where = testing::AtNodeZero::free_address();
  SECTION("where nothing listens") {}
  SECTION("where another program has got the port") {
    where = mute.where;
  }
  REQUIRE(notices_of(scene).newest().has_value());
  REQUIRE(notices_of(scene).put({"former", {where}}, std::nullopt)->has_value());
  const TimePoint began = Clock::now();
  Agent& member = scene.agent('b', 1);
  Agent& leader = scene.seated('a', 0);
  CHECK(Clock::now() >= began + kSilence);
  scene.until([&] { return leader.heard.heard_of("host-b", ""); });
  CHECK((*notices_of(scene).newest())->number == 2);
  CHECK_THAT(leader.heard.failures.back(),
             ContainsSubstring("this node keeps the board if no earlier one answers within 1.3s"));
  CHECK(member.heard.refusals.empty());
}

TEST_CASE("a board that others were let in to is kept by no other agent when it is gone",
          "[file_board]") {
  Scene<InFolder> scene(short_terms());
  Agent& first = scene.seated('a', 0);
  Agent& spare = scene.agent('b', 0);
  scene.until([&] { return !spare.heard.parked_by.empty(); });
  const TimePoint gone = Clock::now();
  first.board.reset();
  Agent& next = scene.seated('c', 0);
  CHECK(Clock::now() >= gone + kSilence);
  scene.until([&] { return spare.heard.parked_by.size() == 2; });
  CHECK_THAT(spare.heard.parked_by.back(), ContainsSubstring("host-c"));
  CHECK(next.heard.seats.back().generation > first.heard.seats.back().generation);
}

TEST_CASE("an agent tries each address of the notice", "[file_board]") {
  Scene<InFolder> scene;
  Agent& leader = scene.seated('a', 0);
  const Notice notice = **notices_of(scene).newest();
  REQUIRE(notice.endpoints.size() == 1);
  const std::string closed = testing::AtNodeZero::free_address();
  REQUIRE(notices_of(scene).put({"more", {closed, notice.endpoints[0]}}, notice)->has_value());
  scene.seated('b', 1);
  scene.until([&] { return leader.heard.heard_of("host-b", ""); });
}

TEST_CASE("a job goes on without the folder in which it has met", "[file_board]") {
  Scene<InFolder> scene;
  Agent& leader = scene.seated('a', 0);
  Agent& member = scene.seated('b', 1);
  std::filesystem::remove_all(folder_of(scene));
  leader.say("go", 1);
  scene.until([&] { return member.heard.heard_word("go"); });
  scene.a_while(member);
  scene.leave(member);
  scene.leave(leader);
  CHECK(leader.heard.unseatings.empty());
  CHECK(leader.heard.failures.empty());
}

TEST_CASE("node 0 listens where it can, and is refused where it cannot", "[file_board]") {
  Scene<InFolder> scene;
  Agent& leader = scene.agent('a', 0, [](BoardConfig& config) {
    config.own_addresses = {"192.0.2.1", "203.0.113.9"};
  });
  scene.until([&] { return !leader.heard.refusals.empty(); });
  CHECK_THAT(leader.heard.refusals[0].message, ContainsSubstring("192.0.2.1, 203.0.113.9"));
  CHECK(std::filesystem::is_empty(folder_of(scene)));
  Agent& another = scene.agent('b', 0, [](BoardConfig& config) {
    config.own_addresses = {"192.0.2.1", "127.0.0.1"};
  });
  scene.until([&] { return !another.heard.seats.empty(); });
}

TEST_CASE("a folder in which agents cannot meet is refused", "[file_board]") {
  Scene<InFolder> scene;
  scene.backend.folder.write("meeting", "a file");
  Agent& leader = scene.agent('a', 0);
  Agent& member = scene.agent('b', 1);
  scene.until([&] { return !leader.heard.refusals.empty() && !member.heard.refusals.empty(); });
  CHECK(leader.heard.refusals[0].code == Errc::bad_config);
  CHECK_THAT(member.heard.refusals[0].message, ContainsSubstring("this is no folder"));
}

}  // namespace
}  // namespace safelaunch::agree
