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

}  // namespace
}  // namespace safelaunch::gpu
