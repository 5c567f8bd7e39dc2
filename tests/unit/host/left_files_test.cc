#include "safelaunch/host/left_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "catch.h"
#include "child.h"
#include "safelaunch/base/unique_fd.h"

using namespace safelaunch;
using namespace safelaunch::testing;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "safelaunch-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }

  std::string add(const std::string& name, const std::string& text = "") {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

std::vector<std::string> paths_of(const std::vector<LeftFile>& files) {
  std::vector<std::string> paths;
  for (const LeftFile& file : files) paths.push_back(file.path);
  return paths;
}

bool is_used(const std::string& path, const std::vector<LeftFile>& files) {
  return std::ranges::count(users_of(files).used, path) == 1;
}

}  // namespace

TEST_CASE("shared memory has a size and its plain files", "[left_files]") {
  Folder folder;
  const std::string segment = folder.add("nccl-abc", "data");
  fs::create_symlink("/etc/passwd", folder.path() + "/torch_link");
  const SharedMemory memory = read_shared_memory(folder.path());
  CHECK(memory.bytes > 0);
  CHECK(paths_of(memory.files) == std::vector{segment});
  CHECK(memory.files[0].uid == ::geteuid());
}

TEST_CASE("what is not there has no size", "[left_files]") {
  CHECK(read_shared_memory("/nonexistent").bytes == 0);
}

TEST_CASE("segments of jobs are known by the beginnings of their names", "[left_files]") {
  CHECK(is_job_segment("/dev/shm/nccl-vR6Fzi"));
  CHECK(is_job_segment("/dev/shm/torch_71_2_0"));
  CHECK_FALSE(is_job_segment("/dev/shm/pulse-shm-1"));
  CHECK_FALSE(is_job_segment("/dev/shm/my-nccl-"));
}

TEST_CASE("torch's extensions have a folder by variable, cache or home", "[left_files]") {
  CHECK(extensions_folder({{"TORCH_EXTENSIONS_DIR", "/x"}, {"HOME", "/h"}}) == "/x");
  CHECK(extensions_folder({{"XDG_CACHE_HOME", "/c"}, {"HOME", "/h"}}) == "/c/torch_extensions");
  CHECK(extensions_folder({{"HOME", "/h"}}) == "/h/.cache/torch_extensions");
  CHECK(extensions_folder({}).empty());
}

TEST_CASE("locks are found in both layouts", "[left_files]") {
  Folder folder;
  const std::string direct = folder.add("cpu_adam/lock");
  const std::string nested = folder.add("py311_cu128/fused_adam/lock");
  folder.add("py311_cu128/fused_adam/build.ninja");
  CHECK(paths_of(extension_locks(folder.path())) == std::vector{direct, nested});
}

TEST_CASE("a file that a process holds open is used", "[left_files]") {
  Folder folder;
  folder.add("nccl-held");
  folder.add("nccl-free");
  const auto files = read_shared_memory(folder.path()).files;
  const UniqueFd held(::open((folder.path() + "/nccl-held").c_str(), O_RDONLY | O_CLOEXEC));
  CHECK(is_used(folder.path() + "/nccl-held", files));
  CHECK_FALSE(is_used(folder.path() + "/nccl-free", files));
}

TEST_CASE("a file that a process maps is used, whatever its name is there", "[left_files]") {
  Folder folder;
  const std::string path = folder.add("nccl-mapped", "data");
  const auto files = read_shared_memory(folder.path()).files;
  void* mapped = nullptr;
  {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    mapped = ::mmap(nullptr, 4, PROT_READ, MAP_SHARED, file.get(), 0);
  }
  REQUIRE(mapped != MAP_FAILED);
  CHECK(is_used(path, files));
  ::munmap(mapped, 4);
  CHECK_FALSE(is_used(path, files));
}

TEST_CASE("a lock in whose folder somebody works is used", "[left_files]") {
  Folder folder;
  const std::string lock = folder.add("ext/lock");
  const auto locks = extension_locks(folder.path());
  CHECK_FALSE(is_used(lock, locks));
  const Child builder([&] {
    if (::chdir((folder.path() + "/ext").c_str()) == 0) ::pause();
  });
  CHECK(eventually([&] { return is_used(lock, locks); }));
}
