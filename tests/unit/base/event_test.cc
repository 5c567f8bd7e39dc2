#include "safelaunch/base/event.h"

#include <set>

#include "catch.h"

using namespace safelaunch;

TEST_CASE("every stage has a name of its own, by which it is read back", "[event]") {
  std::set<std::string> names;
  for (int i = 0; i < kStageCount; ++i) {
    const auto stage = static_cast<Stage>(i);
    CHECK(stage_named(name(stage)) == stage);
    names.insert(name(stage));
  }
  CHECK(names == std::set<std::string>{"spawned", "imported", "rendezvous", "group", "communicator",
                                       "collective"});
}

TEST_CASE("a word that is no stage is none, however near it is", "[event]") {
  for (const char* word : {"", "?", "Group", "group ", "groups", "collectiv", "7"})
    CHECK_FALSE(stage_named(word));
}

TEST_CASE("every activity has the word of docs/stages.md", "[event]") {
  std::vector<std::string> words;
  for (int i = 0; i <= static_cast<int>(Activity::unseen); ++i)
    words.emplace_back(name(static_cast<Activity>(i)));
  CHECK(words == std::vector<std::string>{"dead", "stopped", "quiet", "idling", "working",
                                          "attended", "unseen"});
}

TEST_CASE("ranks are ordered by their numbers", "[event]") {
  CHECK(Rank{2} < Rank{10});
  CHECK(Rank{2} == Rank{2});
}
