// fork_orphan [CODE]: leaves a daemon with a session of its own, which ignores TERM, says "ready
// PID" and stays. With CODE the first process then ends with it; without, it stays too.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace {

[[noreturn]] void stay() {
  for (;;) ::pause();
}

[[noreturn]] void become_daemon() {
  ::setsid();
  if (::fork() != 0) ::_exit(0);
  ::signal(SIGTERM, SIG_IGN);
  std::printf("ready %d\n", ::getpid());
  std::fflush(stdout);
  stay();
}

}  // namespace

int main(int argc, char** argv) {
  const int child = ::fork();
  if (child == 0) become_daemon();
  ::waitpid(child, nullptr, 0);
  if (argc > 1) return std::atoi(argv[1]);
  stay();
}
