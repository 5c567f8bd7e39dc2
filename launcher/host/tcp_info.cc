// Apart, since the kernel's header has more fields than the C library's, and both define tcp_info.

#include <linux/tcp.h>

#include <algorithm>
#include <cstring>

#include "safelaunch/host/sockets.h"

namespace safelaunch::host {

ConnectionTraffic traffic_in_tcp_info(const void* info, std::size_t size) {
  tcp_info known{};
  if (size != 0) std::memcpy(&known, info, std::min(size, sizeof known));
  return {known.tcpi_bytes_acked + known.tcpi_bytes_received, known.tcpi_data_segs_in};
}

}  // namespace safelaunch::host
