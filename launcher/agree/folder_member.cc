#include "folder_member.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "mac.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/trusted_path.h"

// A round is one visit to the folder, and each of its steps one change that the file system makes
// whole. Without a seat the agent finds the board, or makes it, and takes the first free or silent
// seat that it may have; with one it beats in time. folder_words.cc has the words and the news. A
// step whose condition does not hold is no error: a later round looks again.
namespace safelaunch::agree {
namespace {

constexpr Duration kSlowestPace{500};
constexpr Duration kQuickestPace{10};

constexpr std::size_t kLongestIncarnation = 64;

std::string in_seats(const std::string& name) {
  return "seats/" + name;
}

std::string in_news(const SeatName& seat) {
  return "news/" + news_name(seat);
}

/// The number that the turns of a new board's holders count up from. It is greater than all turns
/// of earlier boards as long as the clock is roughly right.
std::uint64_t first_turn() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

}  // namespace

FolderMember::FolderMember(std::string folder, Terms terms, std::string token)
    : folder_(std::move(folder)),
      terms_(terms),
      token_(std::move(token)),
      silence_(silence_under(terms)),
      lead_silence_(silence_) {}

Duration FolderMember::pace() const {
  return std::clamp(terms_.renew_every / 4, kQuickestPace, kSlowestPace);
}

Outcome FolderMember::round(const Wishes& wishes) {
  heard_ = {};
  if (wishes.claims != claims_) serve(wishes);
  sent_ = Clock::now();
  if (const Result<void> visited = visit(wishes); !visited)
    heard_.events.push_back(Unreachable{visited.error().message});
  return std::move(heard_);
}

void FolderMember::serve(const Wishes& wishes) {
  claims_ = wishes.claims;
  claim_ = *wishes.claim;
  claims_no_more_ = false;
  path_ = folder_ + "/safelaunch-" + plain_job_name(claim_.job);
  forget_board();
  held_.reset();  // where it is still ours, its file bears our name
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (claim_.incarnation.find_first_not_of(kDigits) != std::string::npos ||
      claim_.incarnation.empty() || claim_.incarnation.size() > kLongestIncarnation)
    refuse(Errc::usage, "an agent's incarnation is at most 64 hexadecimal digits");
  else if (claim_.seats < 1 || claim_.seat.value_or(0) < 0 ||
           claim_.seat.value_or(0) >= claim_.seats)
    refuse(Errc::usage, fmt::format("there is no node {} among {} nodes", claim_.seat.value_or(0),
                                    claim_.seats));
}

Result<void> FolderMember::visit(const Wishes& wishes) {
  if (wishes.leaves) return leave();
  if (claims_ == 0 || claims_no_more_) return {};
  if (!board_) {
    if (Result<void> entered = enter(); !entered || !board_ || claims_no_more_) return entered;
  }
  const Result<bool> there = board_->is_there();
  if (!there) return there.error();
  if (!*there) {
    forget_board();
    if (held_) unseat(path_ + " is gone, or another folder has taken its place");
    return {};
  }
  Result<void> done = held_ ? keep(wishes) : seek(wishes);
  if (done && (held_ || hears_)) done = hear_leader();
  if (done && leads()) done = lead();
  if (done && held_) done = say(wishes);
  return done;
}

// ---- to the board, from nothing

Result<void> FolderMember::enter() {
  if (Result<void> ready = prepare_folder(); !ready || claims_no_more_) return ready;
  if (Result<void> free = judge_place(); !free || claims_no_more_) return free;
  bool nothing = false;
  Result<BoardFolder> folder = BoardFolder::open(path_, nothing);
  if (!folder && nothing) {
    if (Result<void> made = make(); !made) return made;
    folder = BoardFolder::open(path_, nothing);
  }
  if (!folder) return nothing ? Result<void>() : folder.error();
  // The path is judged before we ask whether it still leads to the folder that we have opened, so
  // the judgement is of that folder.
  const auto distrust = distrust_path(path_);
  const Result<bool> there = folder->is_there();
  if (!there) return there.error();
  if (!*there) return {};  // it has just been removed
  if (distrust) {
    distrusted(path_, *distrust);
    return {};
  }
  board_ = std::move(*folder);
  return know_board();
}

void FolderMember::distrusted(const std::string& path, const std::string& why) {
  refuse(Errc::bad_config,
         fmt::format("{}: {}; name a folder that only you can write to", path, why));
}

/// Makes the folder that was named where it is missing. It is judged before, so that no folder of
/// ours is left where the run is refused.
Result<void> FolderMember::prepare_folder() {
  struct stat facts {};
  if (::stat(folder_.c_str(), &facts) == 0) {
    if (!S_ISDIR(facts.st_mode))
      refuse(Errc::bad_config, fmt::format("--rendezvous file://{}: this is no folder; name a "
                                           "folder of your own that all nodes share",
                                           folder_));
    return {};
  }
  const std::string above = folder_.substr(0, std::max<std::size_t>(folder_.rfind('/'), 1));
  if (const auto why = distrust_place(above); why && ::access(above.c_str(), F_OK) == 0) {
    distrusted(folder_, *why);
    return {};
  }
  if (::mkdir(folder_.c_str(), 0700) == 0 || errno == EEXIST) return {};
  const std::string why = fmt::format("--rendezvous file://{}: {}", folder_, strerror(errno));
  if (errno != ENOENT && errno != ENOTDIR && errno != EACCES && errno != EROFS)
    return Error{Errc::peer_lost, why};
  refuse(Errc::bad_config, why + "; give a folder of your own that all nodes share");
  return {};
}

/// Whether the board's folder may be made or entered: waiting mends neither a folder into which
/// strangers may write nor a file that has the board's name.
Result<void> FolderMember::judge_place() {
  if (const auto why = distrust_place(folder_)) {
    distrusted(folder_, *why);
    return {};
  }
  struct stat facts {};
  if (::lstat(path_.c_str(), &facts) != 0) {
    if (errno == ENOENT) return {};
    return Error{Errc::peer_lost, fmt::format("{}: {}", path_, strerror(errno))};
  }
  if (!S_ISDIR(facts.st_mode))
    refuse(
        Errc::bad_config,
        fmt::format("{} is {} of uid {}, and no folder; remove it, or name another folder", path_,
                    S_ISLNK(facts.st_mode)    ? "a link"
                    : S_ISFIFO(facts.st_mode) ? "a FIFO"
                                              : "a file",
                    facts.st_uid));
  return {};
}

Result<void> FolderMember::make() const {
  const std::uint64_t turn = std::max(first_turn(), greatest_turn_ + 1);
  return make_board(path_, token_, {random_id(), claim_.job, claim_.seats, terms_, turn});
}

/// Reads whose board it is. Where it is none yet, or no more, a later round looks again.
Result<void> FolderMember::know_board() {
  const Result<BoardState> state = state_of(*board_);
  if (!state) return state.error();
  if (*state == BoardState::nothing || *state == BoardState::over) {
    if (*state == BoardState::over) remove_board(*board_);
    board_.reset();
    return make();
  }
  if (*state == BoardState::foreign) {
    refuse(Errc::bad_config, path_ + " holds files that belong to no board; move them away");
    return {};
  }
  const auto record = read_record(*board_, token_);
  if (!record || !*record) board_.reset();
  if (!record) return record.error();
  if (!*record) {
    refuse(Errc::bad_config,
           fmt::format("the agents that meet in {} have another token; copy theirs, or remove that "
                       "folder if no such job runs",
                       path_));
    return {};
  }
  record_ = **record;
  key_ = key_of(record_, token_);
  difference_ = difference(record_, claim_, terms_);
  silence_ = silence_under(record_.terms);
  return {};
}

// ---- without a seat

Result<SeatFiles> FolderMember::look() {
  const TimePoint began = Clock::now();
  Result<SeatFiles> files = seat_files(*board_, key_, record_.seats);
  if (!files) return files;
  std::map<int, std::string> signs;
  for (const auto& [seat, name] : files->seats)
    if (!name.holder.empty()) signs[seat] = to_name(key_, name);
  silence_.look(began, Clock::now(), signs);
  return files;
}

bool FolderMember::silent(const SeatName& seat) const {
  return silence_.of(seat.seat) >= record_.terms.lease + record_.terms.kill_margin;
}

/// Everybody who was here has left, or is silent. A board with our terms on which no seat was ever
/// taken is not over: it is new, and its maker is about to sit down.
bool FolderMember::is_over(const SeatFiles& files) const {
  if (!files.all) return false;
  bool used = false;
  for (const auto& [seat, name] : files.seats) {
    if (name.holder == claim_.incarnation || (!name.holder.empty() && !silent(name))) return false;
    used = used || name.turn != record_.first_turn;
  }
  return used || difference_;
}

Result<void> FolderMember::seek(const Wishes& wishes) {
  const Result<BoardState> state = state_of(*board_);
  if (!state) return state.error();
  const Result<SeatFiles> files = look();
  if (!files) return files.error();
  for (const auto& [seat, name] : files->seats)
    greatest_turn_ = std::max(greatest_turn_, name.turn);
  if (*state != BoardState::open || is_over(*files)) {
    for (const auto& [seat, name] : files->seats)
      if (!name.holder.empty() && silent(name)) (void)free(name);
    Result<void> ended = end_board(*board_, key_, record_.seats);
    forget_board();
    return ended;
  }
  if (difference_) return wait_out_other_terms(*files);
  for (const auto& [seat, name] : files->seats)
    if (name.holder == claim_.incarnation) return sit(name);
  for (const auto& [seat, name] : files->seats)
    if ((!claim_.seat || *claim_.seat == seat) && (name.holder.empty() || silent(name)))
      return take(name, wishes);
  return park(*files);
}

Result<void> FolderMember::wait_out_other_terms(const SeatFiles& files) {
  if (silence_.heard_any()) {
    refuse(Errc::bad_config, fmt::format("the board in {} is in use, but {}; start all agents of a "
                                         "job with the same options",
                                         path_, *difference_));
    return {};
  }
  if (!files.any_held() || !parked_.empty()) return {};
  parked_ = fmt::format(
      "the board in {} is an earlier one ({}); this agent replaces it unless an agent there gives "
      "a sign of life",
      path_, *difference_);
  heard_.events.push_back(Parked{parked_});
  return {};
}

Result<void> FolderMember::take(const SeatName& seen, const Wishes& wishes) {
  const SeatName next{seen.seat, seen.turn + 1, claim_.incarnation, 0, 0};
  // The news are written first, so that others find them as soon as the seat bears our name.
  if (Result<void> done = publish(next, *wishes.text); !done) return done;
  const Result<bool> mine =
      board_->move(in_seats(to_name(key_, seen)), in_seats(to_name(key_, next)));
  if (!mine) return mine.error();
  if (!*mine) {
    board_->remove(in_news(next));
    return {};  // somebody was quicker, or its holder is there again
  }
  board_->remove(in_news(seen));
  published_ = wishes.version;
  return sit(next);
}

/// The seat's file bears our name. It counts once the gate is seen open after that.
Result<void> FolderMember::sit(const SeatName& seat) {
  const Result<BoardState> state = state_of(*board_);
  if (!state) return state.error();
  if (*state != BoardState::open) {
    const Result<bool> freed = free(seat);
    return freed ? Result<void>() : freed.error();
  }
  std::optional<Word> inherited;
  if (seat.seat == 0) {
    const auto done = take_lead(seat);
    if (!done) return done.error();
    inherited = *done;
  }
  const Result<WordFiles> words = word_files(*board_, key_);
  if (!words) return words.error();
  held_ = seat;
  renewed_ = {};  // so the first beat comes at once, and confirms
  members_.clear();
  parked_.clear();
  heard_.events.push_back(Seated{{seat.seat, words->lead ? words->lead->generation : 0}});
  begin_to_hear(words->present(), words->newest());
  if (inherited) {
    told_ = {inherited->generation, inherited->number};
    heard_.events.push_back(WordCame{*inherited});
  }
  if (seat.seat != 0 && words->present() == 0) heard_.events.push_back(SeatVacated{0});
  return {};
}

Result<void> FolderMember::park(const SeatFiles& files) {
  std::string why;
  const auto seat = files.seats.find(claim_.seat.value_or(0));
  if (!files.all || seat == files.seats.end()) return {};  // a holder renames one just now
  if (claim_.seat)
    why = fmt::format("the place of node {} is held by {}", seat->first, host_of(seat->second));
  else
    why = fmt::format("all {} places are held, that of node 0 by {}", claim_.seats,
                      host_of(seat->second));
  if (why != parked_) heard_.events.push_back(Parked{why});
  parked_ = why;
  if (hears_) return {};
  const Result<WordFiles> words = word_files(*board_, key_);
  if (!words) return words.error();
  begin_to_hear(words->present(), words->newest());
  return {};
}

std::optional<NewsRecord> FolderMember::news_of(const SeatName& seat) const {
  const Result<std::string> text = board_->read(in_news(seat));
  const auto body = text ? unsealed(key_, news_name(seat), *text) : std::nullopt;
  return body ? news_record(*body) : std::nullopt;
}

std::string FolderMember::host_of(const SeatName& seat) const {
  const auto news = news_of(seat);
  return news && !news->host.empty() ? news->host : "another agent";
}

// ---- with a seat

Result<void> FolderMember::keep(const Wishes& wishes) {
  const bool news = wishes.version != published_;
  if (!news && sent_ - renewed_ < terms_.renew_every) return {};
  return beat(wishes, news);
}

Result<void> FolderMember::beat(const Wishes& wishes, bool news) {
  SeatName next = *held_;
  ++next.beat;
  if (news) {
    ++next.version;
    if (Result<void> done = publish(next, *wishes.text); !done) return done;
  }
  const Result<bool> moved =
      board_->move(in_seats(to_name(key_, *held_)), in_seats(to_name(key_, next)));
  if (!moved) return moved.error();
  const Result<bool> mine = is_mine(next);
  if (!mine) return mine.error();
  if (!*mine) return {};
  held_ = next;
  renewed_ = sent_;
  published_ = wishes.version;
  heard_.events.push_back(Confirmed{sent_});
  return leads() ? renew_lead() : Result<void>();
}

/// Reads back what the board has. Where the seat is another's, this agent is unseated.
Result<bool> FolderMember::is_mine(const SeatName& next) {
  const Result<bool> there = board_->has(in_seats(to_name(key_, next)));
  if (!there || *there) return there;
  const Result<SeatFiles> files = seat_files(*board_, key_, record_.seats);
  if (!files) return files.error();
  const auto found = files->seats.find(next.seat);
  if (found == files->seats.end())
    return Error{Errc::peer_lost,
                 fmt::format("{}: the file for the place of node {} is missing", path_, next.seat)};
  const SeatName& now = found->second;
  if (now.turn == next.turn && now.holder == next.holder) {
    held_ = now;  // of an earlier try, whose answer was lost
    return false;
  }
  unseat(now.holder.empty()
             ? fmt::format(
                   "the other agents heard nothing from this one; the place of node {} is free",
                   now.seat)
             : fmt::format("the place of node {} is held by {} now", now.seat, host_of(now)));
  return false;
}

Result<void> FolderMember::leave() {
  heard_.left = true;
  if (!board_ || !held_) return {};
  const Result<void> freed = give_back();
  held_.reset();
  if (!freed) return freed;
  const Result<SeatFiles> files = seat_files(*board_, key_, record_.seats);
  if (!files) return files.error();
  return files->all_free() ? end_board(*board_, key_, record_.seats) : Result<void>();
}

// ---- tools

Result<void> FolderMember::give_back() {
  const Result<bool> freed = free(*held_);
  if (!freed) return freed.error();
  return *freed && leads() ? mark_gone(lead_) : Result<void>();
}

Result<bool> FolderMember::free(const SeatName& seat) {
  const SeatName freed{seat.seat, seat.turn, {}, seat.beat + 1, 0};
  Result<bool> moved = board_->move(in_seats(to_name(key_, seat)), in_seats(to_name(key_, freed)));
  if (moved && *moved) board_->remove(in_news(seat));
  return moved;
}

Result<void> FolderMember::publish(const SeatName& seat, const std::string& text) {
  const NewsRecord news{seat.holder, seat.version, claim_.host, text};
  return board_->write(in_news(seat), sealed(key_, news_name(seat), to_bytes(news)));
}

void FolderMember::unseat(const std::string& why) {
  held_.reset();
  hears_ = false;
  claims_no_more_ = true;
  heard_.events.push_back(Unseated{why});
}

void FolderMember::refuse(Errc code, const std::string& why) {
  claims_no_more_ = true;
  heard_.events.push_back(Refused{{code, why}});
}

void FolderMember::forget_board() {
  board_.reset();
  hears_ = false;
  difference_.reset();
  parked_.clear();
}

}  // namespace safelaunch::agree
