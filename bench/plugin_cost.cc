// What the NCCL plugin costs: ns of one call of its functions, before the first collective and
// after it. After it NCCL calls them no more, since the mask is 0 (tests/unit/plugin holds that),
// so the second line is a bound for calls that were under way.
//
//     plugin_cost libsafelaunch-nccl.so
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "plugin/library/profiler_abi.h"

using namespace safelaunch::plugin;
using Table = ProfilerTable<InitV5, EventV5>;

namespace {

constexpr int kCalls = 10'000'000;

// Somebody to talk to; what is said waits in the socket.
void listen_for_plugin() {
  const char name[] = "@safelaunch-bench";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name + 1, sizeof name - 2);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + sizeof name - 1);
  const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(fd, 8) != 0)
    std::exit(1);
  ::setenv("SAFELAUNCH_HOOK", name, 1);
  ::setenv("SAFELAUNCH_HOOK_TOKEN", "bench", 1);
}

double ns_per_launch(Table& table, void* context) {
  const KernelLaunchV5 launch{{kKernelLaunch, nullptr, 0}, nullptr};
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i) {
    void* handle = nullptr;
    table.start_event(context, &handle, &launch.head);
    if (handle != nullptr) table.stop_event(handle);
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  return took.count() / kCalls;
}

}  // namespace

int main(int argc, char** argv) {
  void* library = argc == 2 ? ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (library == nullptr) return std::fprintf(stderr, "usage: plugin_cost LIBRARY\n"), 64;
  listen_for_plugin();
  auto& table = *static_cast<Table*>(::dlsym(library, "ncclProfiler_v5"));
  void* context = nullptr;
  int mask = 0;
  table.init(&context, 7, &mask, nullptr, 1, 2, 0, nullptr);
  std::printf("before the first collective, a kernel of a send or receive: %.1f ns, mask %#x\n",
              ns_per_launch(table, context), static_cast<unsigned>(mask));

  const CollectiveApiV5 call{
      {kCollectiveApi, nullptr, 0}, "AllReduce", 1, "float", 0, nullptr, false};
  void* handle = nullptr;
  table.start_event(context, &handle, &call.head);
  std::printf("after the first collective, a call: %.1f ns, mask %#x\n",
              ns_per_launch(table, context), static_cast<unsigned>(mask));
  return 0;
}
