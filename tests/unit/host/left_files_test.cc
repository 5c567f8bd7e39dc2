#include "safelaunch/host/left_files.h"

#include <unistd.h>

#include <filesystem>

#include "catch.h"
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
  CHECK(host::read_shared_memory("/nonexistent").bytes == 0);
}

TEST_CASE("segments of jobs are known by the beginnings of their names", "[left_files]") {
  for (const char* name :
       {"nccl-vR6Fzi", "torch_71_3202371123_0", "deepspeed_allreduce_buffer_0_127.0.0.1_29500_1"})
    CHECK(host::maker_of(std::string("/dev/shm/") + name) == host::SegmentMaker::one_job);
  for (const char* name : {"psm_1a2b3c4d", "sem.mp-x7_qa0zz"})
    CHECK(host::maker_of(std::string("/dev/shm/") + name) == host::SegmentMaker::python);
  CHECK(host::maker_of("/dev/shm/vllm_cache") == host::SegmentMaker::server);
  // People keep their own there.
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
