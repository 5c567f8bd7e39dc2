#include "safelaunch/gpu/libraries.h"

#include "catch.h"
#include "made_folder.h"

namespace safelaunch::gpu {
namespace {

using testing::MadeFolder;
using testing::MadeLibrary;
using testing::MadeVenv;

/// A system that holds no library but those of the folder.
SystemPlaces system_of(const MadeFolder& made) {
  return {made.path("ld.so.cache"), {made.path("system")}};
}

/// torch's CUDA library, as its wheels link it.
MadeLibrary torch_of_a_wheel() {
  return MadeLibrary()
      .needs("libnccl.so.2")
      .rpath("$ORIGIN/../../nvidia/cublas/lib:$ORIGIN/../../nvidia/nccl/lib:$ORIGIN");
}

const std::string kWheel = MadeVenv::in_packages("nvidia/nccl/lib/libnccl.so.2");

/// Origin and version of each copy, in order.
std::string told(const std::vector<FoundLibrary>& libraries) {
  std::string text;
  for (const auto& library : libraries)
    text +=
        std::string(text.empty() ? "" : ", ") + describe(library.origin) + " " + library.version;
  return text;
}

TEST_CASE("the wheel beside torch beats LD_LIBRARY_PATH, since torch has an RPATH") {
  const MadeVenv made;
  made.torch(torch_of_a_wheel());
  made.nccl(kWheel, "2.29.7");
  made.nccl("other/libnccl.so.2", "2.21.5");
  made.nccl("system/libnccl.so.2", "2.18.3");
  const auto found =
      find_job_libraries(made.python(), {{"LD_LIBRARY_PATH", made.path("other")}}, system_of(made));
  CHECK(told(found.nccl) == "torch's RPATH 2.29.7, LD_LIBRARY_PATH 2.21.5, the system 2.18.3");
  CHECK(found.nccl.front().path == made.path(kWheel));
}

TEST_CASE("LD_LIBRARY_PATH beats a torch that has a RUNPATH") {
  const MadeVenv made;
  made.torch(MadeLibrary().needs("libnccl.so.2").runpath("$ORIGIN/../../nvidia/nccl/lib"));
  made.nccl(kWheel, "2.29.7");
  made.nccl("other/libnccl.so.2", "2.21.5");
  const auto found =
      find_job_libraries(made.python(), {{"LD_LIBRARY_PATH", made.path("other")}}, system_of(made));
  CHECK(told(found.nccl) == "LD_LIBRARY_PATH 2.21.5, torch's RUNPATH 2.29.7");
}

TEST_CASE("LD_PRELOAD beats all, by path and by name") {
  const MadeVenv made;
  made.torch(torch_of_a_wheel());
  made.nccl(kWheel, "2.29.7");
  const auto preloaded = made.nccl("own/libnccl.so.2.30.7", "2.30.7");
  made.link("own/libnccl.so.2", "libnccl.so.2.30.7");
  const auto by_path = find_job_libraries(
      made.python(), {{"LD_PRELOAD", "libjemalloc.so " + preloaded}}, system_of(made));
  CHECK(told(by_path.nccl) == "LD_PRELOAD 2.30.7, torch's RPATH 2.29.7");
  const auto by_name = find_job_libraries(
      made.python(), {{"LD_PRELOAD", "libnccl.so.2"}, {"LD_LIBRARY_PATH", made.path("own")}},
      system_of(made));
  CHECK(told(by_name.nccl) == "LD_PRELOAD 2.30.7, torch's RPATH 2.29.7");
}

TEST_CASE("a wheel that torch for CPUs is not linked with comes after LD_LIBRARY_PATH") {
  const MadeVenv made;
  made.file(MadeVenv::in_packages("torch/version.py"),
            "__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None\n");
  made.nccl(kWheel, "2.32.3");
  made.nccl("other/libnccl.so.2", "2.28.9");
  const auto found =
      find_job_libraries(made.python(), {{"LD_LIBRARY_PATH", made.path("other")}}, system_of(made));
  CHECK(told(found.nccl) == "LD_LIBRARY_PATH 2.28.9, site-packages 2.32.3");
  CHECK(found.torch_version == "2.13.0+cpu");
  CHECK(found.torch_cuda.empty());
}

TEST_CASE("JAX for CUDA takes its wheel by path") {
  const MadeVenv made;
  made.folder(MadeVenv::in_packages("jax_plugins/xla_cuda13"));
  made.nccl(kWheel, "2.28.9");
  made.nccl("other/libnccl.so.2", "2.21.5");
  const auto found =
      find_job_libraries(made.python(), {{"LD_LIBRARY_PATH", made.path("other")}}, system_of(made));
  CHECK(told(found.nccl) == "JAX's CUDA plug-in 2.28.9, LD_LIBRARY_PATH 2.21.5");
}

TEST_CASE("conda's torch finds NCCL among the environment's libraries") {
  const MadeFolder made;
  made.program("env/bin/python");
  made.file("env/lib/python3.12/site-packages/torch/version.py", "__version__ = '2.7.0'\n");
  made.library("env/lib/libtorch_cuda.so",
               MadeLibrary().needs("libnccl.so.2").rpath("${ORIGIN}:$ORIGIN/."));
  made.nccl("env/lib/libnccl.so.2.26.5", "2.26.5");
  made.link("env/lib/libnccl.so.2", "libnccl.so.2.26.5");
  const auto found = find_job_libraries(made.path("env/bin/python"), {}, system_of(made));
  CHECK(told(found.nccl) == "torch's RPATH 2.26.5");
  CHECK_FALSE(found.nccl_inside_torch);
}

TEST_CASE("a torch whose CUDA library needs no libnccl has NCCL inside") {
  const MadeVenv made;
  made.torch(MadeLibrary().needs("libcudart.so.13"));
  CHECK(find_job_libraries(made.python(), {}, system_of(made)).nccl_inside_torch);
}

TEST_CASE("what torch was built for is read from its own file") {
  const MadeVenv made;
  made.torch(torch_of_a_wheel());
  const auto found = find_job_libraries(made.python(), {}, system_of(made));
  CHECK(found.torch_version == "2.13.0+cu130");
  CHECK(found.torch_cuda == "13.0");
}

TEST_CASE("a wheel's metadata tells the version without a look into the library") {
  const MadeVenv made;
  made.torch(torch_of_a_wheel());
  made.library(kWheel);
  made.folder(MadeVenv::in_packages("nvidia_nccl_cu13-2.29.7.dist-info"));
  CHECK(told(find_job_libraries(made.python(), {}, system_of(made)).nccl) ==
        "torch's RPATH 2.29.7");
}

TEST_CASE("of two wheels that overwrote each other the library tells which one is there") {
  const MadeVenv made;
  made.torch(torch_of_a_wheel());
  made.nccl(kWheel, "2.27.5");
  made.folder(MadeVenv::in_packages("nvidia_nccl_cu12-2.27.5.dist-info"));
  made.folder(MadeVenv::in_packages("nvidia_nccl_cu13-2.29.7.dist-info"));
  const auto found = find_job_libraries(made.python(), {}, system_of(made));
  CHECK(told(found.nccl) == "torch's RPATH 2.27.5");

  const auto findings = library_findings(found);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].cause == "nccl-two-libraries");
  CHECK(findings[0].severity == Severity::risk);
  CHECK(findings[0].remedy ==
        "pip uninstall nvidia-nccl-cu12 nvidia-nccl-cu13, then install torch again");
}

