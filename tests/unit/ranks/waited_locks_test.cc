#include "catch.h"
#include "safelaunch/ranks/stall_watch.h"
#include "unit/host/left_folder.h"

using namespace safelaunch;

using namespace safelaunch::ranks;
using safelaunch::testing::LeftFolder;

TEST_CASE("a build that was cut off is told from one that has left its library", "[waited_locks]") {
  const LeftFolder folder;
  const std::string lock = folder.add("cpu_adam/lock");
  folder.add("cpu_adam/build.ninja");
  folder.add("cpu_adam/cpu_adam.o");
  CHECK_FALSE(has_built_extension(lock));
  folder.add("cpu_adam/cpu_adam.so");
  CHECK(has_built_extension(lock));
}
