#include "safelaunch/base/installed_files.h"

#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "catch.h"
#include "safelaunch/base/user_file.h"
#include "temporary_folder.h"

using namespace safelaunch;
using safelaunch::testing::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

constexpr std::array kInstalled{EmbeddedFile{"a.py", "import os\n"},
                                EmbeddedFile{"deep/b.py", "text"}};
const FileSet kInstalledSet{"thing", "the thing", kInstalled};

std::size_t installed_entries(const std::string& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("files are installed below a folder of their content's name", "[installed_files]") {
  const TemporaryFolder folder;
  const fs::path place = install(kInstalledSet, folder / "cache").value();
  CHECK(place == place_of(kInstalledSet, folder / "cache"));
  CHECK(place.filename().string().starts_with("thing-"));
  CHECK(user_file_text(place / "a.py") == "import os\n");
  CHECK(user_file_text(place / "deep/b.py") == "text");
}

TEST_CASE("installed files are for their owner alone, whatever the umask is", "[installed_files]") {
  const TemporaryFolder folder;
  const mode_t before = ::umask(0);
  const fs::path place = install(kInstalledSet, folder / "cache").value();
  ::umask(before);
  for (const char* file : {"a.py", "deep/b.py"})
    CHECK(fs::status(place / file).permissions() ==
          (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("the next run finds the same folder, with what was added to it", "[installed_files]") {
  const TemporaryFolder folder;
  const fs::path place = install(kInstalledSet, folder / "cache").value();
  std::ofstream(place / "a.pyc") << "compiled";
  CHECK(install(kInstalledSet, folder / "cache").value() == place);
  CHECK(user_file_text(place / "a.pyc") == "compiled");
}

TEST_CASE("a file that is cut short or lost is made anew, and nothing is left beside",
          "[installed_files]") {
  const TemporaryFolder folder;
  const fs::path place = install(kInstalledSet, folder / "cache").value();
  fs::resize_file(place / "a.py", 3);
  REQUIRE(install(kInstalledSet, folder / "cache").has_value());
  CHECK(user_file_text(place / "a.py") == "import os\n");
  fs::remove_all(place / "deep");
  REQUIRE(install(kInstalledSet, folder / "cache").has_value());
  CHECK(user_file_text(place / "deep/b.py") == "text");
  CHECK(installed_entries(folder / "cache") == 1);
}

TEST_CASE("every difference in names or texts makes another folder", "[installed_files]") {
  const auto place = [](std::array<EmbeddedFile, 2> files) {
    return place_of({"thing", "the thing", files}, "/c").string();
  };
  const std::string first = place({{{"a", "bc"}, {"d", "e"}}});
  CHECK(first == place({{{"a", "bc"}, {"d", "e"}}}));
  CHECK(first != place({{{"ab", "c"}, {"d", "e"}}}));  // the same bytes, divided elsewhere
  CHECK(first != place({{{"a", "bc"}, {"de", ""}}}));
  CHECK(first != place({{{"d", "e"}, {"a", "bc"}}}));
  CHECK(first != place({{{"a", "bC"}, {"d", "e"}}}));
  CHECK(place_of({"other", "the thing", kInstalled}, "/c") != place_of(kInstalledSet, "/c"));
}

TEST_CASE("a cache in which others may write gets no file", "[installed_files]") {
  const TemporaryFolder folder;
  REQUIRE(::mkdir((folder / "cache").c_str(), 0700) == 0);
  REQUIRE(::chmod((folder / "cache").c_str(), 0777) == 0);
  const auto refused = install(kInstalledSet, folder / "cache");
  REQUIRE(refused.has_error());
  CHECK(refused.error().code == Errc::os);
  CHECK(refused.error().message == "the thing cannot be installed in " + folder / "cache" +
                                       ": everybody can write to " + folder / "cache" +
                                       " (mode 0777); choose another place with XDG_CACHE_HOME");
  CHECK(installed_entries(folder / "cache") == 0);
}

TEST_CASE("an installed folder that was opened to others is refused", "[installed_files]") {
  const TemporaryFolder folder;
  const fs::path place = install(kInstalledSet, folder / "cache").value();
  REQUIRE(::chmod(place.c_str(), 0770) == 0);
  CHECK(install(kInstalledSet, folder / "cache").error().message ==
        "the thing cannot be installed: " + place.string() +
            " belongs to somebody else, or others may write to it; remove it, or choose another "
            "cache directory with XDG_CACHE_HOME");
}

TEST_CASE("a link in the place of the folder is refused, though all is in it",
          "[installed_files]") {
  const TemporaryFolder folder;
  const fs::path place = install(kInstalledSet, folder / "cache").value();
  fs::rename(place, folder / "elsewhere");
  fs::create_directory_symlink(folder / "elsewhere", place);
  CHECK(install(kInstalledSet, folder / "cache").has_error());
}

TEST_CASE("a cache that is a file cannot hold anything", "[installed_files]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("cache", "");
  CHECK(install(kInstalledSet, file).error().message ==
        "the thing cannot be installed in " + file + ": " + file +
            " is not a folder; choose another place with XDG_CACHE_HOME");
}
