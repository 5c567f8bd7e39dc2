#pragma once

#include <string>

#include "safelaunch/base/result.h"
#include "safelaunch/gpu/nccl_api.h"

namespace safelaunch::probe {

/// The calls of libnccl that the probe makes. All are there from 2.18 on.
struct NcclLibrary {
  decltype(&::ncclGetVersion) version;
  decltype(&::ncclGetUniqueId) unique_id;
  decltype(&::ncclCommInitRankConfig) init_rank;
  decltype(&::ncclCommGetAsyncError) async_error;
  decltype(&::ncclCommAbort) abort;
  decltype(&::ncclAllReduce) all_reduce;
  decltype(&::ncclGetErrorString) error_string;
  decltype(&::ncclGetLastError) last_error;

  [[nodiscard]] static Result<NcclLibrary> open(const std::string& file);

  /// "2.28.9".
  [[nodiscard]] Result<std::string> version_text() const;

  /// Nothing for ncclSuccess and ncclInProgress; else "ncclAllReduce: unhandled system error (2):
  /// …" with what NCCL says of its last error.
  [[nodiscard]] Result<void> check(ncclResult_t result, const char* call) const;
};

}  // namespace safelaunch::probe
