#include "safelaunch/launch/find_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include "catch.h"
#include "temporary_folder.h"

using namespace safelaunch;

using namespace safelaunch::launch;
using safelaunch::testing::TemporaryFolder;

namespace {

constexpr unsigned kStranger = 1001;

std::string found(const std::string& program) {
  const Result<std::string> probe = find_probe_program_of(program);
  return probe ? *probe : probe.error().message;
}

}  // namespace

TEST_CASE("the probe program lies beside us, in libexec or in the build", "[probe_program]") {
  const TemporaryFolder folder;
  const std::string built = folder.write("launcher/cli/safelaunch", "", 0755);
  const std::string installed = folder.write("bin/safelaunch", "", 0755);
  const std::string probe = folder.write("launcher/probe/safelaunch-probe", "", 0755);
  CHECK(found(built) == probe);
  CHECK(found(installed) ==
        "there is no safelaunch-probe beside " +
            std::filesystem::path(installed).parent_path().string() +
            "; install safelaunch whole, or name it in SAFELAUNCH_PROBE_PROGRAM");
  const std::string libexec = folder.write("libexec/safelaunch/safelaunch-probe", "", 0755);
  CHECK(found(installed) == libexec);
  const std::string beside = folder.write("bin/safelaunch-probe", "", 0755);
  CHECK(found(installed) == beside);
}

TEST_CASE("a neighbour's ../probe is not taken for the build's", "[probe_program]") {
  const TemporaryFolder folder;
  const std::string copy = folder.write("alice/safelaunch", "", 0755);
  folder.write("probe/safelaunch-probe", "", 0755);
  CHECK(found(copy).starts_with("there is no safelaunch-probe beside"));
}

TEST_CASE("a probe program that a stranger could have put there is not run", "[probe_program]") {
  const TemporaryFolder folder;
  const std::string copy = folder.write("alice/safelaunch", "", 0755);
  folder.write("libexec/safelaunch/safelaunch-probe", "", 0755);
  REQUIRE(::chmod((folder / "libexec").c_str(), 0777) == 0);
  CHECK(found(copy).find("is not used: everybody can write to " + folder / "libexec") !=
        std::string::npos);
}

TEST_CASE("in a sticky folder a stranger's probe program beside us is not run", "[probe_program]") {
  if (::geteuid() != 0) return;  // only root can give a file away
  const TemporaryFolder folder;
  const std::string copy = folder.write("tmp/safelaunch", "", 0755);
  const std::string planted = folder.write("tmp/safelaunch-probe", "", 0755);
  REQUIRE(::chmod((folder / "tmp").c_str(), 01777) == 0);
  REQUIRE(::chown(planted.c_str(), kStranger, kStranger) == 0);
  CHECK(found(copy).find("is not used: " + planted + " belongs to uid 1001") != std::string::npos);
}

TEST_CASE("what its installer has put beside our program is as good as the program",
          "[probe_program]") {
  if (::geteuid() != 0) return;  // only root can give a file away
  const TemporaryFolder folder;
  const std::string program = folder.write("team/safelaunch", "", 0755);
  const std::string probe = folder.write("team/safelaunch-probe", "", 0755);
  for (const std::string& file : {program, probe})
    REQUIRE(::chown(file.c_str(), kStranger, kStranger) == 0);
  CHECK(found(program) == probe);
}
