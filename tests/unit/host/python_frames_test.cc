#include "safelaunch/host/python_frames.h"

#include <unistd.h>

#include "catch.h"

using namespace safelaunch;

// Real Pythons are read by tests/integration/test_python_frames.py.
TEST_CASE("what is no Python has no frames, and a process that is not there has none either") {
  CHECK(host::python_frames(getpid()).empty());
  CHECK(host::python_frames(0).empty());
}
