#include "launcher/stacks/py_spy.h"

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::stacks;

TEST_CASE("py-spy's dump is read, the main thread first and its innermost frame last", "[py_spy]") {
  const auto threads = read_dump(R"([
    {"pid": 4, "thread_name": null, "os_thread_id": 9, "frames": []},
    {"pid": 4, "thread_name": "MainThread", "os_thread_id": 4, "frames": [
      {"name": "never", "filename": "/a/h.py", "line": 3},
      {"name": "Trainer.<locals>.run", "filename": "/a/h.py", "line": 4},
      {"name": "<module>", "filename": "/a/h.py", "line": 9}]}])",
                                 4);
  REQUIRE(threads);
  REQUIRE(threads->size() == 2);
  CHECK(threads->front().name == "MainThread");
  CHECK(threads->front().frames ==
        std::vector<std::string>{"/a/h.py:9 <module>", "/a/h.py:4 run", "/a/h.py:3 never"});
  CHECK(threads->back().name == "9");
}

TEST_CASE("what is no dump is none", "[py_spy]") {
  CHECK_FALSE(read_dump("", 4));
  CHECK_FALSE(read_dump("Permission Denied", 4));
  CHECK(read_dump("[3]", 4)->empty());
}
