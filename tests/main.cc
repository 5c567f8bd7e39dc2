// Our own main, without Catch2's signal handlers: tests send themselves signals on purpose.
#define CATCH_CONFIG_RUNNER
#define CATCH_CONFIG_NO_POSIX_SIGNALS
#include "catch.h"

int main(int argc, char** argv) {
  return Catch::Session().run(argc, argv);
}
