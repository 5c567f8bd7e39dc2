#include "safelaunch/plan/wrapper.h"

#include "catch.h"
#include "temporary_folder.h"

using namespace safelaunch;

using namespace safelaunch::plan;
using safelaunch::testing::TemporaryFolder;
using CommandWords = std::vector<std::string>;

namespace {

constexpr const char* kWrapper = "#!/bin/sh\nexec safelaunch torchrun \"$@\"\n";
constexpr const char* kReal = "#!/venv/bin/python\nfrom torch.distributed.run import main\n";

CommandWords behind(const TemporaryFolder& folder, const CommandWords& command) {
  const Environment environment{{"PATH", (folder / "a") + ":" + (folder / "b")}};
  const auto found = behind_wrapper(command, environment);
  return found ? *found : CommandWords{found.error().message};
}

}  // namespace

TEST_CASE("a script starts safelaunch where a line names that program", "[wrapper]") {
  CHECK(starts_safelaunch("#!/bin/sh\nexec safelaunch torchrun"));
  CHECK(starts_safelaunch("x=1; /opt/bin/safelaunch \"$0\""));
  CHECK(starts_safelaunch("os.execvp('safelaunch', words)"));
  CHECK(starts_safelaunch("exec safelaunch"));
  CHECK_FALSE(starts_safelaunch("#!/home/me/safelaunch\n# safelaunch torchrun"));
  CHECK_FALSE(starts_safelaunch("exec /home/safelaunch/bin/python"));
  CHECK_FALSE(starts_safelaunch("safelaunch-probe\nmysafelaunch x"));
  CHECK_FALSE(starts_safelaunch(""));
}

TEST_CASE("the launcher behind a wrapper is the command", "[wrapper]") {
  const TemporaryFolder folder;
  folder.write("a/torchrun", kWrapper, 0755);
  folder.write("b/torchrun", kReal, 0755);
  CHECK(behind(folder, {"torchrun", "x"}) == CommandWords{folder / "b/torchrun", "x"});
  CHECK(behind(folder, {folder / "a/torchrun"}) == CommandWords{folder / "a/torchrun"});
  CHECK(behind(folder, {"none"}) == CommandWords{"none"});
  CHECK(behind(folder, {}).empty());
}

TEST_CASE("a real launcher that is the first in PATH stays", "[wrapper]") {
  const TemporaryFolder folder;
  folder.write("a/torchrun", kReal, 0755);
  folder.write("b/torchrun", kReal, 0755);
  CHECK(behind(folder, {"torchrun"}) == CommandWords{"torchrun"});
}

TEST_CASE("a script of one's own is no wrapper, although it starts safelaunch", "[wrapper]") {
  const TemporaryFolder folder;
  folder.write("a/job.sh", kWrapper, 0755);
  folder.write("b/job.sh", "#!/bin/sh\n", 0755);
  CHECK(behind(folder, {"job.sh"}) == CommandWords{"job.sh"});
}

TEST_CASE("a wrapper with nothing behind it is refused only if it means itself", "[wrapper]") {
  const TemporaryFolder folder;
  const std::string wrapper = folder.write("a/torchrun", kWrapper, 0755);
  CHECK(behind(folder, {"torchrun"}) ==
        CommandWords{"torchrun is " + wrapper +
                     ", which starts safelaunch again and again; name the real one: safelaunch "
                     "/PATH/TO/torchrun"});
  folder.write("a/torchrun", "#!/bin/sh\nexec safelaunch /venv/bin/torchrun \"$@\"\n", 0755);
  CHECK(behind(folder, {"torchrun"}) == CommandWords{"torchrun"});
}

TEST_CASE("what is told of a script that was entered reads back as the same", "[wrapper]") {
  const Entered entered{2, 4711, "/a:b/torchrun"};
  CHECK(parse_entered(to_text(entered)) == entered);
  for (const char* text : {"", "1", "1:2", "1:2:", "x:2:/a", "1:x:/a"})
    CHECK_FALSE(parse_entered(text));
}
