// report_signals COUNT: says "ready PID", then "signal N" for each signal; ends after COUNT of
// them.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  std::printf("ready %d\n", ::getpid());
  std::fflush(stdout);
  for (int left = argc > 1 ? std::atoi(argv[1]) : 1; left > 0; --left) {
    std::printf("signal %d\n", ::sigwaitinfo(&all, nullptr));
    std::fflush(stdout);
  }
}
