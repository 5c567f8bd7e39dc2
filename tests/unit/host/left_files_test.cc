#include "safelaunch/host/left_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "catch.h"
#include "child.h"
#include "left_folder.h"

using namespace safelaunch;

using namespace safelaunch::host;
using namespace safelaunch::testing;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> paths_of(const std::vector<host::LeftFile>& files) {
  std::vector<std::string> paths;
  for (const host::LeftFile& file : files) paths.push_back(file.path);
  return paths;
}

}  // namespace

TEST_CASE("shared memory has a size and its plain files", "[left_files]") {
  LeftFolder folder;
  const std::string segment = folder.add("nccl-abc", "data");
  fs::create_symlink("/etc/passwd", folder.path() + "/torch_link");
  const host::SharedMemory memory = host::read_shared_memory(folder.path());
  CHECK(memory.bytes > 0);
  CHECK(paths_of(memory.files) == std::vector{segment});
  CHECK(memory.files[0].uid == ::geteuid());
}

TEST_CASE("what is not there has no size", "[left_files]") {
  CHECK(host::read_shared_memory("/proc/nonexistent").bytes == 0);
}

TEST_CASE("segments of jobs are known by the beginnings of their names", "[left_files]") {
  for (const char* name :
       {"nccl-vR6Fzi", "torch_71_3202371123_0", "deepspeed_allreduce_buffer_0_127.0.0.1_29500_1"})
    CHECK(host::maker_of(std::string("/dev/shm/") + name) == host::SegmentMaker::one_job);
  for (const char* name : {"psm_1a2b3c4d", "sem.mp-x7_qa0zz"})
    CHECK(host::maker_of(std::string("/dev/shm/") + name) == host::SegmentMaker::python);
  CHECK(host::maker_of("/dev/shm/vllm_cache") == host::SegmentMaker::server);
  // People keep files of their own in /dev/shm.
  for (const char* name :
       {"nccl-tests-results.log", "torch_checkpoint_step100.pt", "my-nccl-", "torch_dataset.bin",
        "torch_1_2_3.pt", "psm_model", "pulse-shm-1", "deepspeed_allreduce_buffer_notes"})
    CHECK(host::maker_of(std::string("/dev/shm/") + name) == host::SegmentMaker::unknown);
}

TEST_CASE("torch's extensions have a folder by variable, cache or home", "[left_files]") {
  CHECK(host::extensions_folder({{"TORCH_EXTENSIONS_DIR", "/x"}, {"HOME", "/h"}}) == "/x");
  CHECK(host::extensions_folder({{"XDG_CACHE_HOME", "/c"}, {"HOME", "/h"}}) ==
        "/c/torch_extensions");
  CHECK(host::extensions_folder({{"HOME", "/h"}}) == "/h/.cache/torch_extensions");
  CHECK(host::extensions_folder({}).empty());
}

TEST_CASE("locks are found in both layouts", "[left_files]") {
  LeftFolder folder;
  const std::string direct = folder.add("cpu_adam/lock");
  const std::string nested = folder.add("py311_cu128/fused_adam/lock");
  folder.add("py311_cu128/fused_adam/build.ninja");
  CHECK(paths_of(host::extension_locks(folder.path())) == std::vector{direct, nested});
}

TEST_CASE("a stranger's link in a shared folder of extensions leads to no lock", "[left_files]") {
  if (::geteuid() != 0) return;  // only root can give a link away
  LeftFolder elsewhere;
  elsewhere.add("app/lock");
  LeftFolder folder;
  const std::string own = folder.add("py311_cpu/fused_adam/lock");
  for (const std::string& link : {folder.path() + "/cpu_adam", folder.path() + "/py311_cpu/app"}) {
    fs::create_directory_symlink(elsewhere.path() + "/app", link);
    REQUIRE(::lchown(link.c_str(), 1001, 1001) == 0);
  }
  CHECK(paths_of(host::extension_locks(folder.path())) == std::vector{own});
}

TEST_CASE("a stranger's link on the way to the folder of extensions leads to no lock",
          "[left_files]") {
  if (::geteuid() != 0) return;  // only root can give a link away
  LeftFolder elsewhere;
  elsewhere.add("root/app/lock");
  LeftFolder folder;
  const std::string link = folder.path() + "/team";
  fs::create_directory_symlink(elsewhere.path(), link);
  CHECK(host::extension_locks(link + "/root").size() == 1);
  REQUIRE(::lchown(link.c_str(), 1001, 1001) == 0);
  CHECK(host::extension_locks(link + "/root").empty());
  CHECK_FALSE(host::file_at(link + "/root/app/lock"));
}

