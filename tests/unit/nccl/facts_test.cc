// Each fact that a line of NCCL's log can tell, in its forms over the versions, and lines that are
// much like it and tell nothing.
#include "safelaunch/nccl/log_fact.h"

#include "catch.h"
#include "safelaunch/base/format.h"

using namespace safelaunch;

using namespace safelaunch::nccl;

namespace {

std::string words_of(const Part& part) {
  return fmt::format("{:#x} {}/{}", part.address, part.rank, part.ranks);
}

/// A fact in one line: "started 0x10 1/2 id 0x7".
struct FactInWords {
  std::string operator()(std::monostate) const { return "nothing"; }
  std::string operator()(const InitStarted& one) const {
    std::string text = "started " + words_of(one.part);
    if (one.id) text += fmt::format(" id {:#x}", *one.id);
    if (one.child)
      text += fmt::format(" of {:#x} split {} color {}", one.child->parent, one.child->split,
                          one.child->color);
    return text;
  }
  std::string operator()(const InitComplete& one) const { return "complete " + words_of(one.part); }
  std::string operator()(const TopologyAgreed& one) const {
    return fmt::format("topology {} on {}", words_of(one.part), one.nodes);
  }
  std::string operator()(const CommGone& one) const { return "gone " + words_of(one.part); }
  std::string operator()(BootstrapDone) const { return "bootstrapped"; }
  std::string operator()(const NetworkChosen& one) const {
    return "network " + std::string(one.name);
  }
  std::string operator()(const InterfaceChosen& one) const {
    return fmt::format("interface {} at {}", one.name, one.address);
  }
  std::string operator()(const ChannelMade& one) const {
    return "channel " + std::string(one.transport);
  }
  std::string operator()(Connected) const { return "connected"; }
  std::string operator()(const CollectiveCalled& one) const {
    return fmt::format("called {} on {:#x}", one.operation, one.address);
  }
  std::string operator()(const VersionTold& one) const {
    return "version " + to_string(one.version);
  }
  std::string operator()(const VariableRead& one) const {
    return fmt::format("read {}={}", one.name, one.value);
  }
  std::string operator()(const RootComplaint& one) const {
    const bool twice = one.about == RootComplaint::About::rank_twice;
    return fmt::format("{} {} {}", twice ? "twice" : "sizes", one.first, one.second);
  }
  std::string operator()(Hint) const { return "hint"; }
};

std::string fact_told(const std::string& level, const std::string& text) {
  const std::string line = "n:7:8 [0] NCCL " + level + " " + text;
  const auto cut = split_nccl_line(line);
  return cut ? std::visit(FactInWords{}, fact_of(*cut)) : "no line";
}

struct TellingText {
  const char* text;
  const char* fact;
};

}  // namespace

TEST_CASE("each fact is read in the words of every version", "[nccl]") {
  constexpr TellingText kTexts[] = {
      {"comm 0x10 rank 1 nranks 2 cudaDev 0 busId 1 commId 0x7 - Init START",
       "started 0x10 1/2 id 0x7"},
      {"ncclCommSplit comm 0x10 rank 1 nranks 2 cudaDev 0 parent 0x9 color 3 key 0 - Init START",
       "started 0x10 1/2 of 0x9 split 0 color 3"},
      {"ncclCommShrink comm 0x10 rank 1 nranks 2 cudaDev 0 parent 0x9 childCount 4 color 3 key 0 - "
       "Init START",
       "started 0x10 1/2 of 0x9 split 4 color 3"},
      {"ncclCommSplit comm 0x10 rank 0 nranks 1 parent 0x9 color -1 key 0 - Init START",
       "started 0x10 0/1 of 0x9 split 0 color -1"},
      {"ncclCommInitRank comm 0x10 rank 0 nranks 2 cudaDev 0 busId 1 commId 0x7 - Init COMPLETE",
       "complete 0x10 0/2"},
      {"comm 0x10 rank 0 nranks 2 cudaDev 0 busId 1 - Destroy COMPLETE", "gone 0x10 0/2"},
      {"comm 0x10 rank 1 nranks 2 cudaDev 0 busId 1 - Abort COMPLETE", "gone 0x10 1/2"},
      {"comm 0x10 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0",
       "topology 0x10 0/16 on 2"},
      {"Bootstrap timings total 0.002 (create 0.0, send 0.0, recv 0.0, ring 0.0, delay 0.0)",
       "bootstrapped"},
      {"Using network AWS Libfabric", "network AWS Libfabric"},
      {"Bootstrap: Using eth0:192.0.2.2<0>", "interface eth0 at 192.0.2.2"},
      {"Bootstrap : Using eth0:192.0.2.2<0>", "interface eth0 at 192.0.2.2"},
      {"Channel 00/0 : 0[0] -> 1[1] via P2P/IPC", "channel P2P/IPC"},
      {"Channel 00/0 : 0[0] -> 1[1] via P2P/direct pointer/read", "channel P2P/direct"},
      {"Channel 00 : 0[0] -> 1[1] via SHM/direct/direct", "channel SHM"},
      {"Channel 01/0 : 0[0] -> 1[0] [send] via NET/Socket/0/Shared", "channel NET/Socket"},
      {"Channel 01/0 : 0[0] -> 1[0] [receive] via NET/IB/2/GDRDMA", "channel NET/IB"},
      {"Channel 00/0 : 0[0] -> 1[1] via COLLNET", "channel COLLNET"},
      {"Connected all rings", "connected"},
      {"Connected all trees", "connected"},
      {"AllGather: opCount 1f sendbuff 0x1 recvbuff 0x2 count 1 comm 0x10 [nranks=2] stream 0x3",
       "called AllGather on 0x10"},
      {"NCCL version 2.28.9+cuda13.0", "version 2.28.9"},
      {"NCCL_P2P_DISABLE set by environment to 1.", "read NCCL_P2P_DISABLE=1"},
      {"NCCL_SHM_LEVEL set by environment to -2.", "read NCCL_SHM_LEVEL=-2"},
      {"NCCL_SOCKET_IFNAME set by environment to eth0", "read NCCL_SOCKET_IFNAME=eth0"},
      {"NCCL_SOCKET_IFNAME set by environment to a.b.", "read NCCL_SOCKET_IFNAME=a.b."},
      {"NCCL_IB_HCA set by environment to ", "read NCCL_IB_HCA="},
      {"HINT: check the cables", "hint"},
  };
  for (const auto& [text, fact] : kTexts) {
    INFO(text);
    CHECK(fact_told("INFO", text) == fact);
  }
}

