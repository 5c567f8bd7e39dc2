// Our own main, without Catch2's signal handlers: tests send themselves signals on purpose.
#define CATCH_CONFIG_RUNNER
#define CATCH_CONFIG_NO_POSIX_SIGNALS
#include "catch.h"
#include "own_folders.h"

int main(int argc, char** argv) {
  const safelaunch::testing::OwnFolders folders;
  return Catch::Session().run(argc, argv);
}
