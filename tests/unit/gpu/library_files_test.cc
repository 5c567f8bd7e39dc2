#include "launcher/gpu/library_files.h"

#include "catch.h"
#include "made_folder.h"

namespace safelaunch::gpu {
namespace {

using testing::MadeFolder;
using testing::MadeLibrary;
using testing::MadeVenv;
using Names = std::vector<std::string>;

TEST_CASE("a version in a file's name has three numbers behind .so.") {
  for (const auto& [file, version] :
       {std::pair("libnccl.so.2.28.9", "2.28.9"), std::pair("libcuda.so.580.95.05", "580.95.05"),
        std::pair("libx.so.1.2.3.4", "1.2.3.4"), std::pair("libnccl.so.2", ""),
        std::pair("libcuda.so.1.1", ""), std::pair("libnccl.so", ""), std::pair("libnccl.so.", ""),
        std::pair("libnccl.so.2.28.9-debug", ""), std::pair("libnccl.so.2.28.", ""),
        std::pair("libnccl.2.28.9", ""), std::pair("", "")}) {
    INFO(file);
    CHECK(version_in_file_name(file) == version);
  }
}

TEST_CASE("a wheel's version stands behind its last dash") {
  CHECK(version_of_wheel("nvidia_nccl_cu13-2.29.7") == "2.29.7");
  CHECK(version_of_wheel("nvidia_nccl_cu13") == "");
  CHECK(version_of_wheel("") == "");
}

TEST_CASE("only NCCL's wheels are told, in the order of their names") {
  const MadeFolder made;
  for (const char* name :
       {"nvidia_nccl_cu13-2.29.7.dist-info", "nvidia_nccl_cu12-2.27.5.dist-info",
        "nvidia_nccl_cu13-2.29.7.data", "nvidia_cublas_cu13-13.0.dist-info", "nccl.dist-info"})
    made.folder(std::string("packages/") + name);
  CHECK(nccl_wheels_in(made.path("packages")) ==
        Names{"nvidia_nccl_cu12-2.27.5", "nvidia_nccl_cu13-2.29.7"});
  CHECK(nccl_wheels_in(made.path("none")).empty());
}

TEST_CASE("the version that NCCL would print is found among its bytes") {
  const MadeFolder made;
  const auto inside = [&](const std::string& bytes) {
    return nccl_version_inside(made.file("libnccl.so.2", bytes));
  };
  CHECK(inside(std::string("xx") + '\0' + "NCCL version 2.28.9+cuda13.0" + '\0') == "2.28.9");
  CHECK(inside(std::string("NCCL version %d.%d") + '\0' + "NCCL version 2.27.5") == "2.27.5");
  CHECK(inside("NCCL version NCCL version 2.27.5") == "2.27.5");
  for (const char* bytes : {"", "NCCL version ", "NCCL version 2.28", "NCCL version 2.28.",
                            "nccl version 2.28.9", "NCCL version"})
    CHECK(inside(bytes).empty());
  CHECK(nccl_version_inside(made.path("none")).empty());
}

TEST_CASE("the cheapest way that tells a version is taken, by name before wheel before bytes") {
  const MadeVenv made;
  const auto wheel = made.nccl(MadeVenv::in_packages("nvidia/nccl/lib/libnccl.so.2"), "2.27.5");
  CHECK(version_of_library(wheel) == "2.27.5");
  made.folder(MadeVenv::in_packages("nvidia_nccl_cu13-2.29.7.dist-info"));
  CHECK(version_of_library(wheel) == "2.29.7");
  made.nccl("own/libnccl.so.2.30.1", "2.18.3");
  CHECK(version_of_library(made.link("own/libnccl.so.2", "libnccl.so.2.30.1")) == "2.30.1");
  // Bytes of another library are not searched for NCCL's words.
  CHECK(version_of_library(made.nccl("own/libcuda.so.1", "2.18.3")).empty());
  CHECK(version_of_library(made.path("none")).empty());
}

TEST_CASE("a value of a Python file is read in each form that torch writes") {
  const auto text = [](std::string_view source) { return python_text(source, "cuda"); };
  CHECK(text("cuda: Optional[str] = '13.0'\n") == "13.0");
  CHECK(text("cuda = \"12.9\"") == "12.9");
  CHECK(text("\n\ncudart = '1'\n cuda = '2'\ncuda = '3'\ncuda = '4'") == "3");
  CHECK(text("cuda: Optional[str] = None\ncuda = '1'") == "1");
  CHECK(text("cuda = \"it's\"") == "it's");
  CHECK(text("cuda = '13.0").size() == 4);  // a file that was cut
  for (const char* none : {"", "cuda", "cuda=", "cuda = None", "CUDA = '1'", "x = 'cuda'"})
    CHECK(text(none).empty());
}

TEST_CASE("torch's files tell what it is built for and where it looks, whichever are there") {
  const MadeVenv made;
  const PythonPlaces places{
      made.python(), made.path("venv"), {made.path(MadeVenv::in_packages("."))}};
  CHECK(read_torch(places).version.empty());
  made.file(MadeVenv::in_packages("torch/version.py"), "__version__ = '2.13.0+cpu'\n");
  CHECK(read_torch(places).version == "2.13.0+cpu");
  CHECK_FALSE(read_torch(places).holds_nccl);  // a build for CPUs has no CUDA library
  made.torch(MadeLibrary().needs("libnccl.so.2").runpath("/opt/lib"));
  const TorchFiles torch = read_torch(places);
  CHECK(torch.version == "2.13.0+cu130");
  CHECK(torch.cuda == "13.0");
  CHECK_FALSE(torch.holds_nccl);
  CHECK(torch.rpath.empty());
  CHECK(torch.runpath == Names{"/opt/lib"});
}

TEST_CASE("of two torches the one that an import would take is read") {
  const MadeFolder made;
  made.file("first/torch/version.py", "__version__ = '2.7.0'\n");
  made.file("other/torch/version.py", "__version__ = '2.6.0'\n");
  made.folder("empty");
  const PythonPlaces places{"", "", {made.path("empty"), made.path("first"), made.path("other")}};
  CHECK(read_torch(places).version == "2.7.0");
}

TEST_CASE("an ELF file of another class or machine is none, one that names neither is loadable") {
  const MadeFolder made;
  std::string bytes = MadeLibrary().bytes();
  CHECK(is_loadable(made.file("whole.so", bytes)));
  bytes[EI_CLASS] = ELFCLASS32;
  CHECK_FALSE(is_loadable(made.file("other.so", bytes)));
  CHECK_FALSE(read_elf(made.path("other.so")));
  bytes[EI_CLASS] = ELFCLASSNONE;
  CHECK(is_loadable(made.file("broken.so", bytes)));
  CHECK_FALSE(is_loadable(made.library("arm.so", MadeLibrary().of_machine(0x1234))));
}

TEST_CASE("$ORIGIN is the folder of the library, at the beginning of a path alone") {
  const MadeFolder made;
  const auto elf = read_elf(
      made.library("a/x.so", MadeLibrary().runpath("${ORIGIN}/b:$ORIGIN:/c/$ORIGIN::$ORIGINAL:d")));
  REQUIRE(elf);
  const std::string here = made.path("a");
  CHECK(elf->runpath == Names{here + "/b", here, "/c/$ORIGIN", here + "AL", "d"});
}

TEST_CASE("thousands of entries of a library are read to a bound") {
  const MadeFolder made;
  MadeLibrary many;
  for (int i = 0; i < 5'000; ++i) many.needs("libx.so");
  const auto elf = read_elf(made.library("many.so", many));
  REQUIRE(elf);
  CHECK(elf->needed.size() <= 4'096);
}

TEST_CASE("a loader's cache that promises more than it holds gives what it holds") {
  std::string cache = "glibc-ld.so.cache1.1" + std::string(28, '\0');
  cache[20] = cache[21] = cache[22] = cache[23] = '\xff';  // four billion entries
  CHECK(cached_paths(cache, "libx.so").empty());
  CHECK(cached_paths(cache + std::string(24, '\xff'), "").size() == 1);  // names beyond the end
  CHECK(cached_paths("", "libx.so").empty());
  CHECK(cached_paths("ld.so-1.7.0", "libx.so").empty());
}

}  // namespace
}  // namespace safelaunch::gpu
