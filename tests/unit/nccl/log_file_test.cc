#include "catch.h"
#include "safelaunch/nccl/log_follower.h"

using namespace safelaunch;

using namespace safelaunch::nccl;

TEST_CASE("NCCL_DEBUG_FILE is a folder and a name", "[nccl]") {
  const auto file = parse_nccl_log_file("/tmp/50%%/nccl.%h.%p");
  REQUIRE(file);
  CHECK(file->directory == "/tmp/50%");
  CHECK(file->name == "nccl.%h.%p");
  CHECK(parse_nccl_log_file("nccl.log")->directory == ".");
  CHECK(parse_nccl_log_file("/nccl.log")->directory == "/");
}

TEST_CASE("what is no file, or in a folder that nobody can know, is not read", "[nccl]") {
  for (const char* value :
       {"", "stdout", "stderr", "/dev/stderr", "/tmp/%h/nccl.%p", "/tmp/logs/"}) {
    INFO(value);
    CHECK_FALSE(parse_nccl_log_file(value));
  }
}

TEST_CASE("a folder with a per cent sign survives NCCL's reading", "[nccl]") {
  CHECK(escape_for_nccl("/tmp/50%p") == "/tmp/50%%p");
  CHECK(parse_nccl_log_file(escape_for_nccl("/tmp/50%p") + "/n.%p")->directory == "/tmp/50%p");
}

TEST_CASE("files that NCCL makes from a name are told from others", "[nccl]") {
  CHECK(is_nccl_log("nccl.node7.4711", "nccl.%h.%p"));
  CHECK(is_nccl_log("nccl.node7.example.4711", "nccl.%h.%p"));
  CHECK(is_nccl_log("4711-a", "%p-a"));
  CHECK(is_nccl_log("100%", "100%%"));
  CHECK(is_nccl_log("nccl.log", "nccl.log"));
  CHECK_FALSE(is_nccl_log("nccl.node7.", "nccl.%h.%p"));
  CHECK_FALSE(is_nccl_log("nccl.node7.4711.gz", "nccl.%h.%p"));
  CHECK_FALSE(is_nccl_log("rank-0.out", "nccl.%h.%p"));
}

TEST_CASE("a name with many hosts in it costs no more time", "[nccl]") {
  std::string name;
  for (int i = 0; i < 60; ++i) name += "%h";
  CHECK_FALSE(is_nccl_log(std::string(255, 'a') + "!", name + "?"));
}
