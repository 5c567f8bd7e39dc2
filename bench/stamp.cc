// A worker whose first act is to note the time: $STAMPS/rank-$RANK holds CLOCK_MONOTONIC in ns.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <string>

int main() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const char* folder = std::getenv("STAMPS");
  const char* rank = std::getenv("RANK");
  if (folder == nullptr || rank == nullptr) return 2;
  std::FILE* file = std::fopen((std::string(folder) + "/rank-" + rank).c_str(), "w");
  if (file == nullptr) return 1;
  std::fprintf(file, "%lld%09ld", static_cast<long long>(now.tv_sec), now.tv_nsec);
  return std::fclose(file) == 0 ? 0 : 1;
}
