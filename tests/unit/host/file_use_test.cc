#include "safelaunch/host/left_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "catch.h"
#include "child.h"
#include "left_folder.h"
#include "safelaunch/base/unique_fd.h"

using namespace safelaunch;

using namespace safelaunch::host;
using namespace safelaunch::testing;

namespace {

host::LeftFile only_file(const LeftFolder& folder) {
  return host::read_shared_memory(folder.path()).files.at(0);
}

/// Whether this file system tells: some of those on which tests run do not.
bool kernel_tells() {
  LeftFolder folder;
  folder.add("nccl-free");
  return host::holder_of(only_file(folder)) == host::Holder::nobody;
}

bool is_used(const std::string& path, const std::vector<host::LeftFile>& files) {
  return std::ranges::count(host::use_of(files).used, path) > 0;
}

}  // namespace

TEST_CASE("a file that a process holds open has a holder, however it was opened", "[file_use]") {
  if (!kernel_tells()) return;
  LeftFolder folder;
  const std::string path = folder.add("nccl-held", "data");
  for (const int way : {O_RDONLY, O_WRONLY, O_RDWR}) {
    const UniqueFd held(::open(path.c_str(), way | O_CLOEXEC));
    CHECK(host::holder_of(only_file(folder)) == host::Holder::somebody);
  }
  CHECK(host::holder_of(only_file(folder)) == host::Holder::nobody);
}

TEST_CASE("a file that a process maps has a holder, though it is open no more", "[file_use]") {
  if (!kernel_tells()) return;
  LeftFolder folder;
  const std::string path = folder.add("nccl-mapped", "data");
  void* mapped = nullptr;
  {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    mapped = ::mmap(nullptr, 4, PROT_READ, MAP_SHARED, file.get(), 0);
  }
  REQUIRE(mapped != MAP_FAILED);
  CHECK(host::holder_of(only_file(folder)) == host::Holder::somebody);
  ::munmap(mapped, 4);
  CHECK(host::holder_of(only_file(folder)) == host::Holder::nobody);
}

TEST_CASE("whoever opens a file while it is asked for waits, and gets it", "[file_use]") {
  if (!kernel_tells()) return;
  LeftFolder folder;
  const std::string path = folder.add("nccl-busy", "data");
  const host::LeftFile file = only_file(folder);
  const Child opener([&] {
    for (;;) {
      const UniqueFd held(::open(path.c_str(), O_RDWR | O_CLOEXEC));
      if (!held) ::_exit(1);
    }
  });
  bool met = false;  // a signal for a lease that is broken would end this very test
  CHECK(eventually([&] { return met = met || host::holder_of(file) == host::Holder::somebody; }));
  for (int turn = 0; turn < 2000; ++turn) static_cast<void>(host::holder_of(file));
  CHECK(host::is_running(opener.id()));
}

TEST_CASE("nothing is told of a file that another has replaced", "[file_use]") {
  LeftFolder folder;
  folder.add("nccl-old");
  host::LeftFile file = only_file(folder);
  file.inode += 1;
  CHECK(host::holder_of(file) == host::Holder::untold);
  file.path += "-gone";
  CHECK(host::holder_of(file) == host::Holder::untold);
}

TEST_CASE("a lock in whose folder somebody works is used", "[file_use]") {
  LeftFolder folder;
  const std::string lock = folder.add("ext/lock");
  const auto locks = host::extension_locks(folder.path());
  CHECK_FALSE(is_used(lock, locks));
  const Child builder([&] {
    if (::chdir((folder.path() + "/ext").c_str()) == 0) ::pause();
  });
  CHECK(eventually([&] { return is_used(lock, locks); }));
}

TEST_CASE("a folder whose name begins alike is another", "[file_use]") {
  LeftFolder folder;
  const std::string lock = folder.add("ext/lock");
  const std::string longer = folder.add("ext_two/lock");
  const auto locks = host::extension_locks(folder.path());
  const Child builder([&] {
    if (::chdir((folder.path() + "/ext_two").c_str()) == 0) ::pause();
  });
  REQUIRE(eventually([&] { return is_used(longer, locks); }));
  CHECK_FALSE(is_used(lock, locks));
}
