#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "safelaunch/nccl/version.h"

namespace safelaunch::nccl {

/// The level of a line in NCCL's log.
enum class Level {
  info,  ///< often says "failed" or "no device" in healthy jobs
  warn,  ///< a failure, or what may become one
  attn,  ///< NCCL 2.32: the user asked for something that cannot be had
  diag,  ///< NCCL 2.31: a result of its own diagnostics
};

/// The word in the log: "WARN".
[[nodiscard]] const char* name(Level level);

/// A line of NCCL's log, cut into its parts; they refer to the line:
///     [2026-11-20 18:15:23] node7:4711:4715 [0] init.cc:904 (f) NCCL WARN Duplicate GPU detected
struct Line {
  std::string_view host;
  int pid = 0;
  int thread = 0;  ///< 0 where the line does not tell it (DIAG)
  Level level = Level::info;
  std::string_view place;  ///< "init.cc:904", in a WARN or an ATTN
  std::string_view text;
};

/// NCCL itself cuts its lines at 1024 characters. A longer line is not NCCL's, and is cut here.
inline constexpr std::size_t kLongestNcclLine = 4 << 10;

/// Cuts a line without its end into its parts; nullopt where it is not NCCL's. Tags and times in
/// square brackets may stand in front. The time is linear in the line's length, whatever it holds.
[[nodiscard]] std::optional<Line> split_nccl_line(std::string_view line);

/// Numbers of ranks beyond this are taken for garbage.
inline constexpr int kMostNcclRanks = 1 << 20;

/// One process's part in a communicator. `address` is the place of the communicator in that
/// process; equal addresses in two processes mean nothing.
struct Part {
  std::uint64_t address = 0;
  int rank = 0;
  int ranks = 0;  ///< the size of the communicator
};

/// "… Init START": the process has begun to make the communicator (before its bootstrap from 2.23
/// on, after it in older versions).
struct InitStarted {
  Part part;
  std::optional<std::uint64_t> id;  ///< the same number in all its processes
  /// A communicator that was split off another: the parent's address in this process, the number of
  /// the split, and the colour of this part of it.
  struct Child {
    std::uint64_t parent = 0;
    std::int64_t split = 0;
    std::int64_t color = 0;
  };
  std::optional<Child> child;
};

/// "… Init COMPLETE". The communicator may still have to connect, in its first collective.
struct InitComplete {
  Part part;
};

/// "comm 0x… rank 0 nRanks 2 nNodes 1 …" (2.21 on): all ranks have told each other their devices.
struct TopologyAgreed {
  Part part;
  int nodes = 0;
};

/// "… Destroy COMPLETE" or "… Abort COMPLETE".
struct CommGone {
  Part part;
};

/// "Bootstrap timings …" (2.23 on): all ranks of the communicator have come.
struct BootstrapDone {};

/// "Using network Socket": the last line before the bootstrap, once for each communicator.
struct NetworkChosen {
  std::string_view name;
};

/// "Bootstrap: Using eth0:192.0.2.2<0>".
struct InterfaceChosen {
  std::string_view name;
  std::string_view address;
};

/// "Channel 00/0 : 0[0] -> 1[1] via P2P/IPC".
struct ChannelMade {
  std::string_view transport;  ///< "P2P/IPC", "SHM", "NET/Socket"
};

/// "Connected all rings", or trees.
struct Connected {};

/// "AllReduce: opCount 0 …": a collective was called (with the COLL subsystem only).
struct CollectiveCalled {
  std::string_view operation;
  std::uint64_t address = 0;  ///< address of its communicator
};

struct VersionTold {
  Version version;
};

/// "NCCL_P2P_DISABLE set by environment to 1": NCCL has read the variable.
struct VariableRead {
  std::string_view name;
  std::string_view value;
};

/// A complaint of rank 0's bootstrap, after which all ranks wait for ever.
struct RootComplaint {
  enum class About { rank_twice, sizes_differ } about = About::rank_twice;
  int first = 0;   ///< the rank; for sizes_differ one number of ranks
  int second = 0;  ///< the number of ranks; for sizes_differ the other one
};

/// "HINT: …", which stands in the lines behind a WARN.
struct Hint {};

using Fact = std::variant<std::monostate, InitStarted, InitComplete, TopologyAgreed, CommGone,
                          BootstrapDone, NetworkChosen, InterfaceChosen, ChannelMade, Connected,
                          CollectiveCalled, VersionTold, VariableRead, RootComplaint, Hint>;

/// Reads the fact that a line tells; monostate for most lines, which do not matter here.
[[nodiscard]] Fact fact_of(const Line& line);

}  // namespace safelaunch::nccl