TEST_CASE("a stranger who exchanges a folder with a link leads nobody to a lock elsewhere",
          "[left_files]") {
  if (::geteuid() != 0) return;  // only root can give a folder away
  LeftFolder elsewhere;
  const std::string other = elsewhere.add("lock");
  LeftFolder shared;
  const std::string real = shared.path() + "/cpu_adam";
  const std::string link = shared.path() + "/evil";
  fs::create_directory(real);
  fs::create_directory_symlink(elsewhere.path(), link);
  REQUIRE(::chown(real.c_str(), 1001, 1001) == 0);
  REQUIRE(::lchown(link.c_str(), 1001, 1001) == 0);
  const Child exchanger([&] {
    while (::renameat2(AT_FDCWD, real.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE) == 0) {
    }
  });
  constexpr int kLooks = 20'000;  // one of some hundred went astray
  bool led_astray = false;
  for (int look = 0; look < kLooks && !led_astray; ++look)
    led_astray = !host::extension_locks(shared.path()).empty();
  CHECK_FALSE(led_astray);
  CHECK(host::is_running(exchanger.id()));
}

TEST_CASE("the name of a segment is judged to its last letter", "[left_files]") {
  using Maker = host::SegmentMaker;
  const std::vector<std::pair<const char*, Maker>> names{
      {"nccl-ABCdef", Maker::one_job},
      {"nccl-abcde", Maker::unknown},
      {"nccl-abcdefg", Maker::unknown},
      {"nccl-abc_ef", Maker::unknown},
      {"torch_1_2", Maker::unknown},
      {"torch_1_2_3_4", Maker::unknown},
      {"torch_1__3", Maker::unknown},
      {"torch_1_2_x", Maker::unknown},
      {"deepspeed_allreduce_buffer_0_node-1.cluster_29500_12", Maker::one_job},
      {"deepspeed_allreduce_buffer_x_node_29500_1", Maker::unknown},
      {"deepspeed_allreduce_buffer_0_node_29500", Maker::unknown},
      {"psm_1A2b3c4d", Maker::unknown},  // Python writes small letters
      {"psm_1a2b3c4", Maker::unknown},
      {"sem.mp-abcdefg", Maker::unknown},
      {"sem.mp-abcdefg.", Maker::unknown},
      {"sem.other", Maker::unknown},
      {"vllm", Maker::server},
      {"sgl_x", Maker::server},
      {"sgl", Maker::unknown},
      {"", Maker::unknown},
  };
  for (const auto& [name, maker] : names) {
    CAPTURE(name);
    CHECK(host::maker_of(std::string("/dev/shm/") + name) == maker);
    CHECK(host::maker_of(name) == maker);
  }
  CHECK(host::maker_of("/dev/shm/nccl-abcdef (deleted)") == Maker::unknown);
}

TEST_CASE("only a plain file is looked at, and never what a link leads to", "[left_files]") {
  LeftFolder folder;
  const std::string file = folder.add("file", "data");
  fs::create_symlink(file, folder.path() + "/link");
  REQUIRE(host::file_at(file));
  CHECK(host::file_at(file)->inode != 0);
  CHECK(host::file_at(file)->age >= Duration{});
  for (const char* other : {"/link", "/none", ""})
    CHECK_FALSE(host::file_at(folder.path() + other));
}

TEST_CASE("a file whose time of writing is to come has no age", "[left_files]") {
  LeftFolder folder;
  const std::string file = folder.add("file", "data");
  fs::last_write_time(file, fs::file_time_type::clock::now() + std::chrono::hours(5));
  CHECK(host::file_at(file)->age == Duration{});
}

TEST_CASE("an empty variable names no folder of extensions", "[left_files]") {
  CHECK(host::extensions_folder({{"TORCH_EXTENSIONS_DIR", ""}, {"HOME", "/h"}}) ==
        "/h/.cache/torch_extensions");
  CHECK(host::extensions_folder({{"XDG_CACHE_HOME", ""}, {"HOME", ""}}).empty());
}

TEST_CASE("hidden folders, and locks that are none, are passed over", "[left_files]") {
  LeftFolder folder;
  folder.add(".hidden/lock");
  folder.add("a/b/c/lock");  // deeper than torch builds
  folder.add("lock");
  folder.add("x/lock.txt");
  fs::create_directories(folder.path() + "/y/lock");
  CHECK(host::extension_locks(folder.path()).empty());
  CHECK(host::extension_locks("/proc/nonexistent").empty());
}
