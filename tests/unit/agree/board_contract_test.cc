// The promises of board.h, for every backend.
#include <algorithm>

#include "board_backends.h"
#include "board_scene.h"

namespace safelaunch::agree {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::Agent;
using testing::Scene;
using testing::short_terms;

TEMPLATE_TEST_CASE("a seat has one holder; who wants it too is told who has it", "[board]",
                   SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene;
  if (!scene.can_run()) return;
  Agent& first = scene.seated('a', 0);
  CHECK(first.heard.seats.back().number == 0);

  Agent& second = scene.agent('b', 0);
  scene.until([&] { return !second.heard.parked_by.empty(); });

  CHECK_THAT(second.heard.parked_by.back(), ContainsSubstring("host-a"));
  scene.a_while(first);
  CHECK(second.heard.seats.empty());
  CHECK(second.heard.confirmations.empty());
  CHECK(first.heard.unseatings.empty());
}

TEMPLATE_TEST_CASE("agents that want any seat get one each, and one too many is parked", "[board]",
                   SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene(testing::patient(), 3);
  if (!scene.can_run()) return;
  Agent& leader = scene.seated('a', 0);
  Agent& one = scene.seated('b', std::nullopt);
  Agent& two = scene.seated('c', std::nullopt);
  std::set<int> seats{0, one.heard.seats.back().number, two.heard.seats.back().number};
  CHECK(seats == std::set<int>{0, 1, 2});
  CHECK(one.heard.seats.back().generation == leader.heard.seats.back().generation);

  Agent& spare = scene.agent('d', std::nullopt);
  scene.until([&] { return !spare.heard.parked_by.empty(); });
  scene.leave(one);
  scene.until([&] { return !spare.heard.seats.empty(); });
  CHECK(spare.heard.seats.back().number == one.heard.seats.back().number);
}

TEMPLATE_TEST_CASE("whoever leaves frees the seat at once, however long the lease is", "[board]",
                   SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene;
  if (!scene.can_run()) return;
  Agent& leader = scene.seated('a', 0);
  Agent& member = scene.seated('b', 1);
  scene.until([&] { return leader.heard.heard_of("host-b", ""); });
  Agent& spare = scene.agent('c', 1);
  scene.until([&] { return !spare.heard.parked_by.empty(); });

  scene.leave(member);

  scene.until([&] { return !spare.heard.seats.empty() && leader.heard.heard_of("host-c", ""); });
  CHECK(leader.heard.vacancies == std::vector{1});
}

TEMPLATE_TEST_CASE("an agent may leave while what it says is on its way", "[board][bug]",
                   SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene;
  if (!scene.can_run()) return;
  for (int steps = 0; steps < 12; ++steps) {
    INFO("after " << steps << " steps of the event loop");
    Agent& leader = scene.seated('a', 0);
    for (int step = 0; step < steps; ++step) {
      leader.board->publish(std::string(5'000, 'z'));
      scene.io.run_one_for(Duration{20});
    }
    scene.leave(leader);
  }
}

TEMPLATE_TEST_CASE("a silent holder's seat becomes free, and the leader is told", "[board]",
                   SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene(short_terms());
  if (!scene.can_run()) return;
  Agent& leader = scene.seated('a', 0);
  Agent& member = scene.seated('b', 1);
  member.board->publish("works");
  scene.until([&] { return leader.heard.heard_of("host-b", "works"); });

  const TimePoint last = member.heard.confirmations.back();
  member.board.reset();

  scene.until([&] { return !leader.heard.vacancies.empty(); });
  CHECK(Clock::now() >= last + short_terms().lease);
  CHECK(leader.heard.vacancies == std::vector{1});
  Agent& next = scene.seated('c', 1);
  CHECK(next.heard.seats.back().number == 1);
  scene.until([&] { return leader.heard.heard_of("host-c", ""); });
}

TEMPLATE_TEST_CASE("words come in order, to all, and to a late one the newest alone", "[board]",
                   SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene(testing::patient(), 3);
  if (!scene.can_run()) return;
  Agent& leader = scene.seated('a', 0);
  Agent& member = scene.seated('b', 1);
  for (std::uint64_t number = 1; number <= 5; ++number)
    leader.say("word " + std::to_string(number), number);

  scene.until(
      [&] { return member.heard.heard_word("word 5") && leader.heard.heard_word("word 5"); });
  const auto ascending = [](const Word& one, const Word& other) {
    return one.number < other.number;
  };
  CHECK(std::is_sorted(member.heard.words.begin(), member.heard.words.end(), ascending));
  CHECK(member.heard.words.back().generation == leader.heard.seats.back().generation);

  Agent& late = scene.seated('c', 2);
  scene.until([&] { return !late.heard.words.empty(); });
  REQUIRE(late.heard.words.size() == 1);
  CHECK(late.heard.words[0] == member.heard.words.back());
}

TEMPLATE_TEST_CASE("a word that is not the next one is refused, and reaches nobody", "[board]",
                   SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene;
  if (!scene.can_run()) return;
  Agent& leader = scene.seated('a', 0);
  Agent& member = scene.seated('b', 1);
  leader.say("first", 1);
  scene.until([&] { return member.heard.heard_word("first"); });

  leader.say("third", 3);

  scene.until([&] { return !leader.heard.unseatings.empty(); });
  scene.a_while(member);
  CHECK(member.heard.heard_word("first"));
  CHECK(leader.heard.wrong_confirmations == 0);
}

TEMPLATE_TEST_CASE("a parked agent hears the words too", "[board]", SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene;
  if (!scene.can_run()) return;
  Agent& leader = scene.seated('a', 0);
  scene.seated('b', 1);
  leader.say("before", 1);
  scene.until([&] { return leader.heard.heard_word("before"); });
  Agent& spare = scene.agent('c', 1);
  scene.until([&] { return spare.heard.heard_word("before"); });
  leader.say("after", 2);
  scene.until([&] { return spare.heard.heard_word("after"); });
  CHECK(spare.heard.seats.empty());
}

TEMPLATE_TEST_CASE("a word that is said twice is taken once", "[board]", SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene;
  if (!scene.can_run()) return;
  Agent& leader = scene.seated('a', 0);
  Agent& member = scene.seated('b', 1);
  leader.say("first", 1);
  leader.say("first", 1);
  scene.until([&] { return leader.heard.heard_word("first"); });
  leader.say("first", 1);
  leader.say("second", 2);
  scene.until([&] { return member.heard.heard_word("second"); });
  CHECK(leader.heard.unseatings.empty());
  CHECK(member.heard.words.size() <= 2);
}

TEMPLATE_TEST_CASE("a word of a member is refused, and reaches nobody", "[board]",
                   SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene;
  if (!scene.can_run()) return;
  Agent& leader = scene.seated('a', 0);
  Agent& member = scene.seated('b', 1);
  member.say("of a member", 1);
  scene.until([&] { return !member.heard.unseatings.empty(); });
  leader.say("of the leader", 1);
  scene.until([&] { return leader.heard.heard_word("of the leader"); });
  CHECK(leader.heard.words.size() == 1);
}

TEMPLATE_TEST_CASE("all hear that the leader is gone, and its last word before that", "[board]",
                   SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene(short_terms());
  if (!scene.can_run()) return;
  if (TestType::kLeaderKeepsBoard) return;  // the board is gone with its leader
  Agent& leader = scene.seated('a', 0);
  Agent& member = scene.seated('b', 1);
  Agent& spare = scene.agent('c', 1);
  scene.until([&] { return !spare.heard.parked_by.empty(); });
  leader.say("end", 1);
  scene.until([&] { return leader.heard.heard_word("end"); });
  SECTION("where it leaves") {
    scene.leave(leader);
  }
  SECTION("where it is not heard of any more") {
    leader.board.reset();
  }

  scene.until([&] { return !member.heard.vacancies.empty() && !spare.heard.vacancies.empty(); });
  CHECK(member.heard.vacancies == std::vector{0});
  CHECK(member.heard.heard_word("end"));
  CHECK(member.heard.unseatings.empty());
  Agent& late = scene.agent('d', 1);
  scene.until([&] { return !late.heard.parked_by.empty(); });
  scene.a_while(member);
  CHECK(late.heard.words.empty());
}

TEMPLATE_TEST_CASE("a member that comes while there is no leader hears that", "[board]",
                   SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene;
  if (!scene.can_run()) return;
  if (TestType::kLeaderKeepsBoard) return;  // then there is no board
  Agent& member = scene.seated('b', 1);
  scene.until([&] { return member.heard.vacancies == std::vector{0}; });
  Agent& leader = scene.seated('a', 0);
  leader.say("go", 1);
  scene.until([&] { return member.heard.heard_word("go"); });
}

TEMPLATE_TEST_CASE("a new leader goes on from the last word of the one before", "[board]",
                   SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene(testing::patient(), 3);
  if (!scene.can_run()) return;
  if (TestType::kLeaderKeepsBoard) return;  // the board is gone with its leader
  Agent& first = scene.seated('a', 0);
  Agent& member = scene.seated('b', 1);
  first.say("of the first", 1);
  scene.until([&] { return member.heard.heard_word("of the first"); });
  member.board->publish("is there");
  scene.leave(first);

  Agent& second = scene.seated('c', 0);
  CHECK(second.heard.seats.back().generation > first.heard.seats.back().generation);
  scene.until([&] { return second.heard.heard_word("of the first"); });
  scene.until([&] { return second.heard.heard_of("host-b", "is there"); });
  second.say("of the second", 2);
  scene.until([&] { return member.heard.heard_word("of the second"); });
  CHECK(member.heard.words.back().generation == second.heard.seats.back().generation);
}

TEMPLATE_TEST_CASE("the leader hears the newest standing of each member, and none of its own",
                   "[board]", SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene(testing::patient(), 3);
  if (!scene.can_run()) return;
  Agent& leader = scene.seated('a', 0);
  leader.board->publish("of the leader");
  Agent& one = scene.seated('b', 1);
  Agent& two = scene.seated('c', 2);
  for (int i = 1; i <= 50; ++i) one.board->publish(std::to_string(i));
  two.board->publish(std::string(kLongestText, 'x'));

  scene.until([&] {
    return leader.heard.heard_of("host-b", "50") &&
           leader.heard.heard_of("host-c", std::string(kLongestText, 'x'));
  });
  int newest = 0;
  for (const Standing& standing : leader.heard.standings) {
    CHECK(standing.seat != 0);
    if (standing.seat != 1 || standing.text.empty()) continue;
    CHECK(standing.incarnation == std::string(32, 'b'));
    CHECK(std::stoi(standing.text) >= newest);
    newest = std::stoi(standing.text);
  }
  CHECK(one.heard.standings.empty());
}

TEMPLATE_TEST_CASE("an agent whose client starts anew gets its own seat back", "[board]",
                   SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene;
  if (!scene.can_run()) return;
  Agent& leader = scene.seated('a', 0);
  Agent& member = scene.seated('b', 1);
  leader.say("go on", 1);
  scene.until([&] { return member.heard.heard_word("go on"); });
  member.board.reset();

  Agent& again = scene.seated('b', 1);
  scene.until([&] { return again.heard.heard_word("go on"); });
  again.board->publish("is back");
  scene.until([&] { return leader.heard.heard_of("host-b", "is back"); });
  CHECK(leader.heard.vacancies.empty());
}

TEMPLATE_TEST_CASE("another start of an agent on the same node waits until the seat is free",
                   "[board]", SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene(short_terms());
  if (!scene.can_run()) return;
  Agent& leader = scene.seated('a', 0);
  Agent& killed = scene.seated('b', 1);
  killed.board.reset();

  Agent& again = scene.agent('c', 1, {}, [](Claim& claim) { claim.host = "host-b"; });
  scene.until([&] { return !again.heard.parked_by.empty(); });
  CHECK(again.heard.seats.empty());
  scene.until([&] { return !again.heard.confirmations.empty(); });
  CHECK(again.heard.wrong_confirmations == 0);
  scene.until([&] { return !leader.heard.vacancies.empty(); });
}

TEMPLATE_TEST_CASE("an agent with another token, other terms or another number of nodes is refused",
                   "[board]", SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene;
  if (!scene.can_run()) return;
  Agent& leader = scene.seated('a', 0);
  Agent& stranger =
      scene.agent('b', 1, [](BoardConfig& config) { config.token = "another token than theirs"; });
  Agent& hasty =
      scene.agent('c', 1, [](BoardConfig& config) { config.terms.lease = Duration{5'000}; });
  Agent& miscounted = scene.agent('d', 1, {}, [](Claim& claim) { claim.seats = 3; });

  scene.until([&] {
    return !stranger.heard.refusals.empty() && !hasty.heard.refusals.empty() &&
           !miscounted.heard.refusals.empty();
  });
  CHECK_THAT(stranger.heard.refusals[0].message, ContainsSubstring("token"));
  CHECK_THAT(hasty.heard.refusals[0].message, ContainsSubstring("lease"));
  CHECK_THAT(miscounted.heard.refusals[0].message, ContainsSubstring("nodes"));
  CHECK(leader.heard.unseatings.empty());
  CHECK(leader.heard.standings.empty());
  Agent& member = scene.seated('e', 1);
  CHECK(member.heard.seats.back().number == 1);
}

TEMPLATE_TEST_CASE("an agent of another job gets no seat of this one", "[board]",
                   SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene;
  if (!scene.can_run()) return;
  Agent& leader = scene.seated('a', 0);
  Agent& other = scene.agent('b', 1, {}, [](Claim& claim) { claim.job += "-of-others"; });
  scene.until([&] {
    return !other.heard.refusals.empty() || !other.heard.seats.empty() ||
           !other.heard.failures.empty();
  });
  leader.say("for job 7", 1);
  scene.a_while(leader);
  CHECK(leader.heard.standings.empty());
  CHECK(other.heard.words.empty());
}

TEMPLATE_TEST_CASE("a whole round: a leader, three members, two attempts, the end", "[board]",
                   SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene(testing::patient(), 4);
  if (!scene.can_run()) return;
  Agent& leader = scene.seated('a', 0);
  std::vector<Agent*> members{&scene.seated('b', 1), &scene.seated('c', 2), &scene.seated('d', 3)};
  const auto all = [&](auto test) { return std::all_of(members.begin(), members.end(), test); };
  std::uint64_t number = 0;
  for (const std::string word : {"go 1", "stop 1", "go 2", "end"}) {
    leader.say(word, ++number);
    scene.until([&] { return all([&](Agent* one) { return one->heard.heard_word(word); }); });
    for (Agent* one : members) one->board->publish("has heard " + word);
    scene.until([&] {
      return all(
          [&](Agent* one) { return leader.heard.heard_of(one->claim.host, "has heard " + word); });
    });
  }
  for (Agent* one : members) scene.leave(*one);
  scene.until([&] { return leader.heard.vacancies.size() == 3; });
  scene.leave(leader);
  for (Agent* one : members) CHECK(one->heard.wrong_confirmations == 0);
  CHECK(leader.heard.wrong_confirmations == 0);
  CHECK(scene.backend.is_clean(scene.job));
}

TEMPLATE_TEST_CASE("the next run of a job hears no word of one that ended in order", "[board]",
                   SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene;
  if (!scene.can_run()) return;
  Agent& former = scene.seated('a', 0);
  former.say("end", 1);
  scene.until([&] { return former.heard.heard_word("end"); });
  scene.leave(former);

  Agent& member = scene.agent('d', 1);
  Agent& leader = scene.seated('c', 0);
  scene.until([&] { return !member.heard.confirmations.empty(); });
  scene.a_while(leader);
  CHECK(leader.heard.seats.back().generation > former.heard.seats.back().generation);
  CHECK(leader.heard.words.empty());
  CHECK(member.heard.words.empty());
  leader.say("anew", 1);
  scene.until([&] { return member.heard.heard_word("anew"); });
}

TEMPLATE_TEST_CASE("the members of the next run hear no word of one that was killed", "[board]",
                   SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene(short_terms());
  if (!scene.can_run()) return;
  Agent& former = scene.seated('a', 0);
  Agent& other = scene.seated('b', 1);
  former.say("go", 1);
  scene.until([&] { return other.heard.heard_word("go"); });
  former.board.reset();
  other.board.reset();

  Agent& member = scene.agent('d', 1);
  Agent& leader = scene.seated('c', 0);
  scene.until([&] { return !member.heard.confirmations.empty(); });
  scene.a_while(leader);
  CHECK(leader.heard.seats.back().generation > former.heard.seats.back().generation);
  // While its leases last it is not known that the former run is over: its last word is inherited.
  leader.say("anew", leader.heard.words.empty() ? 1 : leader.heard.words.back().number + 1);
  scene.until([&] { return member.heard.heard_word("anew"); });
  for (const Word& word : member.heard.words_with_seat) CHECK(word.text == "anew");
  // On a machine that stops for longer than the lease it is seated again, and hears it again.
  CHECK(member.heard.words_with_seat.size() <= member.heard.seats.size());
}

TEMPLATE_TEST_CASE("what a killed run left does not block one with another number of nodes",
                   "[board]", SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene(short_terms());
  if (!scene.can_run()) return;
  scene.seated('a', 0).board.reset();
  Agent& alone = scene.agent('b', 0, {}, [](Claim& claim) { claim.seats = 1; });
  scene.until([&] { return !alone.heard.confirmations.empty(); });
  CHECK(alone.heard.refusals.empty());
  scene.leave(alone);
  CHECK(scene.backend.is_clean(scene.job));
}

}  // namespace
}  // namespace safelaunch::agree
