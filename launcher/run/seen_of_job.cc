#include "seen_of_job.h"

#include <algorithm>

namespace safelaunch::run {
namespace {

// "gloo", "cpu:gloo,cuda:gloo". Anything else, UCC say, may use NCCL below.
bool does_without_nccl(std::string_view backend) {
  while (!backend.empty()) {
    std::string_view one = backend.substr(0, backend.find(','));
    backend.remove_prefix(std::min(one.size() + 1, backend.size()));
    one.remove_prefix(one.find(':') == std::string_view::npos ? 0 : one.find(':') + 1);
    if (one != "gloo" && one != "mpi") return false;
    if (backend.empty()) return true;
  }
  return false;
}

}  // namespace

bool may_use_nccl(const SeenOfJob& seen) {
  if (seen.nccl || seen.nccl_spoke) return true;
  const bool others_alone =
      !seen.backends.empty() && std::ranges::all_of(seen.backends, does_without_nccl);
  return seen.gpu && !others_alone;
}

bool may_change_to_gloo(const SeenOfJob& seen) {
  if (seen.backends.empty()) return true;  // nobody came so far
  return std::ranges::any_of(seen.backends, [&](const std::string& backend) {
    if (backend.empty()) return seen.gpu;  // NCCL for tensors on a GPU, gloo for all others
    return backend != "jax" && !does_without_nccl(backend);
  });
}

}  // namespace safelaunch::run
