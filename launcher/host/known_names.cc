#include <algorithm>

#include "safelaunch/host/activity.h"

namespace safelaunch::host {
namespace {

/// The kernel cuts names to 15 bytes. All but `safelaunch` (our hook) were seen in torch 2.13,
/// gloo, NCCL 2.28, CUDA 12 and JAX 0.10; gloo_tcp_loop wakes a hundred times a second in a hung
/// job.
constexpr std::string_view kHousekeeping[] = {
    "safelaunch",     "pt_tcpstore", "pt_nccl",     "pt_gloo", "gloo_tcp_loop", "NCCL ",
    "cuda-EvtHandlr", "cuda0000",    "jemalloc_bg", "grpc",    "event_engine",  "timer_manager",
};

constexpr std::string_view kCompilers[] = {
    "as",    "c++",     "c++filt", "cc",       "cc1",      "cc1plus",   "ccache", "cicc",
    "clang", "clang++", "cmake",   "collect2", "cudafe++", "fatbinary", "g++",    "gcc",
    "hipcc", "ld",      "ld.bfd",  "ld.gold",  "ld.lld",   "lld",       "lto1",   "make",
    "mold",  "ninja",   "nvcc",    "nvlink",   "ptxas",    "rustc",
};

}  // namespace

bool is_housekeeping(std::string_view thread_comm) {
  return std::ranges::any_of(kHousekeeping,
                             [&](auto name) { return thread_comm.starts_with(name); });
}

bool is_compiler(std::string_view comm) {
  // gcc-12, clang-14, x86_64-linux-gnu-g++ cut to 15 bytes is beyond us: cc1plus below it is not.
  const auto plain = comm.substr(0, comm.find('-'));
  return std::ranges::find(kCompilers, plain) != std::end(kCompilers);
}

}  // namespace safelaunch::host
