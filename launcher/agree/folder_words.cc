#include <cstdint>

#include "folder_member.h"
#include "mac.h"
#include "safelaunch/base/format.h"

// The leader's words and the members' news in the folder. A reader of the words must see whether
// they still count. A leader therefore writes its mark beside them before they are read, renews it
// with each beat, and reads it again after each word. A reader hears a word only if its leader
// was still the present one after it was read.
namespace safelaunch::agree {
namespace {

/// So much of a gap between two looks counts as silence at most: a few looks at least.
constexpr int kLooksAtLeast = 4;

std::string in_words(const std::string& name) {
  return "words/" + name;
}

}  // namespace

Silence FolderMember::silence_under(const Terms& terms) {
  return Silence((terms.lease + terms.kill_margin) / kLooksAtLeast);
}

/// From here on the words of all former leaders are refused. Gives the last one that was taken: the
/// new leader's words are numbered on from there.
Result<std::optional<Word>> FolderMember::take_lead(const SeatName& seat) {
  lead_ = LeadName{seat.turn, seat.beat};
  const Result<bool> made = board_->add(in_words(to_name(key_, lead_)), {});
  if (!made) return made.error();
  const Result<WordFiles> words = word_files(*board_, key_);
  if (!words) return words.error();
  for (const LeadName& former : words->former_leads)
    if (former.generation <= seat.turn) board_->remove(in_words(to_name(key_, former)));
  for (auto word = words->words.rbegin(); word != words->words.rend(); ++word)
    if (const auto text = text_of(*word)) return Word{word->generation, word->number, *text};
  return std::optional<Word>();
}

/// The content of a word; nullopt: its writer has not finished, or it has been removed.
std::optional<std::string> FolderMember::text_of(const WordName& word) const {
  const Result<std::string> text = board_->read(in_words(to_name(word)));
  return text ? unsealed(key_, to_name(word), *text) : std::nullopt;
}

/// The word of a leader that has gone is not reported, because agents that come now must not follow
/// it.
void FolderMember::begin_to_hear(std::uint64_t present, const std::optional<WordName>& newest) {
  hears_ = true;
  leader_ = present;
  told_ = present == 0 && newest ? *newest : WordName{};
  lead_silence_ = silence_under(record_.terms);
}

Result<void> FolderMember::renew_lead() {
  const LeadName next{lead_.generation, held_->beat};
  const Result<bool> moved =
      board_->move(in_words(to_name(key_, lead_)), in_words(to_name(key_, next)));
  if (!moved) return moved.error();
  lead_ = next;
  return {};
}

/// Reads the folder of the words: the newest one, and whether there is a leader.
Result<void> FolderMember::hear_leader() {
  const TimePoint began = Clock::now();
  const Result<WordFiles> words = word_files(*board_, key_);
  if (!words) return words.error();
  const auto newest = words->newest();
  if (newest && *newest > told_)
    if (Result<void> heard = hear_word(*newest); !heard) return heard;
  if (leads()) return {};
  // A mark is replaced, never removed: one that is renamed just now may be left out.
  if (!words->lead) return {};
  const std::uint64_t present = words->present();
  if (leader_ != 0 && leader_ != present) heard_.events.push_back(SeatVacated{0});
  leader_ = present;
  if (present == 0) return {};
  lead_silence_.look(began, Clock::now(), {{0, to_name(key_, *words->lead)}});
  if (lead_silence_.of(0) < record_.terms.lease + record_.terms.kill_margin) return {};
  return end_silent_leader(*words->lead);
}

/// A look at the words that begins after this one was there shows whether its leader was still the
/// present one then.
Result<void> FolderMember::hear_word(const WordName& word) {
  const auto text = text_of(word);
  if (!text) return {};
  const Result<WordFiles> words = word_files(*board_, key_);
  if (!words) return words.error();
  if (!words->lead || words->lead->generation != word.generation) return {};
  told_ = word;
  heard_.events.push_back(WordCame{{word.generation, word.number, *text}});
  return {};
}

/// The mark has not changed for as long as a holder may be silent. It follows the seat's beats: a
/// seat of the same beat has not changed for as long either.
Result<void> FolderMember::end_silent_leader(const LeadName& lead) {
  const Result<SeatFiles> files = look();
  if (!files) return files.error();
  const auto found = files->seats.find(0);
  if (found == files->seats.end() || found->second.turn != lead.generation) return {};
  const SeatName& seat = found->second;
  if (!seat.holder.empty()) {
    if (seat.beat != lead.beat && !silent(seat)) return {};
    const Result<bool> freed = free(seat);
    if (!freed || !*freed) return freed ? Result<void>() : freed.error();
  }
  return mark_gone(lead);
}

Result<void> FolderMember::mark_gone(const LeadName& lead) {
  const LeadName gone{lead.generation, lead.beat, true};
  const Result<bool> moved =
      board_->move(in_words(to_name(key_, lead)), in_words(to_name(key_, gone)));
  return moved ? Result<void>() : moved.error();
}

Result<void> FolderMember::say(const Wishes& wishes) {
  for (const Word& word : wishes.words) {
    const Result<bool> taken = put(word);
    if (!taken) return taken.error();
    if (!*taken) {
      const Result<void> freed = give_back();
      unseat(fmt::format("the board does not take word {} of generation {}: the last one is {}",
                         word.number, word.generation, told_.number));
      return freed;
    }
    told_ = {word.generation, word.number};
    heard_.taken = word;
    heard_.events.push_back(WordCame{word});
  }
  return {};
}

/// Writes a word. False where it is not the next one, or not one of the present leader's.
Result<bool> FolderMember::put(const Word& word) {
  const WordName name{word.generation, word.number};
  if (leads() && name == told_) return text_of(name) == word.text;  // said twice
  // On a board without words a leader goes on from those that it has heard on the one before.
  const bool next = told_.number == 0 || word.number == told_.number + 1;
  if (!leads() || word.generation != held_->turn || !next) return false;
  const std::string text = sealed(key_, to_name(name), word.text);
  const Result<bool> added = board_->add(in_words(to_name(name)), text);
  if (!added) return added;
  if (!*added && text_of(name) != word.text) return false;  // not even of an earlier try
  const Result<WordFiles> words = word_files(*board_, key_);
  if (!words) return words.error();
  if (!words->lead || words->lead->generation != held_->turn) return false;
  for (const WordName& former : words->words)
    if (former < name) board_->remove(in_words(to_name(former)));
  return true;
}

Result<void> FolderMember::lead() {
  const Result<SeatFiles> files = look();
  if (!files) return files.error();
  for (auto [seat, name] : files->seats) {
    if (seat == held_->seat) continue;
    if (!name.holder.empty() && silent(name)) {
      const Result<bool> freed = free(name);
      if (!freed) return freed.error();
      if (*freed) name.holder.clear();
    }
    const auto known = members_.find(seat);
    const bool is_known = known != members_.end();
    if (is_known && (name.holder.empty() || known->second.turn != name.turn)) {
      members_.erase(known);
      heard_.events.push_back(SeatVacated{seat});
    } else if (is_known && known->second.version >= name.version) {
      continue;
    }
    if (!name.holder.empty()) show(name);
  }
  return {};
}

/// Tells what a member has published. Where that is not there yet, a later round does.
void FolderMember::show(const SeatName& seat) {
  const auto news = news_of(seat);
  if (!news || news->incarnation != seat.holder || news->version < seat.version) return;
  members_[seat.seat] = seat;
  members_[seat.seat].version = news->version;
  heard_.events.push_back(StandingCame{{seat.seat, seat.holder, news->host, news->text}});
}

}  // namespace safelaunch::agree
