// slow_stop: says "ready", saves its state at the first TERM ("saved 1"), and ends when its stdin
// does, telling how many TERMs it has had in all ("terms N").
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

namespace {

volatile std::sig_atomic_t terms = 0;

void count(int) {
  terms = terms + 1;
}

void say(const char* what, int number) {
  std::printf("%s %d\n", what, number);
  std::fflush(stdout);
}

}  // namespace

int main() {
  struct sigaction action {};
  action.sa_handler = count;
  ::sigaction(SIGTERM, &action, nullptr);
  say("ready", ::getpid());
  while (terms == 0) ::pause();
  say("saved", terms);
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR) continue;
  say("terms", terms);
}
