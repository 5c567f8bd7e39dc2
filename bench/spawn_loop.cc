// The floor of any launcher: N processes by posix_spawn, each with its RANK; then they are awaited.
#include <spawn.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int workers = std::atoi(argv[1]);
  for (int rank = 0; rank < workers; ++rank) {
    setenv("RANK", std::to_string(rank).c_str(), 1);
    if (posix_spawn(nullptr, argv[2], nullptr, nullptr, argv + 2, environ) != 0) return 1;
  }
  int failed = 0;
  for (int status = 0; wait(&status) > 0;) failed += status != 0 ? 1 : 0;
  return failed == 0 ? 0 : 1;
}
