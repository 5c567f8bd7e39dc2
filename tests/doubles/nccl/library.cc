// The steps that come once in a process: environment plugin, interface of the bootstrap.
#include <atomic>
#include <cstdlib>

#include "nccl/communicator.h"
#include "nccl/log.h"
#include "nccl/places.h"
#include "nccl/settings.h"
#include "nccl/version.h"

namespace safelaunch::testing {
namespace {

void say_good_bye() {
  log_moment(Moment::exit, {}, 0);
}

}  // namespace

void log_once(Moment moment, const Facts& facts, int device) {
  static std::atomic<unsigned> said = 0;
  const unsigned bit = 1U << static_cast<unsigned>(moment);
  if (!(said.fetch_or(bit) & bit)) log_moment(moment, facts, device);
}

ncclResult_t open_library(std::optional<NetworkInterface>& interface) {
  Facts facts;
  facts.add_environment();
  if (setting("NCCL_SOCKET_IFNAME").value_or("").size() < 2)
    facts.truths.erase("NCCL_SOCKET_IFNAME");
  interface = chosen_interface();
  if (interface) {
    facts.words["interface"] = interface->text();
    facts.truths.insert("interface");
  }
  const int device = device_of_caller();
  log_once(Moment::library, facts, device);
  log_once(Moment::bootstrap_net, facts, device);
  if (interface) {
    static const int at_exit = std::atexit(say_good_bye);
    return at_exit == 0 ? ncclSuccess : ncclSystemError;
  }
  const ncclResult_t result = played() < NcclVersion{2, 23} ? ncclInternalError : ncclInvalidUsage;
  log_warn(device, places().no_interface, "Bootstrap : no socket interface found");
  log_trail(device, places().no_interface_trail, result);
  return result;
}

}  // namespace safelaunch::testing
