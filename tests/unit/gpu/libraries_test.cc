#include "safelaunch/gpu/libraries.h"

#include <cstdint>

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

TEST_CASE("a name in LD_PRELOAD is looked for as the loader does: one file, in the system last") {
  const MadeVenv made;
  made.torch(torch_of_a_wheel());
  made.nccl(kWheel, "2.29.7");
  made.nccl("system/libnccl.so.2", "2.18.3");
  const Environment by_name{{"LD_PRELOAD", "libnccl.so.2"}};
  CHECK(told(find_job_libraries(made.python(), by_name, system_of(made)).nccl) ==
        "LD_PRELOAD 2.18.3, torch's RPATH 2.29.7");

  made.nccl("one/libnccl.so.2", "2.21.5");
  made.nccl("two/libnccl.so.2", "2.22.3");
  Environment both = by_name;
  both["LD_LIBRARY_PATH"] = made.path("none") + ":" + made.path("one") + ":" + made.path("two");
  CHECK(told(find_job_libraries(made.python(), both, system_of(made)).nccl) ==
        "LD_PRELOAD 2.21.5, torch's RPATH 2.29.7, LD_LIBRARY_PATH 2.22.3, the system 2.18.3");
}

TEST_CASE("what LD_PRELOAD names and nobody can load is not told") {
  const MadeVenv made;
  made.nccl("system/libnccl.so.2", "2.18.3");
  made.file("text/libnccl.so.2", "no library");
  for (const std::string& word :
       {std::string("/no/such/libnccl.so.2"), std::string("libnccl.so.9"),
        made.path("text/libnccl.so.2"), std::string("/libnccl"), std::string(": :")}) {
    INFO(word);
    CHECK(told(find_job_libraries(made.python(), {{"LD_PRELOAD", word}}, system_of(made)).nccl) ==
          "the system 2.18.3");
  }
}

TEST_CASE("words of LD_PRELOAD stand behind colons and spaces alike") {
  const MadeVenv made;
  const auto one = made.nccl("one/libnccl.so.2", "2.21.5");
  const auto two = made.nccl("two/libnccl.so", "2.22.3");
  CHECK(told(find_job_libraries(made.python(), {{"LD_PRELOAD", "libc.so.6:" + one + " " + two}},
                                system_of(made))
                 .nccl) == "LD_PRELOAD 2.21.5, LD_PRELOAD 2.22.3");
}

TEST_CASE("folders of LD_LIBRARY_PATH stand behind colons and semicolons alike") {
  const MadeFolder made;
  made.library("a/libcuda.so.1");
  made.library("b/libcuda.so.1");
  const auto found = find_library(
      "libcuda.so.1", {{"LD_LIBRARY_PATH", ":" + made.path("a") + ";" + made.path("b") + "::"}},
      system_of(made));
  CHECK(told(found) == "LD_LIBRARY_PATH , LD_LIBRARY_PATH ");
}

