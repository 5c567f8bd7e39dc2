// die_by_signal NUMBER: ends by that signal, without a core file.
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>

int main(int argc, char** argv) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const int number = argc > 1 ? std::atoi(argv[1]) : SIGTERM;
  ::signal(number, SIG_DFL);
  ::raise(number);
  return 1;
}
