#include "safelaunch/hook/install.h"

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "catch.h"

namespace fs = std::filesystem;
using namespace safelaunch;
using namespace safelaunch::hook;

namespace {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (fs::temp_directory_path() / "hook-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() { fs::remove_all(path_); }

  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string content(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::size_t entries(const fs::path& directory) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("the installed directory holds every file, byte for byte") {
  const TemporaryDirectory cache;
  const auto directory = install_hook(cache.path() / "made" / "on demand");
  REQUIRE(directory.has_value());
  CHECK(hook_files().size() > 10);
  for (const EmbeddedFile& file : hook_files()) {
    CHECK(content(*directory / file.path) == file.text);
  }
}

TEST_CASE("the installed directory has both doors") {
  const TemporaryDirectory cache;
  const auto directory = install_hook(cache.path());
  REQUIRE(directory.has_value());
  CHECK(fs::exists(*directory / "sitecustomize.py"));
  CHECK(content(*directory / "torch_door/safelaunch_hook-0.dist-info/entry_points.txt")
            .find("[torch.backends]") == 0);
}

TEST_CASE("nobody else may write to the installed directory") {
  const TemporaryDirectory cache;
  const auto directory = install_hook(cache.path());
  REQUIRE(directory.has_value());
  CHECK((fs::status(*directory).permissions() & fs::perms::mask) == fs::perms::owner_all);
}

TEST_CASE("an installed hook is left as it is, with Python's compiled files") {
  const TemporaryDirectory cache;
  const auto first = install_hook(cache.path());
  REQUIRE(first.has_value());
  std::ofstream(*first / "compiled.pyc") << "bytes";

  const auto second = install_hook(cache.path());

  REQUIRE(second.has_value());
  CHECK(*second == *first);
  CHECK(fs::exists(*first / "compiled.pyc"));
}

TEST_CASE("a hook whose file was cut short is made anew, and nothing is left beside it") {
  const TemporaryDirectory cache;
  const auto first = install_hook(cache.path());
  REQUIRE(first.has_value());
  fs::resize_file(*first / "sitecustomize.py", 7);

  const auto second = install_hook(cache.path());

  REQUIRE(second.has_value());
  CHECK(*second == *first);
  CHECK(fs::file_size(*second / "sitecustomize.py") > 7);
  CHECK(entries(cache.path()) == 1);
}

TEST_CASE("a hook directory that others may write to is refused") {
  const TemporaryDirectory cache;
  const auto directory = install_hook(cache.path());
  REQUIRE(directory.has_value());
  REQUIRE(::chmod(directory->c_str(), 0777) == 0);

  const auto refused = install_hook(cache.path());

  REQUIRE(refused.has_error());
  CHECK(refused.error().message.find("others may write to it") != std::string::npos);
}

TEST_CASE("a symbolic link in the place of the hook directory is refused") {
  const TemporaryDirectory cache;
  const TemporaryDirectory elsewhere;
  const auto directory = install_hook(cache.path());
  REQUIRE(directory.has_value());
  fs::rename(*directory, elsewhere.path() / "hook");
  fs::create_directory_symlink(elsewhere.path() / "hook", *directory);

  CHECK(install_hook(cache.path()).has_error());
}

TEST_CASE("a cache directory that cannot be made is named in the error") {
  const TemporaryDirectory cache;
  std::ofstream(cache.path() / "file") << "not a directory";

  const auto result = install_hook(cache.path() / "file" / "cache");

  REQUIRE(result.has_error());
  CHECK(result.error().code == Errc::os);
  CHECK(result.error().message.find("file/cache") != std::string::npos);
}

TEST_CASE("a path that PYTHONPATH cannot hold is refused") {
  const TemporaryDirectory cache;
  CHECK(install_hook(cache.path() / "a:b").has_error());
}

TEST_CASE("the hook comes first on PYTHONPATH, before what the user has there") {
  Environment environment{{"PYTHONPATH", "/home/me/lib"}, {"PATH", "/bin"}};

  add_hook_to(environment, "/cache/hook-1", "@name", "token");

  CHECK(environment ==
        Environment{{"PATH", "/bin"},
                    {"PYTHONPATH", "/cache/hook-1:/cache/hook-1/torch_door:/home/me/lib"},
                    {"SAFELAUNCH_HOOK", "@name"},
                    {"SAFELAUNCH_HOOK_TOKEN", "token"}});
}

TEST_CASE("without a PYTHONPATH the hook alone is on it, and not the working directory") {
  Environment environment{{"PYTHONPATH", ""}};
  add_hook_to(environment, "/cache/hook-1", "@name", "token");
  CHECK(environment["PYTHONPATH"] == "/cache/hook-1:/cache/hook-1/torch_door");
}
