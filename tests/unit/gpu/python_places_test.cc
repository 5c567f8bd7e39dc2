#include "safelaunch/gpu/python_places.h"

#include "catch.h"
#include "made_folder.h"

namespace safelaunch::gpu {
namespace {

using testing::MadeFolder;
using testing::MadeVenv;
using Folders = std::vector<std::string>;

TEST_CASE("a virtual environment has its own packages alone") {
  const MadeVenv made;
  made.folder("home/.local/lib/python3.11/site-packages");
  made.folder("base/lib/python3.11/site-packages");
  const auto places = python_places(made.python(), {{"HOME", made.path("home")}});
  CHECK(places.prefix == made.path("venv"));
  CHECK(places.packages ==
        Folders{made.path(MadeVenv::in_packages(""))
                    .substr(0, made.path(MadeVenv::in_packages("")).size() - 1)});
}

TEST_CASE("a virtual environment that lets the system's packages in has them last") {
  const MadeFolder made;
  made.program("venv/bin/python");
  made.file("venv/pyvenv.cfg",
            "home = " + made.path("base/bin") +
                "\ninclude-system-site-packages = true\nversion_info = 3.12.1\n");
  const auto own = made.folder("venv/lib/python3.12/site-packages");
  const auto system = made.folder("base/lib/python3.12/site-packages");
  made.folder("base/lib/python3.11/site-packages");
  CHECK(python_places(made.path("venv/bin/python"), {}).packages == Folders{own, system});
}

TEST_CASE("PYTHONPATH comes first, then the user's packages, then the installed ones") {
  const MadeFolder made;
  made.program("usr/bin/python3.11");
  made.link("usr/bin/python3", "python3.11");
  const auto first = made.folder("first");
  const auto user = made.folder("home/.local/lib/python3.11/site-packages");
  const auto local = made.folder("usr/local/lib/python3.11/dist-packages");
  const auto debian = made.folder("usr/lib/python3/dist-packages");
  const Environment environment{{"HOME", made.path("home")},
                                {"PATH", made.path("usr/bin")},
                                {"PYTHONPATH", first + ":" + made.path("not-there")}};
  CHECK(python_places("python3", environment).packages == Folders{first, user, local, debian});

  auto without = environment;
  without["PYTHONNOUSERSITE"] = "1";
  CHECK(python_places("python3", without).packages == Folders{first, local, debian});
}

TEST_CASE("conda's Python, which bears no version in its name, has all versions' folders") {
  const MadeFolder made;
  made.program("env/bin/python");
  const auto packages = made.folder("env/lib/python3.10/site-packages");
  CHECK(python_places(made.path("env/bin/python"), {}).packages == Folders{packages});
}

TEST_CASE("behind pyenv's shim is the version that pyenv would choose") {
  const MadeFolder made;
  made.program("pyenv/shims/python3");
  made.program("pyenv/versions/3.11.7/bin/python3");
  made.program("pyenv/versions/3.12.1/bin/python3");
  made.file("pyenv/version", "3.12.1\n");
  const auto older = made.folder("pyenv/versions/3.11.7/lib/python3.11/site-packages");
  const auto newer = made.folder("pyenv/versions/3.12.1/lib/python3.12/site-packages");
  const auto shim = made.path("pyenv/shims/python3");
  const Environment here{{"PYENV_DIR", made.folder("project/src")}};
  const auto chosen = [&](const std::string& version) {
    return python_places(shim, {{"PYENV_VERSION", version}}).packages;
  };
  CHECK(chosen("3.11.7") == Folders{older});
  CHECK(chosen("2.0").empty());
  CHECK(python_places(shim, here).packages == Folders{newer});
  made.file("project/.python-version", "3.11.7\n");
  CHECK(python_places(shim, here).packages == Folders{older});
}

TEST_CASE("a Python that does not exist has no places") {
  const auto places = python_places("no-such-python", {{"PATH", "/nowhere"}});
  CHECK(places.interpreter.empty());
  CHECK(places.packages.empty());
}

TEST_CASE("pyvenv.cfg is read as Python reads it") {
  const MadeFolder made;
  made.program("venv/bin/python");
  const auto own = made.folder("venv/lib/python3.12/site-packages");
  const auto system = made.folder("base/lib/python3.12/site-packages");
  const auto packages_with = [&](const std::string& line) {
    made.file("venv/pyvenv.cfg",
              "home = " + made.path("base/bin") + "\nversion = 3.12.1\n" + line + "\n");
    return python_places(made.path("venv/bin/python"), {}).packages;
  };
  for (const char* line :
       {"include-system-site-packages = true", "include-system-site-packages = True",
        "Include-System-Site-Packages=TRUE", "  include-system-site-packages  =  true  \r", "",
        "# nothing is said", "include-system-site-packages"}) {
    INFO(line);
    CHECK(packages_with(line) == Folders{own, system});
  }
  for (const char* line : {"include-system-site-packages = false",
                           "include-system-site-packages = 1", "include-system-site-packages ="}) {
    INFO(line);
    CHECK(packages_with(line) == Folders{own});
  }
}

TEST_CASE("of a line that comes twice in pyvenv.cfg the last counts, and one without = does not") {
  const MadeFolder made;
  made.program("venv/bin/python");
  made.file("venv/pyvenv.cfg",
            "nonsense\n\nversion = 3.9.1\nversion = 3.12.1\nhome = " + made.path("base/bin") +
                "\ninclude-system-site-packages = false");
  made.folder("venv/lib/python3.9/site-packages");
  const auto own = made.folder("venv/lib/python3.12/site-packages");
  CHECK(python_places(made.path("venv/bin/python"), {}).packages == Folders{own});
}

TEST_CASE("a version of whatever length names the folder by its first two numbers") {
  const MadeFolder made;
  made.program("venv/bin/python");
  for (const auto& [version, folder] :
       {std::pair("3.12.1.final.0", "python3.12"), std::pair("3.13", "python3.13"),
        std::pair("3.14.0rc1", "python3.14")}) {
    made.file("venv/pyvenv.cfg",
              "home = /base/bin\ninclude-system-site-packages = false\nversion = " +
                  std::string(version) + "\n");
    const auto own = made.folder("venv/lib/" + std::string(folder) + "/site-packages");
    CHECK(python_places(made.path("venv/bin/python"), {}).packages == Folders{own});
  }
}

TEST_CASE("a pyvenv.cfg without a home makes no virtual environment") {
  const MadeFolder made;
  made.program("prefix/bin/python3.12");
  made.file("prefix/pyvenv.cfg", "include-system-site-packages = false\n");
  const auto user = made.folder("home/.local/lib/python3.12/site-packages");
  const auto own = made.folder("prefix/lib/python3.12/site-packages");
  CHECK(python_places(made.path("prefix/bin/python3.12"), {{"HOME", made.path("home")}}).packages ==
        Folders{user, own});
}

TEST_CASE(
    "the user's packages are where PYTHONUSERBASE says, and in a virtual environment nowhere") {
  const MadeFolder made;
  made.program("usr/bin/python3.12");
  const auto based = made.folder("base/lib/python3.12/site-packages");
  made.folder("home/.local/lib/python3.12/site-packages");
  const Environment environment{{"HOME", made.path("home")}, {"PYTHONUSERBASE", made.path("base")}};
  CHECK(python_places(made.path("usr/bin/python3.12"), environment).packages == Folders{based});
  Environment without = environment;
  without["PYTHONNOUSERSITE"] = "";
  CHECK(python_places(made.path("usr/bin/python3.12"), without).packages == Folders{based});
}

TEST_CASE("a folder to which two ways lead is told once, and one that is a file never") {
  const MadeFolder made;
  made.program("usr/bin/python3.12");
  const auto own = made.folder("usr/lib/python3.12/site-packages");
  made.link("usr/lib64", "lib");
  made.file("usr/lib/python3/dist-packages");
  const Environment environment{{"PYTHONPATH", "::" + own + ":" + own + "/:"}};
  CHECK(python_places(made.path("usr/bin/python3.12"), environment).packages == Folders{own});
}

TEST_CASE("packages below lib64 are found, too") {
  const MadeFolder made;
  made.program("usr/bin/python3.12");
  const auto first = made.folder("usr/lib/python3.12/site-packages");
  const auto other = made.folder("usr/lib64/python3.12/site-packages");
  CHECK(python_places(made.path("usr/bin/python3.12"), {}).packages == Folders{first, other});
}

TEST_CASE("of several versions that PYENV_VERSION names the first is taken") {
  const MadeFolder made;
  made.program("pyenv/shims/python3");
  made.program("pyenv/versions/3.12.1/bin/python3");
  const auto own = made.folder("pyenv/versions/3.12.1/lib/python3.12/site-packages");
  CHECK(python_places(made.path("pyenv/shims/python3"), {{"PYENV_VERSION", "3.12.1:3.11.7"}})
            .packages == Folders{own});
}

TEST_CASE("a shim without any version of pyenv's is taken as it is") {
  const MadeFolder made;
  const auto shim = made.program("pyenv/shims/python3");
  const Environment here{{"PYENV_DIR", made.folder("project")}};
  CHECK(python_places(shim, here).interpreter == shim);
  CHECK(python_places(shim, here).packages.empty());
}

}  // namespace
}  // namespace safelaunch::gpu
