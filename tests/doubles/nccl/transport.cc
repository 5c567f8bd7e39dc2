#include "nccl/transport.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "nccl/log.h"
#include "nccl/places.h"
#include "nccl/settings.h"
#include "nccl/version.h"

namespace safelaunch::testing {
namespace {

constexpr std::size_t kSegment = 9637888;

/// The bytes of /dev/shm that a network proxy takes, as measured.
std::size_t pool_size() {
  if (played() < NcclVersion{2, 23}) return 7340384;
  if (played() < NcclVersion{2, 25}) return 14156128;
  return played() < NcclVersion{2, 28} ? 33030528 : 34210176;
}

/// Up to 2.19 the file is only made long, and a page that is not there kills at the first touch.
void touch_all(int fd, std::size_t size) {
  if (::ftruncate(fd, static_cast<off_t>(size)) != 0) return;
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  std::memset(memory, 0, size);
  ::munmap(memory, size);
}

ncclResult_t no_room(int device, const std::string& path, std::size_t size, int error,
                     Voice voice) {
  std::string reason;
  if (played() >= NcclVersion{2, 22})
    reason = std::string(", error: ") + std::strerror(error) + " (" + std::to_string(error) + ")";
  log_warn(
      device, places().shm_extend,
      "Error: failed to extend " + path + " to " + std::to_string(size + 4) + " bytes" + reason,
      voice);
  log_warn(device, places().shm_create,
           "Error while creating shared memory segment " + path + " (size " + std::to_string(size) +
               ")" + reason,
           voice);
  return ncclSystemError;
}

/// A file of `size` bytes in /dev/shm that is really there, and nameless as soon as it is.
ncclResult_t make_segment(int device, std::size_t size, Voice voice, UniqueFd& held) {
  std::string path = "/dev/shm/nccl-XXXXXX";
  held.reset(::mkostemp(path.data(), O_CLOEXEC));
  if (played() < NcclVersion{2, 20}) {
    ::unlink(path.c_str());
    touch_all(held.get(), size);
    return ncclSuccess;
  }
  const int error = ::posix_fallocate(held.get(), 0, static_cast<off_t>(size + 4));
  ::unlink(path.c_str());
  return error == 0 ? ncclSuccess : no_room(device, path, size, error, voice);
}

ncclResult_t no_queues(int device) {
  log_warn(device, places().verbs,
           "Call to ibv_create_cq failed with error Cannot allocate memory");
  return ncclSystemError;
}

/// Shared memory outside /dev/shm, which cuMem gives from 2.23 on.
bool has_cumem_host() {
  return played() >= NcclVersion{2, 23} && uses_cumem() &&
         number_setting("NCCL_CUMEM_HOST_ENABLE", 0) == 1;
}

}  // namespace

Path path_between(bool same_host) {
  if (!same_host || fault("ib")) return Path::net;
  const bool p2p = number_setting("NCCL_P2P_DISABLE", 0) == 0 && setting("NCCL_P2P_LEVEL") != "LOC";
  if (p2p && !fault("shm-small")) return Path::p2p;
  return number_setting("NCCL_SHM_DISABLE", 0) == 0 ? Path::shm : Path::net;
}

std::string network_name() {
  const bool ib = fault("ib") && number_setting("NCCL_IB_DISABLE", 0) == 0;
  const std::string wish = setting("NCCL_NET").value_or(ib ? "IB" : "Socket");
  return wish == "Socket" || (wish == "IB" && ib) ? wish : "";
}

ncclResult_t set_up(Path path, int device, UniqueFd& held) {
  ncclResult_t result = ncclSuccess;
  const char* trail = "";
  if (path == Path::net && network_name() == "IB") {
    result = no_queues(device);
  } else if (path != Path::p2p && fault("shm-small") && !has_cumem_host()) {
    const bool by_proxy = path == Path::net || played() >= NcclVersion{2, 23};
    result = make_segment(device, path == Path::shm ? kSegment : pool_size(),
                          by_proxy ? Voice::proxy : Voice::caller, held);
    trail = path == Path::shm ? places().shm_trail : places().pool_trail;
  }
  if (result == ncclSuccess) return result;
  log_trail(device, trail, result);
  log_trail(device, places().connect_trail, result);
  log_trail(device, places().init_trail, result);
  return result;
}

}  // namespace safelaunch::testing
