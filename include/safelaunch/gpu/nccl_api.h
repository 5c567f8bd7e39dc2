#pragma once

#include <climits>
#include <cstddef>

/// The part of NCCL's API that we use, under NCCL's names, so that nothing of NVIDIA's is needed to
/// build: libnccl is opened at run time, and is the job's own. Names, values and signatures are
/// those of nccl.h from 2.18 to 2.32. tests/unit/gpu/api compares all of it with the real
/// header.

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's.
using ncclComm_t = struct ncclComm*;
using cudaStream_t = struct CUstream_st*;

inline constexpr std::size_t NCCL_UNIQUE_ID_BYTES = 128;
struct ncclUniqueId {
  char internal[NCCL_UNIQUE_ID_BYTES];
};

enum ncclResult_t : unsigned {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
};

enum ncclDataType_t : unsigned {
  ncclInt8 = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclFloat32 = 7,
  ncclFloat64 = 8,
  ncclBfloat16 = 9,
};

enum ncclRedOp_t : unsigned { ncclSum = 0, ncclProd = 1, ncclMax = 2, ncclMin = 3, ncclAvg = 4 };

inline constexpr int NCCL_CONFIG_UNDEF_INT = INT_MIN;

/// The structure of 2.18. NCCL reads as many bytes as `size` says, and takes what its own version
/// has beyond `version` from its defaults (parseCommConfig in its init.cc), so every NCCL since
/// takes it. Releases since 2.25 have a field where 2.18 has padding; it is named here, so that it
/// has a value.
struct ncclConfig_t {
  std::size_t size = sizeof(ncclConfig_t);
  unsigned magic = 0xcafebeef;
  unsigned version = 21800;
  int blocking = NCCL_CONFIG_UNDEF_INT;
  int cgaClusterSize = NCCL_CONFIG_UNDEF_INT;
  int minCTAs = NCCL_CONFIG_UNDEF_INT;
  int maxCTAs = NCCL_CONFIG_UNDEF_INT;
  const char* netName = nullptr;
  int splitShare = NCCL_CONFIG_UNDEF_INT;
  int trafficClass = NCCL_CONFIG_UNDEF_INT;
};

extern "C" {

ncclResult_t ncclGetVersion(int* version);
ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
const char* ncclGetErrorString(ncclResult_t result);
const char* ncclGetLastError(ncclComm_t comm);

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
