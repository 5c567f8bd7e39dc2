#include "safelaunch/profile/remembered.h"

#include <sys/stat.h>

#include <filesystem>

#include "catch.h"
#include "temporary_folder.h"

using namespace safelaunch;

using namespace safelaunch::profile;
using namespace std::chrono_literals;
using safelaunch::testing::TemporaryFolder;

namespace {

constexpr WallTime kNow{std::chrono::seconds(1'800'000'000)};

HostKey key(const char* host = "h") {
  return {host, {"H100", "H100"}, "560.1", "2.29.7", "/usr/bin/python3"};
}

Memory one(const char* profile = "no-shm", WallTime when = kNow) {
  return {{key(), profile, when}};
}

}  // namespace

TEST_CASE("what worked last is recalled for a week", "[remembered]") {
  CHECK(recall(one(), key(), "", kNow)->profile == "no-shm");
  CHECK(recall(one(), key(), "", kNow + 167h)->profile == "no-shm");
  CHECK(recall(one(), key(), "", kNow + 168h) == std::nullopt);
  CHECK(recall({}, key(), "", kNow) == std::nullopt);
}

TEST_CASE("a success in the future proves nothing", "[remembered]") {
  CHECK(recall(one("no-shm", kNow + 1h), key(), "", kNow) == std::nullopt);
}

TEST_CASE("another host, GPU, driver, NCCL or Python is another key", "[remembered]") {
  HostKey other = key();
  SECTION("host") {
    other.hostname = "x";
  }
  SECTION("GPUs") {
    other.gpus.pop_back();
  }
  SECTION("driver") {
    other.driver = "570";
  }
  SECTION("NCCL") {
    other.nccl = "2.30";
  }
  SECTION("Python") {
    other.python = "/venv/bin/python";
  }
  CHECK(recall(one(), other, "", kNow) == std::nullopt);
}

TEST_CASE("a new success takes the place of the old one and drops what is stale", "[remembered]") {
  Memory memory{{key(), "basic", kNow - 1h},
                {key("stale"), "basic", kNow - 200h},
                {key("other"), "debug", kNow - 2h}};

  memory = remember(std::move(memory), {key(), "no-shm", kNow});

  CHECK(memory == Memory{{key("other"), "debug", kNow - 2h}, {key(), "no-shm", kNow}});
}

TEST_CASE("what costs much speed is remembered for its script alone", "[remembered]") {
  Memory memory = remember({{key(), "no-shm", kNow - 1h}}, {key(), "gloo-fallback", kNow, "a.py"});
  CHECK(recall(memory, key(), "a.py", kNow)->profile == "gloo-fallback");
  CHECK(recall(memory, key(), "b.py", kNow)->profile == "no-shm");
  memory = forget(std::move(memory), key(), "b.py");
  CHECK(recall(memory, key(), "b.py", kNow) == std::nullopt);
  CHECK(recall(memory, key(), "a.py", kNow)->profile == "gloo-fallback");
}

TEST_CASE("what is forgotten is not recalled, and the rest is", "[remembered]") {
  const Memory memory = forget({{key(), "basic", kNow}, {key("b"), "debug", kNow}}, key(), "");

  CHECK(recall(memory, key(), "", kNow) == std::nullopt);
  CHECK(recall(memory, key("b"), "", kNow)->profile == "debug");
}

TEST_CASE("the memory does not grow without end", "[remembered]") {
  Memory memory;
  for (int i = 0; i < 1000; ++i)
    memory = remember(std::move(memory), {key(std::to_string(i).c_str()), "basic", kNow});

  CHECK(memory.size() == 256);
  CHECK(recall(memory, key("999"), "", kNow)->profile == "basic");
}

TEST_CASE("a memory that is written reads back as the same", "[remembered]") {
  const Memory memory{{key(), "no-shm", kNow, "a.py"},
                      {{"ü \"x\"\n", {}, "", "", ""}, "p", kNow - 1s}};

  CHECK(parse_memory(format_memory(memory)) == memory);
  CHECK(parse_memory(format_memory({})) == Memory{});
}

TEST_CASE("what is no memory of ours is refused and never throws", "[remembered]") {
  const std::string good = format_memory(one());
  for (std::size_t cut = 0; cut + 2 < good.size(); ++cut) {
    INFO(cut);
    CHECK(parse_memory(good.substr(0, cut)) == std::nullopt);
  }
  for (const char* text :
       {"", "null", "[]", "{}", "{\"version\":2,\"worked\":[]}", "{\"version\":1}",
        "{\"version\":1,\"worked\":{}}", "{\"version\":1,\"worked\":[1]}",
        "{\"version\":1,\"worked\":[{\"host\":1}]}", "{\"version\":\"1\",\"worked\":[]}",
        "\xff\xfe"}) {
    INFO(text);
    CHECK(parse_memory(text) == std::nullopt);
  }
  CHECK(parse_memory(std::string(90'000, '[')) == std::nullopt);
}

TEST_CASE("the memory's file is where XDG wants it", "[remembered]") {
  CHECK(memory_file({{"XDG_STATE_HOME", "/s"}, {"HOME", "/h"}}) == "/s/safelaunch/worked.json");
  const TemporaryFolder home;
  CHECK(memory_file({{"HOME", home / ""}}) == home / "/.local/state/safelaunch/worked.json");
  CHECK(memory_file({}).empty());
}

TEST_CASE("a memory is saved for us alone and loaded again", "[remembered]") {
  const TemporaryFolder folder;
  const std::string path = folder / "state/safelaunch/worked.json";

  REQUIRE(save_memory(path, one()).has_value());
  CHECK(load_memory(path) == one());
  REQUIRE(save_memory(path, one("debug")).has_value());
  CHECK(load_memory(path) == one("debug"));

  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  REQUIRE(stat((folder / "state/safelaunch").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  const std::filesystem::directory_iterator files(folder / "state/safelaunch");
  CHECK(std::distance(begin(files), end(files)) == 1);
}

TEST_CASE("a damaged memory counts as empty and is moved aside", "[remembered]") {
  const TemporaryFolder folder;
  const std::string path = folder.write("worked.json", "{\"version\":1,\"wor");

  CHECK(load_memory(path).empty());
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(std::filesystem::exists(path + ".bad"));
  CHECK(load_memory(path).empty());
}

TEST_CASE("a memory that others can write to counts as empty", "[remembered]") {
  const TemporaryFolder folder;
  const std::string path = folder.write("worked.json", format_memory(one()), 0666);

  CHECK(load_memory(path).empty());
}

TEST_CASE("a memory that cannot be saved is an error and leaves nothing behind", "[remembered]") {
  const TemporaryFolder folder;
  folder.write("state", "a file where a folder should be");

  CHECK(save_memory(folder / "state/worked.json", one()).has_error());
  CHECK(save_memory({}, one()).has_value());
}

TEST_CASE("an entry that lacks a field, or has one of another type, spoils the whole memory",
          "[remembered]") {
  const std::string good =
      R"({"host":"h","gpus":["g"],"driver":"d","nccl":"n","python":"p","profile":"x","time":1})";
  const auto parsed = [](const std::string& entries) {
    return parse_memory("{\"version\":1,\"worked\":[" + entries + "]}");
  };
  REQUIRE(parsed(good));
  CHECK(parsed(good)->size() == 1);
  CHECK(parsed(good)->front().job.empty());
  for (const char* field : {"host", "gpus", "driver", "nccl", "python", "profile", "time"}) {
    std::string lacking = good;
    lacking.replace(lacking.find(std::string("\"") + field + "\""), 2, "\"_");
    INFO(lacking);
    CHECK_FALSE(parsed(lacking));
    CHECK_FALSE(parsed(good + "," + lacking));
  }
  for (const char* damaged :
       {R"({"host":1,"gpus":["g"],"driver":"d","nccl":"n","python":"p","profile":"x","time":1})",
        R"({"host":"h","gpus":"g","driver":"d","nccl":"n","python":"p","profile":"x","time":1})",
        R"({"host":"h","gpus":[1],"driver":"d","nccl":"n","python":"p","profile":"x","time":1})",
        R"({"host":"h","gpus":[],"driver":"d","nccl":"n","python":"p","profile":"x","time":"1"})",
        "1", "null", "[]"}) {
    INFO(damaged);
    CHECK_FALSE(parsed(damaged));
  }
}

TEST_CASE("a memory of another version, or none at all, is no memory", "[remembered]") {
  for (const char* text :
       {R"({"version":2,"worked":[]})", R"({"version":"1","worked":[]})", R"({"worked":[]})",
        R"({"version":1})", R"({"version":1,"worked":{}})", "[]", "", "{", "null"}) {
    INFO(text);
    CHECK_FALSE(parse_memory(text));
  }
  CHECK(parse_memory(R"({"version":1,"worked":[],"more":true})")->empty());
}

TEST_CASE("a memory that cannot be put where it belongs says what could not be done",
          "[remembered]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "x");
  CHECK(save_memory(file + "/worked.json", {}).error().message.starts_with("cannot make " + file));
  std::filesystem::create_directory(folder / "worked.json");
  folder.write("worked.json/x", "");
  CHECK(save_memory(folder / "worked.json", {}).error().message ==
        "cannot replace " + folder / "worked.json" + ": Is a directory");
  CHECK(save_memory("", {}).has_value());
  std::size_t left = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / ".")) {
    (void)entry;
    ++left;
  }
  CHECK(left == 2);  // the file and the folder: no temporary one
}
