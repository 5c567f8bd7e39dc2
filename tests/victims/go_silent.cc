// Says "ready PID" and then nothing more.
#include <unistd.h>

#include <cstdio>

int main() {
  std::printf("ready %d\n", ::getpid());
  std::fflush(stdout);
  for (;;) ::pause();
}
