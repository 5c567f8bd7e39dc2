#include "safelaunch/host/limits.h"

#include <sys/resource.h>

namespace safelaunch::host {
namespace {

Limit limit_of(__rlimit_resource resource) {
  rlimit values{};
  if (::getrlimit(resource, &values) != 0) return {};
  const auto number = [](rlim_t value) { return value == RLIM_INFINITY ? kUnlimited : value; };
  return {number(values.rlim_cur), number(values.rlim_max)};
}

}  // namespace

ResourceLimits read_limits() {
  return {limit_of(RLIMIT_MEMLOCK), limit_of(RLIMIT_NOFILE), limit_of(RLIMIT_NPROC),
          limit_of(RLIMIT_STACK), limit_of(RLIMIT_CORE)};
}

}  // namespace safelaunch::host
