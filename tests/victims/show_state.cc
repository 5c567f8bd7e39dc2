// Prints what it was started with, a word and a value a line: blocked and ignored signals, open
// descriptors and how many there may be, umask, CPUs, whether it leads a session, its terminal, its
// arguments.
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void show_signals() {
  std::FILE* status = std::fopen("/proc/self/status", "r");
  char line[256];
  while (std::fgets(line, sizeof(line), status) != nullptr)
    if (std::strncmp(line, "SigBlk", 6) == 0 || std::strncmp(line, "SigIgn", 6) == 0)
      std::fputs(line, stdout);
  std::fclose(status);
}

void show_descriptors() {
  std::printf("fds:");
  for (int fd = 0; fd < 1024; ++fd)
    if (::fcntl(fd, F_GETFD) >= 0) std::printf(" %d", fd);
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  show_descriptors();
  show_signals();
  rlimit descriptors{};
  ::getrlimit(RLIMIT_NOFILE, &descriptors);
  std::printf("may open: %ju\n", static_cast<std::uintmax_t>(descriptors.rlim_cur));
  const mode_t mask = ::umask(0);
  std::printf("umask: %03o\n", static_cast<unsigned>(mask));
  cpu_set_t cpus;
  ::sched_getaffinity(0, sizeof(cpus), &cpus);
  std::printf("cpus: %d\n", CPU_COUNT(&cpus));
  std::printf("leader: %d\n", ::getsid(0) == ::getpid() ? 1 : 0);
  const int terminal = ::open("/dev/tty", O_RDWR | O_NOCTTY);
  std::printf("terminal: %d\n", terminal >= 0 ? 1 : 0);
  for (int i = 0; i < argc; ++i) std::printf("argument: %s\n", argv[i]);
}
