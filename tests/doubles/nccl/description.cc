// A communicator's description of itself: the words and truths of its lines.
#include <algorithm>
#include <cstdio>
#include <set>

#include "nccl/communicator.h"
#include "nccl/settings.h"
#include "nccl/version.h"

namespace safelaunch::testing {
namespace {

std::string hexadecimal(std::uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "%lx", number);  // not padded, as in NCCL
  return text;
}

std::string pointer(const void* address) {
  char text[24];
  std::snprintf(text, sizeof text, "%p", address);
  return text;
}

std::string two_digits(int number) {
  char text[16];
  std::snprintf(text, sizeof text, "%02d", number);
  return text;
}

/// "0 1 2", each four wide up to 2.22.
std::string ring_text(int nranks) {
  std::string text;
  for (int rank = 0; rank < nranks; ++rank) {
    char number[16];
    std::snprintf(number, sizeof number, played() < NcclVersion{2, 23} ? "%4d" : "%d", rank);
    if (rank > 0 && played() >= NcclVersion{2, 23}) text += ' ';
    text += number;
  }
  return text;
}

/// Each channel's place in a chain of all ranks; every second channel goes the other way round.
std::string trees_text(int rank, int nranks, int channels, bool alternate) {
  const auto or_none = [&](int other) {
    return std::to_string(other >= 0 && other < nranks ? other : -1);
  };
  std::string text;
  for (int channel = 0; channel < channels; ++channel) {
    const int step = alternate && channel % 2 == 1 ? -1 : 1;
    text += (channel ? " [" : "[") + std::to_string(channel) + "] " + or_none(rank + step) +
            "/-1/-1->" + std::to_string(rank) + "->" + or_none(rank - step);
  }
  return text;
}

}  // namespace

void Communicator::describe_self() {
  auto& words = facts_.words;
  words["rank"] = std::to_string(self_.rank);
  words["nranks"] = std::to_string(self_.nranks);
  words["device"] = std::to_string(self_.device);
  words["bus"] = hexadecimal(self_.bus << 12);
  words["comm"] = pointer(handle_);
  words["proxy"] = pointer(this);
  words["function"] = origin_.function;
  words["identity"] = "comm " + words["comm"] + " rank " + words["rank"] + " nranks " +
                      words["nranks"] + " cudaDev " + words["device"] + " nvmlDev " +
                      std::to_string(self_.bus / 16 - 1) + " busId " + words["bus"];
  words["origin"] =
      origin_.parent.empty() ? "commId 0x" + hexadecimal(hash_of(origin_.id)) : origin_.parent;
  words["dash"] = origin_.parent.empty() || played() >= NcclVersion{2, 32} ? " - " : "- ";
  words["seconds"] = "0.002716";
  const std::string ras = setting("NCCL_RAS_ADDR").value_or("localhost:28028");
  words["ras"] = "127.0.0.1<" + ras.substr(ras.rfind(':') + 1) + ">";
  if (has_ras()) facts_.truths.insert("ras");
}

void Communicator::describe_paths() {
  const auto here = std::count_if(mesh_.peers.begin(), mesh_.peers.end(),
                                  [&](const Peer& peer) { return peer.host == self_.host; });
  const bool same_host = here == self_.nranks;
  path_ = path_between(same_host);
  const bool by_net = path_ == Path::net;
  std::set<std::uint64_t> hosts;
  for (const Peer& peer : mesh_.peers)
    hosts.insert(by_net ? static_cast<std::uint64_t>(peer.rank) : peer.host);
  const auto before = std::count_if(mesh_.peers.begin(), mesh_.peers.begin() + self_.rank,
                                    [&](const Peer& peer) { return peer.host == self_.host; });
  auto& words = facts_.words;
  words["nodes"] = std::to_string(hosts.size());
  words["local ranks"] = by_net ? "1" : std::to_string(here);
  words["local rank"] = by_net ? "0" : std::to_string(before);
  words["p2p"] = path_ == Path::p2p ? "1" : "0";
  words["direct p2p"] = path_ == Path::shm ? "0" : "1";
  words["p2p kind"] = uses_cumem() && connects_lazily() ? "P2P/CUMEM" : "P2P/IPC";
  words["transport number"] = std::to_string(static_cast<int>(path_));
  words["same host"] = by_net ? "0" : "1";
  words["per peer"] = by_net && played() >= NcclVersion{2, 29} ? "1" : "2";
  constexpr const char* kPathNames[] = {"p2p", "shm", "net"};
  facts_.truths.insert(kPathNames[static_cast<int>(path_)]);
  if (!by_net) facts_.truths.insert("one-node");
  if (connects_lazily()) facts_.truths.insert("lazy");
  if (path_ != Path::p2p && number_setting("NCCL_P2P_DISABLE", 0) != 0)
    facts_.truths.insert("p2p-off");
  if (fault("nvls") && number_setting("NCCL_NVLS_ENABLE", 2) != 0) facts_.truths.insert("nvls");
  describe_channels();
}

void Communicator::describe_channels() {
  const bool by_net = path_ == Path::net;
  const int channels = played() >= NcclVersion{2, 30} && !by_net ? 4 : 2;
  auto& words = facts_.words;
  words["channels count"] = std::to_string(channels);
  words["channels"] = two_digits(channels);
  words["ring"] = ring_text(self_.nranks);
  words["trees"] =
      trees_text(self_.rank, self_.nranks, channels, by_net || played() >= NcclVersion{2, 30});
  const auto named = [&](int rank) {
    const auto& peer = mesh_.peers[static_cast<std::size_t>((rank + self_.nranks) % self_.nranks)];
    return std::to_string(peer.rank) + "[" + std::to_string(peer.device) + "]";
  };
  words["here"] = named(self_.rank);
  words["next"] = named(self_.rank + 1);
  words["previous"] = named(self_.rank - 1);
  words["threshold"] = std::to_string(8 * self_.nranks);
}

}  // namespace safelaunch::testing