TEST_CASE("a copy that the loader's cache knows comes before those in its folders") {
  const MadeFolder made;
  const auto cached = made.library("cached/libcuda.so.570.1.2");
  made.library("system/libcuda.so.1");
  // One entry, as ldconfig writes it.
  std::string cache = "glibc-ld.so.cache1.1";
  const auto number = [&](std::uint32_t value) {
    cache.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (const std::uint32_t value : {1U, 0U, 0U, 0U, 0U, 0U, 0U}) number(value);
  for (const std::uint32_t value : {0x0303U, 72U, 85U, 0U, 0U, 0U}) number(value);
  cache += std::string("libcuda.so.1") + '\0' + cached + '\0';
  made.file("ld.so.cache", cache);
  const auto found = find_library("libcuda.so.1", {}, system_of(made));
  REQUIRE(found.size() == 2);
  CHECK(found[0].path == cached);
  CHECK(found[0].version == "570.1.2");
}

TEST_CASE("each origin has its words") {
  const std::vector<std::string> words{
      "LD_PRELOAD",      "torch's RPATH",   "the interpreter's RPATH", "JAX's CUDA plug-in",
      "LD_LIBRARY_PATH", "torch's RUNPATH", "site-packages",           "the system"};
  for (std::size_t i = 0; i < words.size(); ++i)
    CHECK(describe(static_cast<LibraryOrigin>(i)) == words[i]);
}

TEST_CASE("an interpreter's RPATH leads to NCCL where torch has no RUNPATH") {
  const MadeFolder made;
  made.library("env/bin/python3.12", MadeLibrary().rpath("$ORIGIN/../lib"));
  std::filesystem::permissions(made.path("env/bin/python3.12"), std::filesystem::perms::owner_all);
  made.nccl("env/lib/libnccl.so.2", "2.26.5");
  CHECK(told(find_job_libraries(made.path("env/bin/python3.12"), {}, system_of(made)).nccl) ==
        "the interpreter's RPATH 2.26.5");
}

TEST_CASE("the remedy names what put the other copy in the way") {
  struct Row {
    LibraryOrigin used, other;
    Severity severity;
    const char* remedy;
  };
  const char* const nothing = "nothing, unless a program of the job is linked with the other one";
  for (const Row& row :
       {Row{LibraryOrigin::preload, LibraryOrigin::torch, Severity::risk,
            "unset LD_PRELOAD, unless it is there to try this NCCL"},
        Row{LibraryOrigin::library_path, LibraryOrigin::torch_late, Severity::risk,
            "take /used out of LD_LIBRARY_PATH"},
        Row{LibraryOrigin::torch, LibraryOrigin::library_path, Severity::risk,
            "take /other out of LD_LIBRARY_PATH"},
        Row{LibraryOrigin::torch, LibraryOrigin::packages, Severity::note, nothing},
        Row{LibraryOrigin::jax, LibraryOrigin::system, Severity::note, nothing},
        Row{LibraryOrigin::python, LibraryOrigin::system, Severity::note, nothing}}) {
    JobLibraries libraries;
    libraries.nccl = {copy("/used/libnccl.so.2", row.used, "2.29.7"),
                      copy("/other/libnccl.so.2", row.other, "2.21.5")};
    const auto findings = library_findings(libraries);
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].severity == row.severity);
    CHECK(findings[0].remedy == row.remedy);
  }
}

TEST_CASE("the first copy of another version is told, past equal and unknown ones") {
  JobLibraries libraries;
  libraries.nccl = {
      copy("/a", LibraryOrigin::torch, "2.29.7"), copy("/b", LibraryOrigin::packages, "2.29.7"),
      copy("/c", LibraryOrigin::packages, ""), copy("/d", LibraryOrigin::system, "2.18.3"),
      copy("/e", LibraryOrigin::system, "2.17.1")};
  const auto findings = library_findings(libraries);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].evidence.find("in reach is also 2.18.3 (/d, by the system)") !=
        std::string::npos);
  libraries.nccl.front().version.clear();
  CHECK(library_findings(libraries).empty());
}

TEST_CASE("wheels that overwrote each other are told beside a copy of another version") {
  JobLibraries libraries;
  libraries.nccl_wheels = {"nvidia_nccl_cu12-2.27.5", "nvidia_nccl_cu13-2.29.7"};
  libraries.nccl = {copy("/a", LibraryOrigin::torch, "2.29.7"),
                    copy("/b", LibraryOrigin::system, "2.18.3")};
  const auto findings = library_findings(libraries);
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].evidence ==
        "2 wheels bring NCCL into one folder, the last one installed is there: nvidia-nccl-cu12 "
        "nvidia-nccl-cu13");
  libraries.nccl_wheels.pop_back();
  CHECK(library_findings(libraries).size() == 1);
}

}  // namespace
}  // namespace safelaunch::gpu
