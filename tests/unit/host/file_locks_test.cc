#include "safelaunch/host/file_locks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>

#include "catch.h"
#include "safelaunch/base/unique_fd.h"
#include "temporary_folder.h"

using namespace safelaunch;

using namespace safelaunch::host;
using namespace safelaunch::testing;

TEST_CASE("the kernel's table tells holders from those that wait", "[file_locks]") {
  CHECK(parse_proc_locks("1: FLOCK  ADVISORY  WRITE 3868 08:01:1234 0 EOF\n"
                         "1: -> FLOCK  ADVISORY  WRITE 3870 08:01:1234 0 EOF\n"
                         "2: OFDLCK ADVISORY  READ -1 00:1a:77 0 EOF\n"
                         "torn\n") ==
        std::vector<FileLock>{{3868, 1234, false}, {3870, 1234, true}, {-1, 77, false}});
}

TEST_CASE("a lock is held by whoever the kernel names, or has the file open", "[file_locks]") {
  const TemporaryFolder folder;
  const std::string path = (folder / "a lock");
  CHECK_FALSE(lock_at(path, {}).age);
  std::ofstream(path) << "x";
  CHECK(lock_at(path, {}).age);
  CHECK_FALSE(lock_at(path, {}).holder);

  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  CHECK(lock_at(path, {}).holder == ::getpid());
  CHECK_FALSE(lock_at(path, {}, std::array{::getpid()}).holder);  // it only waits
  REQUIRE(::flock(file.get(), LOCK_EX) == 0);
  CHECK(lock_at(path, read_file_locks(), std::array{::getpid()}).holder == ::getpid());
}

TEST_CASE("a lock whose taker has ended is held by who has inherited its descriptor",
          "[file_locks]") {
  const TemporaryFolder folder;
  const std::string path = folder / "a lock";
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const pid_t taker = ::fork();  // as `flock 9` in a script
  if (taker == 0) ::_exit(::flock(file.get(), LOCK_EX));
  int status = 0;
  REQUIRE(::waitpid(taker, &status, 0) == taker);
  REQUIRE(status == 0);

  const UniqueFd other(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(::flock(other.get(), LOCK_EX | LOCK_NB) != 0);
  CHECK(lock_at(path, {{taker, 1, false}}).holder == ::getpid());
  const pid_t waiter = ::fork();
  if (waiter == 0) {
    ::flock(::open(path.c_str(), O_RDWR), LOCK_EX);
    ::_exit(0);
  }
  std::optional<AwaitedLock> blocked;
  while (!blocked) blocked = lock_that_blocks(waiter, read_file_locks());
  CHECK(blocked->path == path);
  CHECK(blocked->holder == ::getpid());
  CHECK(may_wait_for_lock(waiter));
  CHECK_FALSE(may_wait_for_lock(::getpid()));
  ::kill(waiter, SIGKILL);
  ::waitpid(waiter, nullptr, 0);
}
