#include "safelaunch/ranks/stall_watch.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <iterator>
#include <limits>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/time.h"
#include "safelaunch/clean/leftovers_survey.h"
#include "safelaunch/clean/removal.h"
#include "safelaunch/host/activity.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/left_files.h"
#include "safelaunch/host/mounts.h"
#include "safelaunch/host/process_facts.h"
#include "safelaunch/ranks/rank_machine.h"

// The counters of the ranks' collectives say whether training moves. Each counts over all groups of
// a rank. Stall decides; here its questions are asked, the ranks are looked at, and its timer is
// set.
namespace safelaunch::ranks {
namespace {

bool is_alive(const std::pair<const Rank, watch::RankState>& rank) {
  return rank.second.alive();
}

bool waits_in_a_stage(const watch::RankState& rank) {
  for (const Stage stage :
       {Stage::rendezvous, Stage::group, Stage::communicator, Stage::collective})
    if (rank.waits_in(stage)) return true;
  return false;
}

// Empty where nobody holds it.
std::string holder_in_words(const host::LeftFile& lock) {
  if (const auto pid = host::locked_by(lock))
    return fmt::format(", held by pid {} ({})", *pid, host::short_command_of(*pid, "?"));
  return host::holder_of(lock) == host::Holder::somebody ? ", somebody has it open" : "";
}

// A lock that nobody can prove to be left, or that the policy keeps.
std::string advice_on(const clean::StaleFile& kept) {
  return kept.claim == clean::Claim::ours
             ? "safelaunch doctor --fix"
             : fmt::format("once no job builds it any more: rm {}", shell_word(kept.file.path));
}

// A process of the job may claim any world.
constexpr std::size_t kMostUnseen = 1'000;

// The ranks that meet know how many they are to be.
watch::StallReport with_unseen(watch::StallReport report,
                               const std::map<Rank, watch::RankState>& ranks) {
  int world = 0;
  for (const Rank rank : report.meeting)
    if (const auto known = ranks.find(rank); known != ranks.end())
      world = std::max(world, known->second.claimed_world.value_or(0));
  for (int rank = 0; rank < world && report.lagging.size() < kMostUnseen; ++rank)
    if (!ranks.contains(Rank{rank})) report.lagging.push_back(Rank{rank});
  return report;
}

}  // namespace

void StallWatch::begin(int ranks, watch::Stall::Waiting waiting) {
  if (timeout_.off()) return;
  stall_.emplace(timeout_, Clock::now(), ranks, waiting);
  rearm();
}

void StallWatch::end() {
  stall_.reset();
  timer_.cancel();
}

void StallWatch::saw_output() {
  if (stall_) stall_->on_output(Clock::now());  // the timer that runs comes early, and is set anew
}

void StallWatch::answered(Rank rank, const watch::CountersAnswer& answer) {
  if (!stall_) return;
  const RankCounted counted = counted_by(answer);
  stall_->on_counters(rank, counted.collectives, Clock::now(), counted.uncounted);
  rearm();
}

void StallWatch::answered(int seat, const NodeCounts& counts) {
  if (!stall_ || counts.question != questions_ || unanswered_.erase(seat) == 0) return;
  const TimePoint now = Clock::now();
  for (const auto& [rank, counted] : counts.ranks)
    stall_->on_counters(rank, counted.collectives, now, counted.uncounted);
  take({counts.activities, counts.others_work ? std::optional(Activity::working) : std::nullopt});
  if (counts.wrote) stall_->on_output(now);
  stall_->on_unanswered(unanswered_.size());
  rearm();
}

void StallWatch::rearm() {
  const auto next = stall_ ? stall_->next_deadline() : std::nullopt;
  if (!next) return void(timer_.cancel());
  timer_.set(*next, [this] { tick(); });
}

void StallWatch::take(const TrainingLook::Seen& seen) {
  const TimePoint now = Clock::now();
  for (const auto& [rank, activity] : seen.ranks)
    if (activity != Activity::unseen) stall_->on_activity(rank, activity, now);
  if (seen.others) stall_->on_others(*seen.others, now);
}

// A node without live ranks answers nothing.
void StallWatch::ask() {
  unanswered_.clear();
  for (const auto& [rank, state] : ranks_)
    if (state.alive() && !state.process()->is_here()) unanswered_.insert(state.process()->node);
  stall_->on_unanswered(unanswered_.size());
  ask_(++questions_);
}

// A launcher may need its time to end once all ranks are through. One that goes on after the end of
// ranks that were not through is a server without its workers.
void StallWatch::look_for_ends() {
  std::set<Rank> lost;
  const bool all_have_ended = !ranks_.empty() && std::ranges::none_of(ranks_, is_alive);
  if (all_have_ended)
    for (const auto& [rank, state] : ranks_)
      if (state.ended() && !finished_.contains(rank) && (!state.status() || state.failed()))
        lost.insert(rank);
  if (all_have_ended && lost.empty()) stall_->rested(Clock::now());
  stall_->on_lost(std::move(lost));
}

void StallWatch::tick() {
  if (!stall_) return;
  const TimePoint now = Clock::now();
  const TrainingLook::Seen seen = look_.look(ranks_, now);
  take(seen);
  stall_->on_readers(seen.readers);
  look_for_ends();
  if (const auto action = stall_->tick(Clock::now())) {
    if (const auto* report = std::get_if<watch::StallReport>(&*action))
      tell_(TrainingStalled{with_unseen(*report, ranks_)});
    else if (const auto* over = std::get_if<watch::StallOver>(&*action))
      tell_(TrainingMoves{over->stood});
    else
      ask();
  }
  rearm();
}

// All ranks stand still where none of them has used CPU or io, nor received anything, between two
// looks, and no process beside them works for them. A rank that waits for others is judged by its
// stage instead. The looks are rare, because each reads the whole process tree of every rank.

void StandstillWatch::begin() {
  standstill_.emplace(limits_, Clock::now());
  look_later();
}

void StandstillWatch::end() {
  timer_.cancel();
  standstill_.reset();
  looks_.clear();
  others_.forget();
}

void StandstillWatch::look_later() {
  const auto next = standstill_ ? standstill_->next_look() : std::nullopt;
  if (!next) return;
  timer_.set(*next, [this] {
    if (standstill_) look();
  });
}

void StandstillWatch::look() {
  const TimePoint now = Clock::now();
  // To tell of it may end the watch.
  if (const auto still = standstill_->on_look(all_still(now), now))
    on_standstill_({*still, doings_});
  if (standstill_) look_later();
}

// A rank that is new, or that another waits for, makes the job one that moves.
bool StandstillWatch::all_still(TimePoint now) {
  std::map<Rank, host::TreeSample> before = std::exchange(looks_, {});
  doings_.clear();
  bool still = !others_work(now);
  const host::SocketTraffic traffic = host::socket_traffic();
  for (const auto& [rank, state] : ranks_) {
    if (!state.alive()) continue;
    if (waits_in_a_stage(state) || state.awaits_person()) return false;
    if (!state.process()->is_here()) return false;  // only its own node could compare its looks
    host::TreeSample& seen = looks_[rank] = host::sample_tree(*state.process(), now, table_);
    host::add_traffic(seen, traffic);
    const auto known = before.find(rank);
    const auto stands =
        known == before.end() ? std::nullopt : host::stood_still(known->second, seen);
    still = still && stands.has_value();
    if (stands) doings_[rank] = *stands;
  }
  return still && looks_.size() > 1;
}

// A daemon that no rank is above may build, or fetch, what they all wait for; so may a process that
// will only say later that it is a rank.
bool StandstillWatch::others_work(TimePoint now) {
  std::set<ProcessId> known;
  for (const auto& [rank, state] : ranks_)
    if (state.process()) known.insert(*state.process());
  const auto seen = others_.look_at_helpers(host::self(), known, now);
  return seen && seen->activity == Activity::working;
}

bool has_built_extension(const std::string& lock) {
  std::error_code none;
  for (const auto& file :
       std::filesystem::directory_iterator(std::filesystem::path(lock).parent_path(), none))
    if (file.path().extension() == ".so") return true;
  return false;
}

WaitedLocks find_waited_locks(const Environment& environment, settings::CleanPolicy policy,
                              BuildWait wait) {
  const std::string folder = host::extensions_folder(environment);
  const std::vector<host::Mount> mounts = host::read_mounts();
  const host::Mount* mount = host::mount_of(mounts, folder);
  if (folder.empty() || mount == nullptr || host::is_network(*mount)) return {};
  std::vector<host::LeftFile> locks = host::extension_locks(folder);
  if (wait == BuildWait::until_the_lock_is_free)
    std::erase_if(locks, [](const auto& lock) { return holder_in_words(lock).empty(); });
  if (locks.empty()) return {};
  const clean::StaleFiles stale =
      clean::survey_files({{}, locks, {}}, host::read_identity(), mounts);
  WaitedLocks found;
  for (const host::LeftFile& lock : locks) {
    const auto known = std::ranges::find(stale.locks, lock, &clean::StaleFile::file);
    const bool is_known = known != stale.locks.end();
    found.words +=
        fmt::format("{}{} ({})", found.words.empty() ? "" : ", ", lock.path,
                    is_known ? known->why : rough_age(lock.age) + " old" + holder_in_words(lock));
    if (is_known && found.help.empty() && !clean::acts_on(policy, known->claim))
      found.help = advice_on(*known);
    found.paths.insert(lock.path);
  }
  found.words = "the lock of an extension's build: " + found.words;
  std::ranges::copy_if(
      stale.locks, std::back_inserter(found.left),
      [&](const clean::StaleFile& lock) { return clean::acts_on(policy, lock.claim); });
  return found;
}

RemovedLocks remove_waited_locks(const std::vector<clean::StaleFile>& left,
                                 settings::CleanPolicy policy) {
  RemovedLocks done;
  for (const clean::Removal& removal : clean::remove({{}, left}, policy)) {
    done.lines.push_back(describe(removal));
    const auto* lock = std::get_if<clean::StaleFile>(&removal.what);
    const bool removed = lock != nullptr && !host::file_at(lock->file.path);
    if (!removed || has_built_extension(lock->file.path)) continue;
    done.cut_off = lock->file.path;
    done.lines.push_back(
        fmt::format("the build behind {} was cut off before it made a library. A rank that waited "
                    "for it may fail with ImportError; the next start builds it",
                    lock->file.path));
  }
  return done;
}

}  // namespace safelaunch::ranks
