#include "safelaunch/ranks/attempt_place.h"

#include "catch.h"
#include "temporary_folder.h"

using namespace safelaunch;
using namespace safelaunch::ranks;
using safelaunch::testing::TemporaryFolder;

namespace {

/// The second attempt of a run whose folder is the test's.
struct Wanted {
  TemporaryFolder folder;
  PlaceWanted wanted;

  Wanted() {
    wanted.environment = {{"XDG_CACHE_HOME", folder / "cache"}};
    wanted.run = *report::RunDirectory::create(folder / "run", "id", wanted.environment);
    wanted.number = 2;
    wanted.profile = "no-p2p";
  }
};

}  // namespace

TEST_CASE("an attempt finds its folder, its hook and a door of its own", "[attempt_place]") {
  Wanted attempt;
  const AttemptPlace place = make_place(attempt.wanted);
  CHECK(place.directory.filename() == "attempt-2-no-p2p");
  CHECK(std::filesystem::is_directory(place.directory));
  REQUIRE(place.hook.has_value());
  CHECK(std::filesystem::is_directory(place.hook->hook));
  CHECK(place.nccl.directory == place.directory);
  CHECK(place.trouble.empty());
  CHECK(make_place(attempt.wanted).hook->token != place.hook->token);
}

TEST_CASE("where neither hook nor plugin is wanted none is installed", "[attempt_place]") {
  Wanted attempt;
  attempt.wanted.guests = {.hook = false, .plugin = false};
  const AttemptPlace place = make_place(attempt.wanted);
  CHECK_FALSE(place.hook.has_value());
  CHECK(place.trouble.empty());
  CHECK_FALSE(std::filesystem::exists(attempt.folder / "cache"));
}

TEST_CASE("without a cache the hook is installed in the run's folder", "[attempt_place]") {
  Wanted attempt;
  attempt.wanted.environment.clear();
  const AttemptPlace place = make_place(attempt.wanted);
  REQUIRE(place.hook.has_value());
  CHECK(place.hook->hook.native().starts_with(attempt.folder / "run"));
}

TEST_CASE("a hook that can be installed nowhere is told, and the job runs all the same",
          "[attempt_place]") {
  Wanted attempt;
  attempt.wanted.run = {};
  attempt.wanted.environment.clear();
  const AttemptPlace place = make_place(attempt.wanted);
  CHECK_FALSE(place.hook.has_value());
  CHECK_FALSE(place.trouble.empty());
  CHECK(place.directory.empty());
}
