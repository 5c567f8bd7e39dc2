#include "safelaunch/nccl/log_fact.h"

#include "scan.h"

#include "safelaunch/base/strings.h"

// A line is first cut into host, pid, thread, level and text. Then the words of its text decide
// which fact it tells. They are compared one after another and never searched for beyond their
// place, so a line of a program that looks a little like NCCL's tells nothing.
namespace safelaunch::nccl {

// ---- a line and its parts -----------------------------------------------------------------------

namespace {

/// Takes tags off the front: "[2026-11-20 18:15:23] ", "[rank3]: ", "[default0]:".
void drop_tags(std::string_view& head) {
  constexpr std::size_t kLongestTag = 64;
  while (head.starts_with('[')) {
    const std::size_t end = head.substr(0, kLongestTag).find(']');
    if (end == std::string_view::npos) return;
    head.remove_prefix(end + 1);
    if (head.starts_with(':')) head.remove_prefix(1);
    while (head.starts_with(' ')) head.remove_prefix(1);
  }
}

/// Reads "node7:4711:4715", or "node7:4711" in a DIAG line.
bool read_writer(std::string_view writer, Line& line) {
  const std::size_t last = writer.rfind(':');
  if (last == std::string_view::npos || last == 0) return false;
  const auto number = to_number(writer.substr(last + 1));
  if (!number || *number <= 0) return false;
  const std::size_t first = writer.substr(0, last).rfind(':');
  if (first == std::string_view::npos) {
    if (line.level != Level::diag) return false;
    line.host = writer.substr(0, last);
    line.pid = *number;
    return true;
  }
  const auto pid = to_number(writer.substr(first + 1, last - first - 1));
  if (!pid || *pid <= 0 || first == 0) return false;
  line.host = writer.substr(0, first);
  line.pid = *pid;
  line.thread = *number;
  return true;
}

std::optional<Level> take_level(std::string_view& text) {
  struct Word {
    std::string_view word;
    Level level;
  };
  constexpr Word kWords[] = {{"INFO ", Level::info},
                             {"WARN ", Level::warn},
                             {"ATTN ", Level::attn},
                             {"DIAG ", Level::diag}};
  for (const Word& one : kWords)
    if (take(text, one.word)) return one.level;
  return std::nullopt;
}

}  // namespace

const char* name(Level level) {
  switch (level) {
    case Level::info: return "INFO";
    case Level::warn: return "WARN";
    case Level::attn: return "ATTN";
    case Level::diag: return "DIAG";
  }
  return "";
}

std::optional<Line> split_nccl_line(std::string_view line) {
  constexpr std::string_view kMark = " NCCL ";
  line = line.substr(0, kLongestNcclLine);
  const std::size_t mark = line.find(kMark);
  if (mark == std::string_view::npos) return std::nullopt;
  Line result;
  result.text = line.substr(mark + kMark.size());
  const auto level = take_level(result.text);
  if (!level) return std::nullopt;
  result.level = *level;
  if (result.text.ends_with('\r')) result.text.remove_suffix(1);
  std::string_view head = line.substr(0, mark);
  drop_tags(head);
  if (!read_writer(take_word(head), result)) return std::nullopt;
  if (head.starts_with('[')) head.remove_prefix(std::min(head.find(']') + 1, head.size()));
  while (head.starts_with(' ')) head.remove_prefix(1);
  result.place = take_word(head);
  return result;
}

// ---- what its text says -------------------------------------------------------------------------

namespace {

bool is_size(std::optional<int> ranks) {
  return ranks && *ranks > 0 && *ranks <= kMostNcclRanks;
}

/// Reads "… comm 0x7f0c rank 0 nranks 2 …"; the line about the topology has nRanks as `size_name`.
std::optional<Part> part_in(std::string_view text, std::string_view size_name) {
  const auto address = word_after(text, "comm");
  const auto rank = number_of(text, "rank");
  const auto ranks = number_of(text, size_name);
  if (!address || !rank || !is_size(ranks) || *rank < 0 || *rank >= *ranks) return std::nullopt;
  const auto place = hexadecimal(*address);
  if (!place) return std::nullopt;
  return Part{*place, *rank, *ranks};
}

std::optional<std::uint64_t> hexadecimal_of(std::string_view text, std::string_view name) {
  const auto word = word_after(text, name);
  return word ? hexadecimal(*word) : std::nullopt;
}

/// Reads "splitCount 1" or "childCount 1" (2.29 on); the oldest versions write neither.
std::int64_t split_of(std::string_view text) {
  for (const std::string_view name : {"splitCount", "childCount"})
    if (const auto count = number_of(text, name)) return *count;
  return 0;
}

Fact init_started(std::string_view text) {
  const auto part = part_in(text, "nranks");
  if (!part) return {};
  InitStarted started{.part = *part, .id = hexadecimal_of(text, "commId"), .child = {}};
  if (const auto parent = hexadecimal_of(text, "parent"))
    started.child = {
        .parent = *parent, .split = split_of(text), .color = number_of(text, "color").value_or(0)};
  return started;
}

template <class Told>
Fact about_part(std::string_view text) {
  const auto part = part_in(text, "nranks");
  return part ? Fact(Told{*part}) : Fact();
}

Fact topology(std::string_view text) {
  const auto part = part_in(text, "nRanks");
  const auto nodes = number_of(text, "nNodes");
  if (!part || !is_size(nodes)) return {};
  return TopologyAgreed{*part, *nodes};
}

/// Reads "eth0:192.0.2.2<0>"; an IPv6 address stands in square brackets.
Fact interface_chosen(std::string_view text) {
  const std::string_view word = take_word(text);
  const std::size_t colon = word.find(':');
  if (colon == std::string_view::npos || colon == 0) return {};
  const std::string_view address = word.substr(colon + 1);
  return InterfaceChosen{word.substr(0, colon), address.substr(0, address.find('<'))};
}

/// Reads the transport of "00/0 : 0[0] -> 1[1] [send] via NET/Socket/0", without its device.
Fact channel_made(std::string_view text) {
  constexpr std::string_view kVia = " via ";
  const std::size_t via = text.rfind(kVia);
  if (via == std::string_view::npos) return {};
  text.remove_prefix(via + kVia.size());
  const std::string_view word = take_word(text);
  const std::string_view kind = word.substr(0, word.find('/'));
  if (kind == "SHM") return ChannelMade{kind};
  const std::size_t second = word.find('/', std::min(kind.size() + 1, word.size()));
  return ChannelMade{word.substr(0, second)};
}

/// Takes the value off: a full stop follows a number, and none follows a word.
std::string_view value_in(std::string_view text) {
  const std::string_view number = text.substr(0, text.empty() ? 0 : text.size() - 1);
  return text.ends_with('.') && to_number<std::int64_t>(number) ? number : text;
}

Fact variable_read(std::string_view text) {
  const std::string_view name = take_word(text);
  if (!name.starts_with("NCCL_") || !take(text, "set by environment to ")) return {};
  return VariableRead{name, value_in(text)};
}

/// Reads "rank 1 of 3 ranks has already checked in".
Fact rank_twice(std::string_view text) {
  const auto rank = number_of(text, "rank");
  const auto ranks = number_of(text, "of");
  if (!rank || *rank < 0 || !is_size(ranks)) return {};
  return RootComplaint{RootComplaint::About::rank_twice, *rank, *ranks};
}

/// Reads "… nranks 4 vs 3, nroots 1 vs 1, …" (2.23 on) or "… from procs 4 : 3" (before).
Fact sizes_differ(std::string_view text) {
  std::string_view second = word_after(text, "vs").value_or("");
  auto first = number_of(text, "nranks");
  if (!first) {
    first = number_of(text, "procs");
    second = word_after(text, ":").value_or("");
  }
  if (second.ends_with(',')) second.remove_suffix(1);
  const auto other = to_number(second);
  // With equal sizes something else differs, so two versions of NCCL are in play.
  if (!is_size(first) || !is_size(other) || *first == *other) return {};
  return RootComplaint{RootComplaint::About::sizes_differ, *first, *other};
}

Fact complaint(std::string_view text) {
  if (!take(text, "Bootstrap Root : ")) return {};
  if (text.find(" has already checked in") != std::string_view::npos) return rank_twice(text);
  return text.starts_with("mismatch in ") ? sizes_differ(text) : Fact();
}

/// Reads "AllReduce: opCount 0 sendbuff … comm 0x7f0c [nranks=2] stream …".
Fact collective_called(std::string_view text, std::size_t colon) {
  const auto address = hexadecimal_of(text, "comm");
  if (!address) return {};
  return CollectiveCalled{text.substr(0, colon), *address};
}

Fact fact_of_info(std::string_view text) {
  if (text.ends_with("Init START")) return init_started(text);
  if (text.ends_with("Init COMPLETE")) return about_part<InitComplete>(text);
  if (text.ends_with("Destroy COMPLETE") || text.ends_with("Abort COMPLETE"))
    return about_part<CommGone>(text);
  if (text.starts_with("comm 0x") && text.find(" nRanks ") != std::string_view::npos)
    return topology(text);
  if (text.starts_with("Bootstrap timings ")) return BootstrapDone{};
  if (take(text, "Using network ")) return NetworkChosen{text};
  if (take(text, "Bootstrap: Using ") || take(text, "Bootstrap : Using "))
    return interface_chosen(text);
  if (take(text, "Channel ")) return channel_made(text);
  if (text.starts_with("Connected all ")) return Connected{};
  if (take(text, "NCCL version ")) {
    const auto version = parse_nccl_version(text);
    return version ? Fact(VersionTold{*version}) : Fact();
  }
  if (text.starts_with("HINT: ")) return Hint{};
  if (text.starts_with("NCCL_")) return variable_read(text);
  const std::size_t call = text.find(": opCount ");
  return call == std::string_view::npos ? Fact() : collective_called(text, call);
}

}  // namespace

Fact fact_of(const Line& line) {
  switch (line.level) {
    case Level::info: return fact_of_info(line.text);
    case Level::warn: return complaint(line.text);
    case Level::attn:
    case Level::diag: return {};
  }
  return {};
}

}  // namespace safelaunch::nccl
