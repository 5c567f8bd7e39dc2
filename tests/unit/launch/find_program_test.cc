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

namespace {

/// The file that a shell would execute for a word, or why it would not.
std::string looked_up(const std::string& word, const Environment& environment) {
  const Result<std::string> path = find_program(word, environment);
  return path ? *path : path.error().message;
}

}  // namespace

TEST_CASE("of several programs of a name the first in PATH is taken", "[find_program]") {
  const TemporaryFolder folder;
  const std::string first = folder.write("a/tool", "", 0755);
  const std::string second = folder.write("b/tool", "", 0755);
  const auto in = [&](const std::string& path) { return looked_up("tool", {{"PATH", path}}); };
  CHECK(in(folder / "a" + ":" + folder / "b") == first);
  CHECK(in(folder / "b" + ":" + folder / "a") == second);
  CHECK(in("/nowhere:" + folder / "b") == second);
}

TEST_CASE("what cannot be executed is passed over where PATH has another", "[find_program]") {
  const TemporaryFolder folder;
  folder.write("data/tool", "", 0644);
  folder.write("folder/tool/file", "");
  const std::string good = folder.write("good/tool", "", 0755);
  const std::string path = folder / "data" + ":" + folder / "folder";
  CHECK(looked_up("tool", {{"PATH", path + ":" + folder / "good"}}) == good);
  CHECK(looked_up("tool", {{"PATH", path}}) ==
        "cannot execute " + folder / "data/tool" + ": it is a directory or not marked executable");
}

TEST_CASE("a word with a slash is no word for PATH", "[find_program]") {
  const TemporaryFolder folder;
  const std::string tool = folder.write("a/tool", "", 0755);
  CHECK(looked_up(tool, {}) == tool);
  CHECK(looked_up("./tool", {{"PATH", folder / "a"}}) == "no such file: ./tool");
  CHECK(looked_up(folder / "a", {}) ==
        "cannot execute " + folder / "a" + ": it is a directory or not marked executable");
}

TEST_CASE("a program that is nowhere is told with the word that was typed", "[find_program]") {
  const std::string nowhere = "command not found: 'no-such-tool' (looked in PATH)";
  CHECK(looked_up("no-such-tool", {{"PATH", "/nowhere"}}) == nowhere);
  CHECK(looked_up("no-such-tool", {{"PATH", ""}}) == nowhere);
  CHECK(looked_up("no-such-tool", {}) == nowhere);
  CHECK(looked_up("", {{"PATH", "/usr/bin"}}) == "command not found: '' (looked in PATH)");
}

TEST_CASE("a variable in the place of a program is told without its value", "[find_program]") {
  const std::string told =
      "command not found: 'HF_TOKEN=…': a variable stands before safelaunch (`HF_TOKEN=… "
      "safelaunch …`), or behind env";
  CHECK(looked_up("HF_TOKEN=hunter2", {{"PATH", "/usr/bin"}}) == told);
  CHECK(looked_up("HF_TOKEN=s3cret/x", {{"PATH", "/usr/bin"}}) == told);
  CHECK(looked_up("1A=2", {{"PATH", "/usr/bin"}}) == "command not found: '1A=2' (looked in PATH)");
}

TEST_CASE("where PATH is not set the folders of execvp are searched", "[find_program]") {
  CHECK(looked_up("sh", {}) == "/bin/sh");
}

TEST_CASE("an empty place in PATH is the present folder", "[find_program]") {
  const TemporaryFolder folder;
  folder.write("here", "", 0755);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder / "");
  const std::string first = looked_up("here", {{"PATH", ":/nowhere"}});
  const std::string last = looked_up("here", {{"PATH", "/nowhere:"}});
  std::filesystem::current_path(before);
  CHECK(first == "here");
  CHECK(last == "here");
}

TEST_CASE("a probe program that a variable names is taken, or its absence told",
          "[probe_program]") {
  const TemporaryFolder folder;
  const std::string probe = folder.write("probe", "", 0755);
  const std::string data = folder.write("data", "", 0644);
  CHECK(find_probe_program({{"SAFELAUNCH_PROBE_PROGRAM", probe}}).value() == probe);
  for (const std::string& none : {data, folder / "none", folder / ""}) {
    const auto found = find_probe_program({{"SAFELAUNCH_PROBE_PROGRAM", none}});
    REQUIRE(found.has_error());
    CHECK(found.error().message == "SAFELAUNCH_PROBE_PROGRAM=" + none + " is no program");
  }
}
