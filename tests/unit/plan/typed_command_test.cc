#include "safelaunch/plan/typed_command.h"

#include "catch.h"
#include "temporary_folder.h"

using namespace safelaunch;
using namespace safelaunch::plan;
using safelaunch::testing::TemporaryFolder;
using Words = std::vector<std::string>;

namespace {

constexpr unsigned kProgram = 0755;

}  // namespace

TEST_CASE("a Python file that is no program runs under the Python of PATH", "[typed_command]") {
  const TemporaryFolder folder;
  folder.write("bin/python3", "#!/bin/sh\n", kProgram);
  const std::string script = folder.write("train.py", "print(1)\n");
  const Environment environment{{"PATH", folder / "bin"}};
  CHECK(spelled_out({{script, "--lr", "1"}}, environment).value() ==
        Words{"python3", script, "--lr", "1"});
}

TEST_CASE("ranks of safelaunch's own run Python without a buffer, as under torchrun",
          "[typed_command]") {
  const TemporaryFolder folder;
  folder.write("bin/python", "#!/bin/sh\n", kProgram);
  const std::string script = folder.write("train.py", "print(1)\n");
  const Environment environment{{"PATH", folder / "bin"}};
  CHECK(spelled_out({{script}, false, true}, environment).value() == Words{"python", "-u", script});
  CHECK(spelled_out({{"pkg.train", "x"}, true, true}, environment).value() ==
        Words{"python", "-u", "-m", "pkg.train", "x"});
  CHECK(spelled_out({{"pkg.train"}, true, false}, environment).value() ==
        Words{"python", "-m", "pkg.train"});
}

TEST_CASE("a Python file without a first line for the kernel runs, executable or not",
          "[typed_command]") {
  const TemporaryFolder folder;
  folder.write("bin/python3", "#!/bin/sh\n", kProgram);
  const Environment environment{{"PATH", folder / "bin"}};
  const std::string bare = folder.write("bare.py", "print(1)\n", kProgram);
  CHECK(spelled_out({{bare}}, environment).value() == Words{"python3", bare});
  const std::string program = folder.write("own.py", "#!/usr/bin/env python3\n", kProgram);
  CHECK(spelled_out({{program}}, environment).value() == Words{program});
}

TEST_CASE("a program of PATH that is called like a Python file stays what it is",
          "[typed_command]") {
  const TemporaryFolder folder;
  folder.write("bin/python3", "#!/bin/sh\n", kProgram);
  folder.write("bin/tool.py", "#!/usr/bin/env python3\n", kProgram);
  CHECK(spelled_out({{"tool.py"}}, {{"PATH", folder / "bin"}}).value() == Words{"tool.py"});
}

TEST_CASE("every other command stays as it was typed", "[typed_command]") {
  for (const Words& words : {Words{"torchrun", "train.py"}, Words{"./launch.sh"}, Words{"true"}})
    CHECK(spelled_out({words}, {}).value() == words);
}

TEST_CASE("a Python file that is not there is told by its name", "[typed_command]") {
  const auto refused = spelled_out({{"nowhere.py"}}, {{"PATH", "/bin"}});
  REQUIRE(refused.has_error());
  CHECK(refused.error().code == Errc::not_found);
  CHECK_THAT(refused.error().message, Catch::Matchers::ContainsSubstring("no file nowhere.py"));
}

TEST_CASE("the Python is the first of PATH, as for a shell", "[typed_command]") {
  const TemporaryFolder folder;
  folder.write("first/python", "#!/bin/sh\n", kProgram);
  folder.write("second/python3", "#!/bin/sh\n", kProgram);
  folder.write("env/bin/python3", "#!/bin/sh\n", kProgram);
  const std::string path = folder / "first" + ":" + (folder / "second");
  CHECK(python_of({{"PATH", path}}).value() == "python");
  CHECK(python_of({{"PATH", path}, {"VIRTUAL_ENV", folder / "env"}}).value() ==
        folder / "env/bin/python3");
  CHECK(python_of({{"PATH", path + ":" + (folder / "env/bin")}, {"VIRTUAL_ENV", folder / "env"}})
            .value() == "python");
  CHECK(python_of({{"PATH", path}, {"PYTHON_EXEC", "/opt/python"}}).value() == "/opt/python");
  CHECK(python_of({{"PATH", folder / "nowhere"}}).error().code == Errc::not_found);
}

