#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "safelaunch/nccl/version.h"

namespace safelaunch::nccl {

/// How loud a line of NCCL's log is.
enum class Level {
  info,  ///< often says "failed" or "no device" in healthy jobs
  warn,  ///< a failure, or what may become one
  attn,  ///< NCCL 2.32: what the user asked for cannot be had
  diag,  ///< NCCL 2.31: a result of its own diagnostics
};

/// "WARN"
[[nodiscard]] const char* name(Level level);

/// A line of NCCL's log, cut into its parts; they refer to the line:
///     [2026-11-20 18:15:23] node7:4711:4715 [0] init.cc:904 (f) NCCL WARN Duplicate GPU detected
struct Line {
  std::string_view host;
  int pid = 0;
  int thread = 0;  ///< 0 where the line does not tell (DIAG)
  Level level = Level::info;
  std::string_view place;  ///< "init.cc:904", of a WARN or an ATTN
  std::string_view text;
};

/// NCCL itself cuts its lines at 1024 characters; what is longer is not NCCL's, and is cut here.
inline constexpr std::size_t kLongestNcclLine = 4 << 10;

/// Cuts a line without its end; nullopt where it is not NCCL's. Tags and times in square brackets
/// may stand in front. Whatever a line holds, the time is linear in its length.
[[nodiscard]] std::optional<Line> split_nccl_line(std::string_view line);

/// Ranks and worlds beyond this are taken for garbage.
inline constexpr int kMostNcclRanks = 1 << 20;

/// One process's part in a communicator. `address` is where the communicator lies in that process,
/// and equal in others by chance.
struct Part {
  std::uint64_t address = 0;
  int rank = 0;
  int ranks = 0;  ///< of the communicator
};

/// "… Init START": the process has begun to make the communicator (before its bootstrap from 2.23
/// on, after it in older versions).
struct InitStarted {
  Part part;
  std::optional<std::uint64_t> id;  ///< the same in all processes
  /// Of a communicator that was split off another one: that one's address here, which of its
  /// splits it is, and which part of that split.
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

/// "… Destroy COMPLETE", "… Abort COMPLETE".
struct CommGone {
  Part part;
};

/// "Bootstrap timings …" (2.23 on): all ranks of the communicator have come.
struct BootstrapDone {};

/// "Using network Socket": the last line before the bootstrap, once a communicator.
struct NetworkChosen {
  std::string_view name;
};

/// "Bootstrap: Using eth0:192.0.2.2<0>"
struct InterfaceChosen {
  std::string_view name;
  std::string_view address;
};

/// "Channel 00/0 : 0[0] -> 1[1] via P2P/IPC"
struct ChannelMade {
  std::string_view transport;  ///< "P2P/IPC", "SHM", "NET/Socket"
};

/// "Connected all rings", or trees.
struct Connected {};

/// "AllReduce: opCount 0 …": a collective was called (with the COLL subsystem only).
struct CollectiveCalled {
  std::string_view operation;
  std::uint64_t address = 0;  ///< of its communicator
};

struct VersionTold {
  Version version;
};

/// "NCCL_P2P_DISABLE set by environment to 1": it was read.
struct VariableRead {
  std::string_view name;
  std::string_view value;
};

/// What rank 0's bootstrap complains of, while all ranks wait for ever.
struct RootComplaint {
  enum class About { rank_twice, sizes_differ } about = About::rank_twice;
  int first = 0;   ///< the rank; or one number of ranks
  int second = 0;  ///< the number of ranks; or the other one
};

/// "HINT: …", which stands in the lines behind a WARN.
struct Hint {};

using Fact = std::variant<std::monostate, InitStarted, InitComplete, TopologyAgreed, CommGone,
                          BootstrapDone, NetworkChosen, InterfaceChosen, ChannelMade, Connected,
                          CollectiveCalled, VersionTold, VariableRead, RootComplaint, Hint>;

/// What a line says; monostate for all that does not matter here, as most lines.
[[nodiscard]] Fact fact_of(const Line& line);

}  // namespace safelaunch::nccl
