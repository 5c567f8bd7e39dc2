#include "safelaunch/run/nccl_settings.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "safelaunch/base/format.h"
#include "safelaunch/base/unique_fd.h"

namespace safelaunch::run {
namespace {

/// NCCL that cannot open its file writes to the job's stdout instead.
bool can_be_written(const std::filesystem::path& directory) {
  const std::string file = (directory / ".written").native();
  const UniqueFd made(open(file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  if (!made) return false;
  const bool written = write(made.get(), "", 1) == 1;  // a full disk shows only here
  (void)unlink(file.c_str());
  return written;
}

/// A TCP port of the loopback device that nobody has at this moment; 0 where there is none.
int free_port() {
  const UniqueFd probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!probe || bind(probe.get(), generic, size) != 0) return 0;
  if (getsockname(probe.get(), generic, &size) != 0) return 0;
  return ntohs(address.sin_port);
}

std::string random_number() {
  std::uint64_t number = 0;
  (void)!getrandom(&number, sizeof number, 0);
  return fmt::format("{:#x}", number | 1);  // never 0
}

void set_unless_set(Environment& environment, const char* name, std::string value) {
  environment.try_emplace(name, std::move(value));
}

/// NCCL writes nothing at all unless NCCL_DEBUG asks for it.
NcclListening::Way way_of_user(const Environment& environment, NcclListening& listening) {
  const auto value = value_or(environment, "NCCL_DEBUG_FILE");
  const auto file = nccl::parse_nccl_log_file(value);
  if (!file) return NcclListening::Way::streams;
  listening.file = *file;
  listening.variable = value;
  return NcclListening::Way::files;
}

void add_log_variables(const NcclDoor& door, Environment& environment) {
  set_unless_set(environment, "NCCL_DEBUG_FILE",
                 nccl::escape_for_nccl(door.directory.native()) + "/nccl.%h.%p");
  set_unless_set(environment, "NCCL_DEBUG", "INFO");
  // Cheap ones: a few dozen lines a rank, none after the first collective.
  set_unless_set(environment, "NCCL_DEBUG_SUBSYS", "INIT,BOOTSTRAP,ENV,NET");
  set_unless_set(environment, "NCCL_DEBUG_TIMESTAMP_LEVELS", "ALL");
  set_unless_set(environment, "NCCL_DEBUG_TIMESTAMP_FORMAT", "[%F %T.%6f] ");
}

}  // namespace

NcclDoor open_nccl_door(const std::filesystem::path& directory) {
  NcclDoor door;
  if (!directory.empty() && can_be_written(directory)) door.directory = directory;
  if (const int port = free_port(); port != 0) door.ras_address = fmt::format("127.0.0.1:{}", port);
  door.socket_magic = random_number();
  return door;
}

NcclListening listen_to_nccl(const NcclDoor& door, const NcclReach& reach,
                             Environment& environment) {
  NcclListening listening;
  const bool all_here = reach.descendants == job::Descendants::all && reach.nodes == 1;
  if (all_here) {
    if (!door.ras_address.empty() && !environment.contains("NCCL_RAS_ADDR"))
      listening.ras_address = environment["NCCL_RAS_ADDR"] = door.ras_address;
    set_unless_set(environment, "NCCL_SOCKET_MAGIC", door.socket_magic);
  }
  const bool users = environment.contains("NCCL_DEBUG") || environment.contains("NCCL_DEBUG_FILE");
  if (users) {
    listening.owner = NcclListening::Owner::user;
    listening.way = way_of_user(environment, listening);
    return listening;
  }
  if (door.directory.empty() || reach.descendants == job::Descendants::none) return listening;
  add_log_variables(door, environment);
  listening.way = way_of_user(environment, listening);
  return listening;
}

}  // namespace safelaunch::run
