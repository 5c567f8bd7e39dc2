#include "nccl_library.h"

#include "shared_library.h"

namespace safelaunch::probe {

Result<NcclLibrary> NcclLibrary::open(const std::string& file) {
  auto library = SharedLibrary::open(file);
  if (!library) return Error{Errc::not_found, "cannot load NCCL: " + library.error().message};
  NcclLibrary nccl{};
  library->load(nccl.version, "ncclGetVersion");
  library->load(nccl.unique_id, "ncclGetUniqueId");
  library->load(nccl.init_rank, "ncclCommInitRankConfig");
  library->load(nccl.async_error, "ncclCommGetAsyncError");
  library->load(nccl.abort, "ncclCommAbort");
  library->load(nccl.all_reduce, "ncclAllReduce");
  library->load(nccl.error_string, "ncclGetErrorString");
  library->load(nccl.last_error, "ncclGetLastError");
  if (const auto complete = library->complete(file); !complete) return complete.error();
  return nccl;
}

Result<std::string> NcclLibrary::version_text() const {
  int code = 0;
  if (const auto asked = check(version(&code), "ncclGetVersion"); !asked) return asked.error();
  return fmt::format("{}.{}.{}", code / 10'000, code / 100 % 100, code % 100);
}

Result<void> NcclLibrary::check(ncclResult_t result, const char* call) const {
  if (result == ncclSuccess || result == ncclInProgress) return {};
  const char* last = last_error(nullptr);
  const bool told = last != nullptr && *last != '\0';
  return Error{Errc::peer_lost,
               fmt::format("{}: {} ({}){}{}", call, error_string(result), static_cast<int>(result),
                           told ? ": " : "", told ? last : "")};
}

}  // namespace safelaunch::probe
