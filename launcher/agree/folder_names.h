#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The names of the files of a board in a shared folder. What changes often stands in the names:
/// rename(2) is what every file system does in one step, and of two who rename one file only one
/// succeeds.
namespace safelaunch::agree {

/// The one file of a seat. Only its holder and those who take it away rename it.
struct SeatName {
  int seat = 0;
  std::uint64_t turn = 0;     ///< grows with each holder
  std::string holder{};       ///< its incarnation; empty: the seat is free
  std::uint64_t beat = 0;     ///< grows with each sign of life
  std::uint64_t version = 0;  ///< of the holder's news
  bool operator==(const SeatName&) const = default;
};

/// The mark of a leader: words of an earlier generation count no more. Its beat follows that of the
/// leader's seat. So whoever looks at the words alone sees whether there is a leader, and no cache
/// of that folder grows old.
struct LeadName {
  std::uint64_t generation = 0;
  std::uint64_t beat = 0;
  bool is_gone = false;  ///< nobody has the seat any more
  bool operator==(const LeadName&) const = default;
};

struct WordName {
  std::uint64_t generation = 0;
  std::uint64_t number = 0;
  auto operator<=>(const WordName&) const = default;
};

[[nodiscard]] std::string to_name(std::string_view key, const SeatName& seat);
[[nodiscard]] std::string to_name(std::string_view key, const LeadName& lead);
[[nodiscard]] std::string to_name(const WordName& word);
/// Where a holder's news is.
[[nodiscard]] std::string news_name(const SeatName& seat);

/// Names that were not made with this key read as nothing.
[[nodiscard]] std::optional<SeatName> seat_name(std::string_view key, std::string_view name);
[[nodiscard]] std::optional<LeadName> lead_name(std::string_view key, std::string_view name);
/// A word's MAC is in its content.
[[nodiscard]] std::optional<WordName> word_name(std::string_view name);

}  // namespace safelaunch::agree
