#include "safelaunch/plugin/plugin.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "catch.h"

namespace fs = std::filesystem;
using namespace safelaunch;
using namespace safelaunch::plugin;

namespace {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "plugin-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { fs::remove_all(path_); }

  [[nodiscard]] fs::path file(const std::string& name, const std::string& text = {}) const {
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string content(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

const fs::path kNoFile = "/proc/nonexistent/nccl.conf";

}  // namespace

TEST_CASE("the installed library is the built one, byte for byte") {
  const TemporaryFolder cache;
  const auto library = install_plugin(cache.path());
  REQUIRE(library.has_value());
  CHECK(library->filename() == "libsafelaunch-nccl.so");
  CHECK(content(*library) == content(SAFELAUNCH_PLUGIN_LIBRARY));
  CHECK(install_plugin(cache.path()).value() == *library);
}

TEST_CASE("a job without a profiler plugin gets ours, and the way to us") {
  Environment environment{{"NCCL_PROFILER_PLUGIN", ""}, {"PATH", "/bin"}};
  CHECK_FALSE(users_profiler(environment, kNoFile).has_value());

  add_plugin_to(environment, "/cache/libsafelaunch-nccl.so", "@socket", "token");
  CHECK(environment == Environment{{"NCCL_PROFILER_PLUGIN", "/cache/libsafelaunch-nccl.so"},
                                   {"PATH", "/bin"},
                                   {"SAFELAUNCH_HOOK", "@socket"},
                                   {"SAFELAUNCH_HOOK_TOKEN", "token"}});
}

TEST_CASE("the user's own plugin wins, also where it is named none") {
  const std::string value = GENERATE("nsys", "none", "/opt/libx.so");
  CHECK(users_profiler({{"NCCL_PROFILER_PLUGIN", value}}, kNoFile) ==
        value + ", by NCCL_PROFILER_PLUGIN");
}

TEST_CASE("a plugin in one of NCCL's configuration files wins") {
  const TemporaryFolder folder;
  const std::string text = "# NCCL_PROFILER_PLUGIN=a\nNCCL_DEBUG=WARN\nNCCL_PROFILER_PLUGIN=x.so\n";
  const fs::path system = folder.file("nccl.conf", text);
  CHECK(users_profiler({}, system) == "x.so, by " + system.string());

  const fs::path home = folder.file(".nccl.conf", "NCCL_PROFILER_PLUGIN=mine\n");
  CHECK(users_profiler({{"HOME", folder.path().string()}}, system) == "mine, by " + home.string());

  // NCCL reads the named file in place of the one in the home.
  const fs::path named = folder.file("named.conf", "NCCL_PROFILER_PLUGINS=no\n");
  CHECK_FALSE(users_profiler({{"HOME", folder.path().string()}, {"NCCL_CONF_FILE", named.string()}},
                             kNoFile)
                  .has_value());
}

TEST_CASE("a plugin of the usual name on LD_LIBRARY_PATH wins") {
  const TemporaryFolder folder;
  const fs::path library = folder.file("libnccl-profiler.so");
  const std::string path = "/proc/nonexistent::" + folder.path().string() + ":/usr/lib";
  CHECK(users_profiler({{"LD_LIBRARY_PATH", path}}, kNoFile) ==
        library.string() + ", on LD_LIBRARY_PATH");
}
