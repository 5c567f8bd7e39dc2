#include "launcher/gpu/library_files.h"

#include "catch.h"
#include "made_folder.h"

namespace safelaunch::gpu {
namespace {

using testing::MadeFolder;
using testing::MadeLibrary;
using Names = std::vector<std::string>;

MadeLibrary made_library() {
  return MadeLibrary().needs("libnccl.so.2").needs("libc.so.6").rpath("$ORIGIN/../lib::/opt/lib");
}

TEST_CASE("a library tells what it needs and where it looks for that") {
  const MadeFolder made;
  const auto elf = read_elf(made.library("a/libtorch.so", made_library()));
  REQUIRE(elf);
  CHECK(elf->needed == Names{"libnccl.so.2", "libc.so.6"});
  CHECK(elf->rpath == Names{made.path("a") + "/../lib", "/opt/lib"});
  CHECK(elf->runpath.empty());
}

TEST_CASE("our own executable is one of this machine, a text is none") {
  const MadeFolder made;
  CHECK(is_loadable("/proc/self/exe"));
  CHECK_FALSE(is_loadable(made.file("libnccl.so.2", "INPUT(-lnccl)")));
  CHECK_FALSE(is_loadable(made.path("not-there")));
  CHECK_FALSE(is_loadable(made.path()));
}

TEST_CASE("a library that was cut anywhere is read as far as it goes") {
  const MadeFolder made;
  const auto whole = made_library().bytes();
  for (std::size_t size = 0; size < whole.size(); ++size)
    if (const auto elf = read_elf(made.file("cut.so", whole.substr(0, size))))
      CHECK(elf->needed.size() <= 2);
}

TEST_CASE("no byte of a library can make its reader run away") {
  const MadeFolder made;
  const auto whole = made_library().bytes();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    auto changed = whole;
    changed[at] = '\xff';
    if (const auto elf = read_elf(made.file("changed.so", changed))) CHECK(elf->needed.size() < 10);
  }
}

}  // namespace
}  // namespace safelaunch::gpu
