#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace safelaunch::testing {

/// A home and a folder for temporary files of this process alone: what lies in those of the person
/// who runs the tests, and what other tests do meanwhile, decides nothing. tests/own_folders.py is
/// the same for tests in Python.
class OwnFolders {
 public:
  OwnFolders() {
    namespace fs = std::filesystem;
    std::string pattern = fs::temp_directory_path() / "test-XXXXXX";  // short: sockets lie below it
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
    // As / and /tmp are: tests change to users who must reach what lies below.
    fs::permissions(path_, fs::perms(0755));
    fs::create_directory(path_ + "/home");
    fs::create_directory(path_ + "/tmp");
    fs::permissions(path_ + "/tmp", fs::perms(01777));
    ::setenv("HOME", (path_ + "/home").c_str(), 1);
    ::setenv("TMPDIR", (path_ + "/tmp").c_str(), 1);
    for (const char* name : {"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME",
                             "XDG_RUNTIME_DIR"})
      ::unsetenv(name);
  }
  OwnFolders(const OwnFolders&) = delete;
  OwnFolders& operator=(const OwnFolders&) = delete;
  ~OwnFolders() {
    std::error_code ignored;
    if (::getpid() == owner_) std::filesystem::remove_all(path_, ignored);
  }

 private:
  std::string path_;
  pid_t owner_ =
      ::getpid();  // a child that a test forks and that comes to main's end removes nothing
};

}  // namespace safelaunch::testing
