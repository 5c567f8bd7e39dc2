#include "safelaunch/run/standstill_watch.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <iterator>

#include "safelaunch/base/format.h"
#include "safelaunch/clean/survey.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/left_files.h"
#include "safelaunch/host/mounts.h"
#include "safelaunch/host/standing.h"
#include "safelaunch/host/words.h"

namespace safelaunch {
namespace {

bool waits_for_others(const RankState& rank) {
  for (const Stage stage :
       {Stage::rendezvous, Stage::group, Stage::communicator, Stage::collective})
    if (rank.waits_in(stage)) return true;
  return false;
}

std::string in_words(const LeftFile& lock, const std::vector<StaleFile>& stale,
                     CleanPolicy policy) {
  const auto known = std::ranges::find(stale, lock, &StaleFile::file);
  if (known == stale.end()) {
    const bool held = holder_of(lock) == Holder::somebody;
    return fmt::format("{} ({} old{})", lock.path, rough_age(lock.age),
                       held ? ", somebody has it open" : "");
  }
  if (acts_on(policy, known->claim)) return fmt::format("{} ({})", lock.path, known->why);
  const bool ours = known->claim == Claim::ours;
  return fmt::format(
      "{} ({}; {})", lock.path, known->why,
      ours ? "`safelaunch doctor --fix` removes it" : "once no job builds it any more, remove it");
}

}  // namespace

void StandstillWatch::begin(RanksNow ranks) {
  ranks_ = std::move(ranks);
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
  timer_.expires_at(*next);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled && standstill_) look();
  });
}

void StandstillWatch::look() {
  const TimePoint now = Clock::now();
  // What follows may end the watch.
  if (const auto still = standstill_->on_look(all_still(now), now)) on_still_(*still, doings_);
  if (standstill_) look_later();
}

// A rank that is new, or that another waits for, makes the job one that moves.
bool StandstillWatch::all_still(TimePoint now) {
  std::map<Rank, TreeSample> before = std::exchange(looks_, {});
  doings_.clear();
  bool still = !others_work(now);
  const SocketTraffic traffic = socket_traffic();
  for (const auto& [rank, state] : ranks_()) {
    if (!state.alive()) continue;
    if (waits_for_others(state)) return false;
    TreeSample& seen = looks_[rank] = sample_tree(*state.process(), now, table_);
    add_traffic(seen, traffic);
    const auto known = before.find(rank);
    const auto stands = known == before.end() ? std::nullopt : stood_still(known->second, seen);
    still = still && stands.has_value();
    if (stands) doings_[rank] = *stands;
  }
  return still && looks_.size() > 1;
}

// A daemon that no rank is above may build, or fetch, what they all wait for; so may a process that
// will only say later that it is a rank.
bool StandstillWatch::others_work(TimePoint now) {
  std::set<ProcessId> known;
  for (const auto& [rank, state] : ranks_())
    if (state.process()) known.insert(*state.process());
  const auto seen = others_.look_at_helpers(self(), known, now);
  return seen && seen->activity == Activity::working;
}

bool has_built_extension(const std::string& lock) {
  std::error_code none;
  for (const auto& file :
       std::filesystem::directory_iterator(std::filesystem::path(lock).parent_path(), none))
    if (file.path().extension() == ".so") return true;
  return false;
}

WaitedLocks find_waited_locks(const Environment& environment, CleanPolicy policy) {
  const std::string folder = extensions_folder(environment);
  const std::vector<Mount> mounts = read_mounts();
  const Mount* mount = mount_of(mounts, folder);
  if (folder.empty() || mount == nullptr || is_network(*mount)) return {};
  const std::vector<LeftFile> locks = extension_locks(folder);
  if (locks.empty()) return {};
  const StaleFiles stale = survey_files({{}, locks, {}}, read_identity(), mounts);
  WaitedLocks found;
  for (const LeftFile& lock : locks)
    found.words += (found.words.empty() ? "" : ", ") + in_words(lock, stale.locks, policy);
  found.words = "the lock of an extension's build: " + found.words;
  std::ranges::copy_if(stale.locks, std::back_inserter(found.left),
                       [&](const StaleFile& lock) { return acts_on(policy, lock.claim); });
  return found;
}

}  // namespace safelaunch
