// Which of the processes that a job leaves still read its output.
#include "launcher/launch/pipe_readers.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::launch;

namespace {

/// A child of ours that has only been forked, as the shell of `>(cat > log)` is at first.
class Forked {
 public:
  Forked() {
    REQUIRE(::pipe(ends_) == 0);
    pid_ = ::fork();
    if (pid_ == 0)
      for (;;) ::pause();
  }
  ~Forked() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  [[nodiscard]] int pid() const { return pid_; }

 private:
  int ends_[2];
  int pid_;
};

}  // namespace

TEST_CASE("a shell that was forked to read the job's output reads it before the pipe is its stdin",
          "[pipe_readers]") {
  bool seen = false;
  for (int tries = 0; !seen && tries < 50; ++tries) {  // a busy machine may let it grow too old
    const Forked shell;
    PipeReaders readers;
    readers.look(Clock::now());
    seen = readers.is_at_work(shell.pid());
  }
  CHECK(seen);
}