TEST_CASE(
    "libraries of another machine, and files that are none, are passed over as the loader does") {
  const MadeVenv made;
  made.torch(torch_of_a_wheel());
  made.library(kWheel, MadeLibrary().of_machine(EM_386));
  made.file("other/libnccl.so.2", "INPUT(-lnccl)");
  made.nccl("system/libnccl.so.2", "2.28.9");
  const auto found =
      find_job_libraries(made.python(), {{"LD_LIBRARY_PATH", made.path("other")}}, system_of(made));
  CHECK(told(found.nccl) == "the system 2.28.9");
}

TEST_CASE("one file that two ways lead to is found once") {
  const MadeVenv made;
  made.nccl("system/libnccl.so.2.28.9", "2.28.9");
  made.link("system/libnccl.so.2", "libnccl.so.2.28.9");
  made.link("other/libnccl.so.2", "../system/libnccl.so.2.28.9");
  const auto found =
      find_job_libraries(made.python(), {{"LD_LIBRARY_PATH", made.path("other")}}, system_of(made));
  CHECK(told(found.nccl) == "LD_LIBRARY_PATH 2.28.9");
  CHECK(library_findings(found).empty());
}

TEST_CASE("the driver's libraries bear its version in their name, but for WSL's") {
  const MadeFolder made;
  made.library("system/libnvidia-ml.so.580.95.05");
  made.link("system/libnvidia-ml.so.1", "libnvidia-ml.so.580.95.05");
  made.library("system/libcuda.so.1.1");
  made.link("system/libcuda.so.1", "libcuda.so.1.1");
  const auto found = find_job_libraries("", {}, system_of(made));
  CHECK(told(found.nvml) == "the system 580.95.05");
  CHECK(told(found.driver) == "the system ");
}

TEST_CASE("a machine without any has none, and no finding") {
  const MadeFolder made;
  const auto found = find_job_libraries("python3", {}, system_of(made));
  CHECK(found.nccl.empty());
  CHECK(found.driver.empty());
  CHECK(found.nvml.empty());
  CHECK(library_findings(found).empty());
}

FoundLibrary copy(std::string path, LibraryOrigin origin, std::string version) {
  return {std::move(path), origin, std::move(version)};
}

TEST_CASE("another version on LD_LIBRARY_PATH is a warning that tells what to take out") {
  JobLibraries libraries;
  libraries.nccl = {copy("/v/libnccl.so.2", LibraryOrigin::torch, "2.29.7"),
                    copy("/opt/nccl/lib/libnccl.so.2", LibraryOrigin::library_path, "2.21.5")};
  const auto findings = library_findings(libraries);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].severity == Severity::risk);
  CHECK(
      findings[0].evidence ==
      "the job will load NCCL 2.29.7 (/v/libnccl.so.2, by torch's RPATH); in reach is also 2.21.5 "
      "(/opt/nccl/lib/libnccl.so.2, by LD_LIBRARY_PATH)");
  CHECK(findings[0].remedy == "take /opt/nccl/lib out of LD_LIBRARY_PATH");
}

TEST_CASE("another version in the system's folders is but a note") {
  JobLibraries libraries;
  libraries.nccl = {copy("/v/libnccl.so.2", LibraryOrigin::torch, "2.29.7"),
                    copy("/usr/lib/libnccl.so.2", LibraryOrigin::system, "2.28.3")};
  const auto findings = library_findings(libraries);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].severity == Severity::note);
}

TEST_CASE("copies of one version, or of an unknown one, are no finding") {
  JobLibraries libraries;
  libraries.nccl = {copy("/a/libnccl.so.2", LibraryOrigin::torch, "2.29.7"),
                    copy("/b/libnccl.so.2", LibraryOrigin::library_path, "2.29.7"),
                    copy("/c/libnccl.so.2", LibraryOrigin::system, "")};
  CHECK(library_findings(libraries).empty());
}

}  // namespace
}  // namespace safelaunch::gpu