TEST_CASE("what a command names and is not there is told", "[typed_command]") {
  const TemporaryFolder folder;
  folder.write("bin/torchrun", "#!/gone/bin/python\n", kProgram);
  folder.write("bin/python3", "#!/bin/sh\n", kProgram);
  const std::string script = folder.write("train.py", "");
  const Environment environment{{"PATH", folder / "bin"}};
  const auto missing = [&](const Words& words) {
    return missing_files(job::recognise(words, environment), environment);
  };
  CHECK(missing({"python3", script}).empty());
  CHECK(missing({"python3", "nofile.py"}) == Words{"there is no script nofile.py"});
  CHECK(missing({"nosuchcmd"}) == Words{"command not found: 'nosuchcmd' (looked in PATH)"});
  CHECK(missing({"torchrun", script}) ==
        Words{"the Python of torchrun, /gone/bin/python, is not there"});
}

TEST_CASE("a script is looked for only where nothing leads elsewhere", "[typed_command]") {
  const TemporaryFolder folder;
  for (const char* program : {"python3", "torchrun", "env", "uv", "srun", "nice", "bash"})
    folder.write(std::string("bin/") + program, "#!/bin/sh\n", kProgram);
  const Environment environment{{"PATH", folder / "bin"}};
  const auto missing = [&](const Words& words) {
    return missing_files(job::recognise(words, environment), environment);
  };
  const Words no_script{"there is no script nofile.py"};
  CHECK(missing({"python3", "nofile.py"}) == no_script);
  CHECK(missing({"torchrun", "nofile.py"}) == no_script);
  CHECK(missing({"python3", "-m", "torch.distributed.run", "nofile.py"}) == no_script);
  for (const Words& words :
       {Words{"env", "-C", "/x", "python3", "nofile.py"}, Words{"uv", "run", "nofile.py"},
        Words{"nice", "torchrun", "nofile.py"}, Words{"srun", "python3", "nofile.py"},
        Words{"bash", "nofile.sh"}, Words{"torchrun", "-m", "nofile"},
        Words{"torchrun", "--no-python", "nofile"}, Words{"python3", "-c", "nofile"},
        Words{"python3"}, Words{"torchrun", "--new", "x", "nofile.py"}, Words{}})
    CHECK(missing(words).empty());
}

TEST_CASE("a program and a script that are both not there are both told", "[typed_command]") {
  const Environment environment{{"PATH", "/nowhere"}};
  CHECK(missing_files(job::recognise({"python3", "nofile.py"}, environment), environment) ==
        Words{"command not found: 'python3' (looked in PATH)", "there is no script nofile.py"});
}

TEST_CASE("without a Python a script says what needs it", "[typed_command]") {
  const TemporaryFolder folder;
  const std::string script = folder.write("train.py", "print(1)\n");
  const Environment none{{"PATH", folder / "empty"}};
  CHECK(spelled_out({{script}}, none).error().message ==
        script + " needs Python: there is no python3 and no python in PATH");
  CHECK(spelled_out({{"pkg.train"}, true}, none).error().message ==
        "pkg.train needs Python: there is no python3 and no python in PATH");
  CHECK(spelled_out({{script}}, {}).error().code == Errc::not_found);
  CHECK(spelled_out({}, none).value().empty());
  CHECK(spelled_out({{}, true}, none).value().empty());
  CHECK(spelled_out({{script}}, {{"PYTHON_EXEC", "/opt/py"}}).value() == Words{"/opt/py", script});
}

TEST_CASE("a Python file that is not there is told with the folder that was looked in",
          "[typed_command]") {
  CHECK(spelled_out({{"nowhere.py"}}, {}).error().message ==
        "there is no file nowhere.py in " + std::filesystem::current_path().native());
}

TEST_CASE("a folder that is called like a Python file stays what was typed", "[typed_command]") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "package.py");
  CHECK(spelled_out({{folder / "package.py"}}, {}).value() == Words{folder / "package.py"});
}

TEST_CASE("an empty folder of PATH is the working directory, and a file that is no program none",
          "[typed_command]") {
  const TemporaryFolder folder;
  folder.write("a/python3", "", 0644);
  folder.write("b/python", "#!/bin/sh\n", kProgram);
  CHECK(python_of({{"PATH", folder / "a" + "::" + (folder / "b")}}).value() == "python");
  CHECK(python_of({{"PATH", ""}}).error().message == "there is no python3 and no python in PATH");
  CHECK(python_of({{"PATH", folder / "b"}, {"VIRTUAL_ENV", folder / "none"}}).value() == "python");
}
