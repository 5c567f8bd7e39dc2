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

TEST_CASE("names of functions are told as Python's own frames tell them", "[py_spy]") {
  const auto function = [](const std::string& name) {
    const auto threads = read_dump(
        R"([{"frames": [{"name": ")" + name + R"(", "filename": "a.py", "line": 1}]}])", 4);
    REQUIRE(threads);
    return threads->front().frames.front();
  };
  CHECK(function("run") == "a.py:1 run");
  CHECK(function("Trainer.run") == "a.py:1 run");
  CHECK(function("outer.<locals>.<lambda>") == "a.py:1 <lambda>");
  CHECK(function("") == "a.py:1 ");
}

TEST_CASE("fields of a dump that are missing or of another type read as empty", "[py_spy]") {
  const auto threads = read_dump(R"([
    {},
    {"thread_name": 7, "os_thread_id": "x", "frames": {}},
    {"thread_name": "T", "frames": [3, null, [], {}, {"name": 1, "filename": 2, "line": "x"},
                                    {"name": "f", "filename": "a.py", "line": 1e9}]},
    [], 3, null, "x"])",
                                 4);
  REQUIRE(threads);
  REQUIRE(threads->size() == 3);
  CHECK((*threads)[0].name == "0");
  CHECK((*threads)[1].name == "0");
  CHECK((*threads)[1].frames.empty());
  CHECK((*threads)[2].frames == std::vector<std::string>{"a.py:0 f", ":0 ", ":0 "});
}

TEST_CASE("threads keep their order but for the main thread, which is put in front", "[py_spy]") {
  const auto threads = read_dump(R"([{"thread_name": "a", "os_thread_id": 5},
                                     {"thread_name": "b", "os_thread_id": 6},
                                     {"thread_name": "main", "os_thread_id": 4}])",
                                 4);
  REQUIRE(threads);
  std::string names;
  for (const auto& thread : *threads) names += thread.name + " ";
  CHECK(names == "main a b ");
}

TEST_CASE("a dump that was cut anywhere is none", "[py_spy]") {
  const std::string whole = R"([{"thread_name": "a", "os_thread_id": 5, "frames": []}])";
  for (std::size_t size = 0; size < whole.size(); ++size)
    if (read_dump(whole.substr(0, size), 5)) FAIL("read " << whole.substr(0, size));
  CHECK(read_dump(whole, 5));
}
