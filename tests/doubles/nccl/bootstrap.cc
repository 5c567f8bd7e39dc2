#include "nccl/bootstrap.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <random>
#include <thread>

#include "nccl/log.h"
#include "nccl/places.h"
#include "nccl/settings.h"
#include "nccl/version.h"

namespace safelaunch::testing {
namespace {

/// The content of our unique id; the rest of its 128 bytes is zero.
struct RootAddress {
  std::uint64_t magic;
  Address address;
};
static_assert(sizeof(RootAddress) <= sizeof(ncclUniqueId));

std::uint64_t hash_bytes(const char* bytes, std::size_t size) {
  std::uint64_t hash = 5381;
  for (std::size_t i = 0; i < size; ++i) hash = hash * 33 ^ static_cast<unsigned char>(bytes[i]);
  return hash * 0x9E3779B97F4A7C15;
}

/// From 2.23 on the message has more fields; two releases then take one field for the other.
std::string mismatch_text(const Peer& first, const Peer& other) {
  const std::string here = std::to_string(first.nranks);
  const std::string there = std::to_string(other.nranks);
  if (played() < NcclVersion{2, 23})
    return "Bootstrap Root : mismatch in rank count from procs " + here + " : " + there;
  const std::string offset = first.version / 100 == other.version / 100 ? "0" : "1734438249";
  return "Bootstrap Root : mismatch in info from procs, nranks " + here + " vs " + there +
         ", nroots 1 vs 1, iroot 0 vs 0" +
         (played() < NcclVersion{2, 29} ? "" : ", offset 0 vs " + offset);
}

/// From 2.29 on the root's message has not changed, so that two releases meet and fail only later.
bool speak_alike(const Peer& first, const Peer& other) {
  return first.version / 100 == other.version / 100 ||
         (first.version >= 22900 && other.version >= 22900);
}

/// All ranks' words; empty if one does not fit, which is said once, here, and to nobody else.
std::vector<Peer> collect(int listener, const Stop& stop) {
  std::vector<Peer> peers;
  std::vector<bool> known;
  for (int waiting = 1; waiting > 0; --waiting) {
    const UniqueFd connection = accept_from(listener, stop);
    Peer peer{};
    if (receive_bytes(connection.get(), &peer, sizeof peer, stop) != Ended::done) return {};
    if (peers.empty()) {
      peers.assign(static_cast<std::size_t>(peer.nranks), peer);
      known.assign(peers.size(), false);
      waiting = peer.nranks;
    }
    const Peer& first = peers.front();
    if (peer.nranks != first.nranks || !speak_alike(first, peer)) {
      log_warn(0, places().root_mismatch, mismatch_text(first, peer), Voice::root);
      return {};
    }
    const auto rank = static_cast<std::size_t>(peer.rank);
    if (known[rank]) {
      log_warn(0, places().root_duplicate,
               "Bootstrap Root : rank " + std::to_string(peer.rank) + " of " +
                   std::to_string(peer.nranks) + " ranks has already checked in",
               Voice::root);
      return {};
    }
    known[rank] = true;
    peers[rank] = peer;
  }
  return peers;
}

void serve_as_root(UniqueFd listener) {
  const Stop never;
  const std::vector<Peer> peers = collect(listener.get(), never);
  listener.reset();
  for (const Peer& peer :
       peers) {  // in order, so that a rank hears from the root before any peer comes
    const UniqueFd connection = connect_once(peer.address);
    if (send_bytes(connection.get(), peers.data(), peers.size() * sizeof(Peer), never) !=
        Ended::done)
      return;
  }
}

ncclResult_t refused(const Address& root, long tries, int device) {
  const char* function =
      played() < NcclVersion{2, 29} ? "socketPollConnect" : "ncclOsSocketPollConnect";
  const bool early = played() < NcclVersion{2, 23};
  const bool with_address = played() >= NcclVersion{2, 27};
  std::string text = std::string(function) +
                     ": connect returned Connection refused, exceeded error retry count (" +
                     std::to_string(tries) + ")";
  if (with_address)
    text = std::string(function) + ": connect to " + root.text() +
           " returned Connection refused, exceeded error retry count after " +
           std::to_string(tries) + " attempts";
  if (early)
    text = "socketStartConnect: Connect to " + root.text() +
           " failed : Software caused connection abort";
  const ncclResult_t result = early ? ncclSystemError : ncclRemoteError;
  log_warn(device, places().refused, text);
  log_trail(device, places().refused_trail, result);
  return result;
}

void log_retry(const Address& root, long attempt, long retries, long wait_ms, int device) {
  const std::string to = played() < NcclVersion{2, 27} ? "" : " to " + root.text();
  const char* function =
      played() < NcclVersion{2, 29} ? "socketPollConnect" : "ncclOsSocketPollConnect";
  log_info(Subsystem::all, device,
           std::string(function) + ": connect" + to + " returned Connection refused, retrying (" +
               std::to_string(attempt) + "/" + std::to_string(retries) + ") after sleep for " +
               std::to_string(wait_ms) + " msec");
}

/// A root that has gone refuses: at once the end up to 2.22, later on after 34 tries in a minute.
ncclResult_t reach_root(const Address& root, int device, UniqueFd& connection, const Stop& stop) {
  const long retries =
      played() < NcclVersion{2, 23} ? 0 : number_setting("NCCL_SOCKET_RETRY_CNT", 34);
  const long pause_ms = number_setting("NCCL_SOCKET_RETRY_SLEEP_MSEC", 100);
  for (long attempt = 1;; ++attempt) {
    connection = connect_once(root);
    if (connection) return ncclSuccess;
    if (attempt > retries) return refused(root, attempt, device);
    log_retry(root, attempt, retries, attempt * pause_ms, device);
    std::this_thread::sleep_for(std::chrono::milliseconds(attempt * pause_ms));
    if (stop.asked()) return ncclInternalError;
  }
}

ncclResult_t peer_gone(int device, const Peer& peer) {
  log_warn(device, places().closed,
           "socketProgress: Connection closed by remote peer " + peer.address.text());
  log_trail(device, places().init_trail, ncclRemoteError);
  return ncclRemoteError;
}

/// Higher ranks connect to lower ones and say who they are.
bool connect_mesh(int listener, const Peer& self, Mesh& mesh, const Stop& stop) {
  mesh.connections.resize(mesh.peers.size());
  for (int rank = 0; rank < self.rank; ++rank) {
    UniqueFd& connection = mesh.connections[static_cast<std::size_t>(rank)];
    connection = connect_once(mesh.peers[static_cast<std::size_t>(rank)].address);
    if (send_bytes(connection.get(), &self.rank, sizeof self.rank, stop) != Ended::done)
      return false;
  }
  for (int missing = self.nranks - self.rank - 1; missing > 0; --missing) {
    UniqueFd connection = accept_from(listener, stop);
    int rank = 0;
    if (receive_bytes(connection.get(), &rank, sizeof rank, stop) != Ended::done) return false;
    mesh.connections[static_cast<std::size_t>(rank)] = std::move(connection);
  }
  return true;
}

}  // namespace

void start_root(const NetworkInterface& interface, ncclUniqueId& id) {
  RootAddress root{std::random_device()() * 0x100000001ULL, interface.address};
  UniqueFd listener = listen_on(root.address);
  id = {};
  std::memcpy(id.internal, &root, sizeof root);
  std::thread([fd = listener.release()] { serve_as_root(UniqueFd(fd)); }).detach();
}

ncclResult_t join(const ncclUniqueId& id, Peer self, Mesh& mesh, const Stop& stop) {
  RootAddress root{};
  std::memcpy(&root, id.internal, sizeof root);
  const UniqueFd listener = listen_on(self.address);
  UniqueFd connection;
  if (const ncclResult_t result = reach_root(root.address, self.device, connection, stop);
      result != ncclSuccess)
    return result;
  if (send_bytes(connection.get(), &self, sizeof self, stop) != Ended::done)
    return ncclInternalError;
  const UniqueFd answer = accept_from(listener.get(), stop);
  mesh.peers.resize(static_cast<std::size_t>(self.nranks));
  if (receive_bytes(answer.get(), mesh.peers.data(), mesh.peers.size() * sizeof(Peer), stop) !=
      Ended::done)
    return ncclInternalError;
  return connect_mesh(listener.get(), self, mesh, stop) ? ncclSuccess : ncclInternalError;
}

ncclResult_t gather(const Mesh& mesh, const Peer& self, const std::vector<char>& mine,
                    std::vector<std::vector<char>>& all, const Stop& stop) {
  all.assign(mesh.peers.size(), mine);
  std::vector<Transfer> transfers;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (static_cast<int>(rank) == self.rank) continue;
    const int fd = mesh.connections[rank].get();
    transfers.push_back({Transfer::Way::send, fd, const_cast<char*>(mine.data()), mine.size()});
    transfers.push_back({Transfer::Way::receive, fd, all[rank].data(), mine.size()});
  }
  switch (transfer(std::move(transfers), stop)) {
    case Ended::done: return ncclSuccess;
    case Ended::stopped: return ncclInternalError;
    case Ended::closed: break;
  }
  const std::size_t other = self.rank == 0 ? mesh.peers.size() - 1 : 0;
  return peer_gone(self.device, mesh.peers[other]);
}

ncclResult_t barrier(const Mesh& mesh, const Peer& self, const Stop& stop) {
  std::vector<std::vector<char>> nothing;
  return gather(mesh, self, {0}, nothing, stop);
}

std::uint64_t hash_of(const ncclUniqueId& id) {
  return hash_bytes(id.internal, sizeof id.internal);
}

std::uint64_t host_hash() {
  std::string identity = setting("NCCL_HOSTID").value_or("");
  if (identity.empty()) {
    char name[256] = "";
    ::gethostname(name, sizeof name - 1);
    std::ifstream boot("/proc/sys/kernel/random/boot_id");
    std::getline(boot, identity);
    identity += name;
  }
  return hash_bytes(identity.data(), identity.size());
}

}  // namespace safelaunch::testing