TEST_CASE("a complaint of rank 0's bootstrap is read in the words of every version", "[nccl]") {
  constexpr TellingText kTexts[] = {
      {"Bootstrap Root : rank 1 of 3 ranks has already checked in", "twice 1 3"},
      {"Bootstrap Root : mismatch in rank count from procs 4 : 3", "sizes 4 3"},
      {"Bootstrap Root : mismatch in info from procs, nranks 4 vs 3, nroots 1 vs 1, offset 0 vs 0",
       "sizes 4 3"},
      {"Bootstrap Root : mismatch in info from procs, nranks 4 vs 4, nroots 1 vs 16", "nothing"},
      {"Bootstrap Root : mismatch in rank count from procs 4 : x", "nothing"},
      {"Bootstrap Root : mismatch in rank count from procs 0 : 3", "nothing"},
      {"Bootstrap Root : rank -1 of 3 ranks has already checked in", "nothing"},
      {"Bootstrap Root : rank 1 of 0 ranks has already checked in", "nothing"},
      {"Bootstrap Root : began", "nothing"},
      {"Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 10000", "nothing"},
  };
  for (const auto& [text, fact] : kTexts) {
    INFO(text);
    CHECK(fact_told("WARN", text) == fact);
    CHECK(fact_told("INFO", text) == "nothing");
  }
}

TEST_CASE("a line that lacks a word of a fact, or has a wrong one, tells nothing", "[nccl]") {
  for (const char* text :
       {"comm rank 1 nranks 2 - Init START", "comm 10 rank 1 nranks 2 - Init START",
        "comm 0x10 nranks 2 - Init START", "comm 0x10 rank 1 - Init START",
        "comm 0xg rank 1 nranks 2 - Init COMPLETE", "comm 0x10 rank 2 nranks 2 - Destroy COMPLETE",
        "comm 0x10 rank 0 nRanks 2 localRanks 2", "comm 0x10 rank 0 nRanks 2 nNodes 0 localRanks 2",
        "comm 0x10 rank 0 nRanks 2 nNodes -1 localRanks 2", "Bootstrap: Using :192.0.2.2<0>",
        "Bootstrap: Using eth0", "Channel 00/02 : 0 1 2 3", "NCCL version unknown",
        "NCCL_DEBUG is INFO", "NCCL_X set by user to 1",
        "AllReduce: opCount 0 count 1 comm 10 stream 0x3", "init START", "Bootstrap timingsX"}) {
    INFO(text);
    CHECK(fact_told("INFO", text) == "nothing");
  }
}

TEST_CASE("NCCL's own diagnostics and notices tell no fact", "[nccl]") {
  for (const char* level : {"ATTN", "DIAG"})
    CHECK(fact_told(level, "NCCL version 2.32.1+cuda13.0") == "nothing");
}

TEST_CASE("a line of Windows loses its carriage return", "[nccl]") {
  CHECK(fact_told("INFO", "Using network Socket\r") == "network Socket");
}

TEST_CASE("a line beyond NCCL's longest is cut there", "[nccl]") {
  const std::string head = "n:7:8 [0] NCCL INFO ";
  const auto cut = split_nccl_line(head + std::string(kLongestNcclLine, 'x'));
  REQUIRE(cut);
  CHECK(cut->text.size() == kLongestNcclLine - head.size());
  CHECK_FALSE(split_nccl_line(std::string(kLongestNcclLine, 'x') + head));
}

TEST_CASE("each level has the word that stands in the log", "[nccl]") {
  for (const Level level : {Level::info, Level::warn, Level::attn, Level::diag}) {
    const std::string line = fmt::format("n:7:8 [0] NCCL {} x", name(level));
    CHECK(split_nccl_line(line)->level == level);
  }
}

TEST_CASE("a level that NCCL does not have makes no line of NCCL", "[nccl]") {
  for (const char* level : {"TRACE", "ABORT", "info", "WARNING", ""})
    CHECK(fact_told(level, "Using network Socket") == "no line");
}
