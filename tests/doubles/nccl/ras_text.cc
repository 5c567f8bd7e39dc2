// The answer in text, as NCCL 2.24 to 2.30 write it to VERBOSE STATUS: of one communicator.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "nccl/ras.h"
#include "nccl/version.h"

namespace safelaunch::testing {
namespace {

constexpr std::array kNames = {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"};

template <class... Words>
std::string text(const char* format, Words... words) {
  char line[512];
  std::snprintf(line, sizeof line, format, words...);
  return line;
}

std::string node_of(const Peer& peer) {
  const std::string address = peer.ras.text();
  return address.substr(0, address.find('<'));
}

std::string gpu_of(const Peer& peer) {
  const int machine = static_cast<int>(peer.bus / 16) - 1;
  return std::to_string(peer.device) +
         (machine == peer.device ? "" : " (NVML " + std::to_string(machine) + ")");
}

std::string place_of(const Peer& peer) {
  return text("GPU %s managed by process %d on node %s", gpu_of(peer).c_str(), peer.pid,
              node_of(peer).c_str());
}

/// One communicator's ranks and how they answered.
class Answer {
 public:
  Answer(const RasMember& member, const std::vector<RasAnswer>& answers)
      : member_(member), answers_(answers) {
    for (const Peer& peer : member.peers)
      if (kind_of(peer) != RasAnswer::Kind::counts) silent_.push_back(peer);
    for (std::size_t kind = 0; kind < kRasCounted.size(); ++kind) add_mismatch(kind);
  }

  [[nodiscard]] std::string whole() const { return head() + table() + errors() + warnings(); }

 private:
  [[nodiscard]] RasAnswer::Kind kind_of(const Peer& peer) const {
    return answers_[static_cast<std::size_t>(peer.rank)].kind;
  }
  [[nodiscard]] int ranks() const { return static_cast<int>(member_.peers.size()); }
  [[nodiscard]] int silent() const { return static_cast<int>(silent_.size()); }
  [[nodiscard]] const char* several() const { return silent() > 1 ? "s" : ""; }

  [[nodiscard]] std::string head() const {
    return text("NCCL version %s compiled with CUDA 13.0\n", text_of(played()).c_str()) +
           "CUDA runtime version 13000, driver version 13000\n\n"
           "Job summary\n===========\n\n"
           "  Nodes  Processes         GPUs  Processes     GPUs\n"
           "(total)   per node  per process    (total)  (total)\n" +
           text("      1  %9d            1  %9d  %7d\n\n", ranks(), ranks(), ranks());
  }

  [[nodiscard]] std::string table() const {
    std::string state = silent_.empty() ? "" : "INCOMPLETE";
    if (!mismatches_.empty()) state += state.empty() ? "MISMATCH" : ",MISMATCH";
    return "Communicators... (0.00s)\n=============\n\n"
           "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
           "    #  in group  per comm  per node  per comm  in group\n" +
           text("    0         1         1  %8d  %8d  %8d   RUNNING  %6s\n", ranks(), ranks(),
                ranks(), state.empty() ? "OK" : state.c_str());
  }

  [[nodiscard]] std::string errors() const {
    std::string said = "\nErrors\n======\n\n";
    if (silent_.empty()) return said;
    said += text("INCOMPLETE\n  Missing communicator data from %d job process%s\n", silent(),
                 silent() > 1 ? "es" : "");
    said += processes(RasAnswer::Kind::silence) + processes(RasAnswer::Kind::dead) + "\n";
    if (const std::string dead = processes(RasAnswer::Kind::dead); !dead.empty()) {
      const auto count = std::ranges::count(dead, '\n');
      said += text("DEAD\n  %ld job process%s considered dead (unreachable via the RAS network)\n",
                   count, count > 1 ? "es are" : " is");
      said += dead + "\n";
    }
    said += title("INCOMPLETE") +
            text("  Missing communicator data from %d rank%s\n", silent(), several());
    for (const Peer& peer : silent_)
      said += text("  Rank %d -- %s\n", peer.rank, place_of(peer).c_str());
    return said + "\n";
  }

  [[nodiscard]] std::string warnings() const {
    std::string said = "Warnings\n========\n\n";
    if (mismatches_.empty()) return said;
    said += title("MISMATCH");
    for (const std::string& one : mismatches_) said += one + "\n";
    return said;
  }

  [[nodiscard]] std::string title(const char* what) const {
    return text("#0-0 (%016lx) %s\n", member_.comm, what);
  }

  [[nodiscard]] std::string processes(RasAnswer::Kind kind) const {
    std::string said;
    for (const Peer& peer : silent_)
      if (kind_of(peer) == kind)
        said += text("  Process %d on node %s managing GPU %s\n", peer.pid, node_of(peer).c_str(),
                     gpu_of(peer).c_str());
    return said;
  }

  /// The ranks that answered, by how many collectives of this kind they have launched; the largest
  /// group first, without names, as it is the rule and the others are the exceptions.
  void add_mismatch(std::size_t kind) {
    std::map<std::int64_t, std::vector<Peer>> by_count;
    for (const Peer& peer : member_.peers)
      if (kind_of(peer) == RasAnswer::Kind::counts)
        by_count[answers_[static_cast<std::size_t>(peer.rank)].counts[kind]].push_back(peer);
    if (by_count.size() < 2) return;
    std::vector<std::pair<std::int64_t, std::vector<Peer>>> groups(by_count.begin(),
                                                                   by_count.end());
    std::ranges::stable_sort(groups, std::greater(),
                             [](const auto& group) { return group.second.size(); });
    std::string said =
        text("  Communicator ranks have different %s operation counts\n", kNames[kind]);
    for (const auto& [count, peers] : groups) said += group_text(count, peers);
    mismatches_.push_back(said);
  }

  [[nodiscard]] std::string group_text(std::int64_t count, const std::vector<Peer>& peers) const {
    const std::string done =
        count > 0 ? text("launched up to operation %ld", count) : "not launched any operations";
    if (peers.size() == 1)
      return text("  Rank %d has %s -- %s\n", peers.front().rank, done.c_str(),
                  place_of(peers.front()).c_str());
    std::string said = text("  %zu ranks have %s\n", peers.size(), done.c_str());
    if (2 * peers.size() > member_.peers.size()) return said;
    for (const Peer& peer : peers)
      said += text("  Rank %d -- %s\n", peer.rank, place_of(peer).c_str());
    return said;
  }

  const RasMember& member_;
  const std::vector<RasAnswer>& answers_;
  std::vector<Peer> silent_;
  std::vector<std::string> mismatches_;
};

}  // namespace

std::string ras_text(const RasMember& member, const std::vector<RasAnswer>& answers) {
  return Answer(member, answers).whole();
}

}  // namespace safelaunch::testing
