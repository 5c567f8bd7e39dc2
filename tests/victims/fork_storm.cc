// fork_storm: says "ready" and then forks for five seconds at most, each process being replaced by
// its child as quickly as it can, as something that wants to escape its killer would.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <ctime>

int main() {
  ::signal(SIGTERM, SIG_IGN);
  std::puts("ready");
  std::fflush(stdout);
  const std::time_t end = std::time(nullptr) + 5;
  while (std::time(nullptr) < end) {
    const int child = ::fork();
    if (child > 0) ::_exit(0);
    ::usleep(500);
  }
  for (;;) ::pause();
}
