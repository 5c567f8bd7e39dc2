#include "folder_life.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <tuple>

#include "mac.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

// A look at a folder that others rename in may show a file under two names, or under none. So of
// two names for one seat the later one counts, and a look that lacks a seat decides nothing
// about the end of a board.
namespace safelaunch::agree {
namespace {

constexpr std::string_view kNobody = "free";
constexpr std::string_view kLead = "lead";
constexpr std::string_view kGone = "gone";

/// Takes the next number off a name; false where there is none.
template <class Number>
bool take(std::string_view& rest, Number& number) {
  const auto value = to_number<Number>(take_word(rest, '.'));
  number = value.value_or(0);
  return value.has_value();
}

}  // namespace

std::string to_name(std::string_view key, const SeatName& seat) {
  return sealed_name(
      key, fmt::format("seat.{}.{}.{}.{}.{}", seat.seat, seat.turn,
                       seat.holder.empty() ? kNobody : seat.holder, seat.beat, seat.version));
}

std::string to_name(std::string_view key, const LeadName& lead) {
  return sealed_name(
      key, fmt::format("{}.{}.{}", lead.is_gone ? kGone : kLead, lead.generation, lead.beat));
}

std::string to_name(const WordName& word) {
  return fmt::format("word.{}.{}", word.generation, word.number);
}

std::string news_name(const SeatName& seat) {
  return fmt::format("news.{}.{}", seat.seat, seat.turn);
}

std::optional<SeatName> seat_name(std::string_view key, std::string_view name) {
  const auto bare = unsealed_name(key, name);
  std::string_view rest = bare.value_or("");
  SeatName seat;
  if (take_word(rest, '.') != "seat" || !take(rest, seat.seat) || !take(rest, seat.turn))
    return std::nullopt;
  seat.holder = take_word(rest, '.');
  if (seat.holder == kNobody) seat.holder.clear();
  if (!take(rest, seat.beat) || !take(rest, seat.version)) return std::nullopt;
  return seat;
}

std::optional<LeadName> lead_name(std::string_view key, std::string_view name) {
  const auto bare = unsealed_name(key, name);
  std::string_view rest = bare.value_or("");
  LeadName lead;
  const std::string_view kind = take_word(rest, '.');
  lead.is_gone = kind == kGone;
  if ((kind != kLead && kind != kGone) || !take(rest, lead.generation) || !take(rest, lead.beat))
    return std::nullopt;
  return lead;
}

std::optional<WordName> word_name(std::string_view name) {
  WordName word;
  if (take_word(name, '.') != "word" || !take(name, word.generation) || !take(name, word.number))
    return std::nullopt;
  return word;
}

namespace {

constexpr const char* kRecord = "board";
constexpr const char* kOpen = "open";
constexpr const char* kOver = "over";
constexpr std::string_view kClosed = "closed.";
constexpr std::array<const char*, 3> kFolders{"seats", "words", "news"};
constexpr std::array<std::string_view, 6> kOwnNames{"seat.", "lead.", "gone.",
                                                    "word.", "news.", ".new-"};

bool is_own_name(std::string_view name) {
  return std::any_of(kOwnNames.begin(), kOwnNames.end(),
                     [&](std::string_view start) { return name.starts_with(start); });
}

/// Removes the files of ours in one folder of a board.
void clear_within(const BoardFolder& folder, const std::string& within) {
  const Result<std::vector<std::string>> names = folder.names(within);
  if (!names) return;
  for (const std::string& name : *names)
    if (is_own_name(name)) folder.remove(fmt::format("{}/{}", within, name));
}

/// Removes what agents have made, and `last` at the end: until then others can see that the board
/// is over. The folder itself stays where somebody else has put something into it.
void clear(const BoardFolder& folder, const char* last) {
  for (const char* within : kFolders) {
    clear_within(folder, within);
    folder.remove_folder(within);
  }
  clear_within(folder, ".");
  folder.remove(kRecord);
  folder.remove(last);
  ::rmdir(folder.path().c_str());
}

Result<void> fill(const BoardFolder& folder, std::string_view token, const BoardRecord& record) {
  const std::string key = key_of(record, token);
  for (const char* within : kFolders)
    if (Result<void> made = folder.make_folder(within); !made) return made;
  for (int seat = 0; seat < record.seats; ++seat) {
    const std::string name = to_name(key, SeatName{seat, record.first_turn});
    if (const Result<bool> made = folder.add("seats/" + name, {}); !made) return made.error();
  }
  const std::string text = sealed(token, kRecord, to_bytes(record));
  if (const Result<bool> made = folder.add(kRecord, text); !made) return made.error();
  if (const Result<bool> made = folder.add(kOpen, {}); !made) return made.error();
  return {};
}

/// The name of the closed gate; nullopt: it is open, or over.
Result<std::optional<std::string>> closed_gate(const BoardFolder& folder) {
  const Result<std::vector<std::string>> names = folder.names(".");
  if (!names) return names.error();
  const auto found = std::find_if(names->begin(), names->end(), [](const std::string& name) {
    return name.starts_with(kClosed);
  });
  return found == names->end() ? std::nullopt : std::optional(*found);
}

}  // namespace

bool SeatFiles::all_free() const {
  return all && !any_held();
}

bool SeatFiles::any_held() const {
  return std::any_of(seats.begin(), seats.end(),
                     [](const auto& seat) { return !seat.second.holder.empty(); });
}

Result<SeatFiles> seat_files(const BoardFolder& folder, const std::string& key, int seats) {
  const Result<std::vector<std::string>> names = folder.names("seats");
  if (!names) return names.error();
  SeatFiles files;
  for (const std::string& name : *names) {
    const auto seat = seat_name(key, name);
    if (!seat || seat->seat < 0 || seat->seat >= seats) continue;
    // A file that is renamed during the look may be seen under both names.
    const auto [known, is_new] = files.seats.emplace(seat->seat, *seat);
    const auto age = [](const SeatName& one) { return std::pair(one.turn, one.beat); };
    if (!is_new && age(known->second) < age(*seat)) known->second = *seat;
  }
  files.all = files.seats.size() == static_cast<std::size_t>(seats);
  return files;
}

std::optional<WordName> WordFiles::newest() const {
  if (!lead || words.empty() || words.back().generation != lead->generation) return std::nullopt;
  return words.back();
}

std::uint64_t WordFiles::present() const {
  return lead && !lead->is_gone ? lead->generation : 0;
}

Result<WordFiles> word_files(const BoardFolder& folder, const std::string& key) {
  const Result<std::vector<std::string>> names = folder.names("words");
  if (!names) return names.error();
  WordFiles found;
  for (const std::string& name : *names) {
    if (const auto word = word_name(name)) found.words.push_back(*word);
    const auto lead = lead_name(key, name);
    if (!lead) continue;
    const auto age = [](const LeadName& one) {
      return std::tuple(one.generation, one.is_gone, one.beat);
    };
    if (found.lead) found.former_leads.push_back(*lead);
    if (found.lead && age(*found.lead) < age(*lead))
      std::swap(*found.lead, found.former_leads.back());
    if (!found.lead) found.lead = lead;
  }
  // A word of a generation that no leader has had is nobody's.
  const std::uint64_t present = found.lead ? found.lead->generation : 0;
  std::erase_if(found.words, [&](const WordName& word) { return word.generation > present; });
  std::sort(found.words.begin(), found.words.end());
  return found;
}

Result<void> make_board(const std::string& path, std::string_view token,
                        const BoardRecord& record) {
  const std::string unfinished = path + ".new-" + record.id;
  if (::mkdir(unfinished.c_str(), 0700) != 0)
    return Error{Errc::peer_lost, fmt::format("{}: {}", unfinished, strerror(errno))};
  bool nothing = false;
  Result<BoardFolder> folder = BoardFolder::open(unfinished, nothing);
  if (!folder) return folder.error();
  Result<void> filled = fill(*folder, token, record);
  // rename(2) replaces an empty folder, never a board. Where an NFS server does it twice, the
  // second time finds nothing any more.
  if (filled && (::rename(unfinished.c_str(), path.c_str()) == 0 || errno == ENOENT)) return {};
  if (filled && errno != EEXIST && errno != ENOTEMPTY)
    filled = Error{Errc::peer_lost, fmt::format("{}: {}", path, strerror(errno))};
  clear(*folder, kOpen);
  return filled;
}

Result<BoardState> state_of(const BoardFolder& folder) {
  const Result<bool> open = folder.has(kOpen);
  if (!open) return open.error();
  if (*open) return BoardState::open;
  const Result<std::vector<std::string>> names = folder.names(".");
  if (!names) return names.error();
  if (names->empty()) return BoardState::nothing;
  const auto any = [&](auto test) { return std::any_of(names->begin(), names->end(), test); };
  if (any([](const std::string& name) { return name == kOver; })) return BoardState::over;
  const bool gate =
      any([](const std::string& name) { return name == kOpen || name.starts_with(kClosed); });
  return gate ? BoardState::closed : BoardState::foreign;
}

Result<std::optional<BoardRecord>> read_record(const BoardFolder& folder, std::string_view token) {
  const Result<std::string> text = folder.read(kRecord);
  if (!text) return text.error();
  const auto body = unsealed(token, kRecord, *text);
  return body ? board_record(*body) : std::nullopt;
}

std::string key_of(const BoardRecord& record, std::string_view token) {
  return std::string(bytes_of(hmac(token, {"safelaunch folder ", record.id})));
}

Result<void> end_board(const BoardFolder& folder, const std::string& key, int seats) {
  std::string closed = std::string(kClosed) + random_id();
  const Result<bool> mine = folder.move(kOpen, closed);
  if (!mine) return mine.error();
  if (!*mine) {
    const auto others = closed_gate(folder);
    if (!others) return others.error();
    if (!*others) return {};  // it has been opened again, or is over: the next look shows it
    closed = **others;
  }
  const Result<SeatFiles> files = seat_files(folder, key, seats);
  if (!files) return files.error();
  const Result<bool> moved = folder.move(closed, files->all_free() ? kOver : kOpen);
  if (!moved) return moved.error();
  if (*moved && files->all_free()) remove_board(folder);
  return {};
}

void remove_board(const BoardFolder& folder) {
  clear(folder, kOver);
}
}  // namespace safelaunch::agree
