// Says "ready PID" and stays, whatever polite signals it gets.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <initializer_list>

int main() {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::signal(signal, SIG_IGN);
  std::printf("ready %d\n", ::getpid());
  std::fflush(stdout);
  for (;;) ::pause();
}
