#include "safelaunch/run/nccl_watch.h"

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/nccl/version.h"
#include "safelaunch/profile/variables.h"

namespace safelaunch::run {
namespace {

// A log that repeats itself in ever new words is read in its file.
constexpr std::size_t kMostSaid = 50;

/// Whether this NCCL knows a variable, and none of the processes said that it has read it.
bool is_unread(const std::string& name, const nccl::Version& version,
               const std::map<std::string, std::string>& read) {
  const std::string announced(nccl::announced_as(name, version));
  const auto known = profile::truth_about(name);
  if (announced.empty() || !known || known->reader != "NCCL") return false;
  const auto since = nccl::parse_nccl_version(known->since);
  const auto until = nccl::parse_nccl_version(known->until);
  const bool knows = (!since || version >= *since) && (!until || version < *until);
  return knows && !read.contains(announced);
}

void take_process(const nccl::Process& process, NcclRecord& record,
                  std::map<std::string, std::string>& variables) {
  if (process.version) record.versions.insert(*process.version);
  if (!process.interface.empty()) record.interfaces.insert(process.interface);
  if (!process.network.empty()) record.networks.insert(process.network);
  variables.insert(process.variables.begin(), process.variables.end());
  for (const nccl::Comm& comm : process.comms)
    record.transports.insert(comm.transports.begin(), comm.transports.end());
}

std::string steps_of(const nccl::Standing& standing) {
  std::map<nccl::Step, std::vector<Rank>> ranks;
  for (const auto& [rank, step] : standing.came) ranks[step].push_back(rank);
  std::string text;
  for (const auto& [step, those] : ranks)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", rank_list(those), describe(step));
  return text;
}

}  // namespace

std::string describe_standing(const NcclRecord& record) {
  if (record.in_old_bootstrap > 0)
    return fmt::format("{} {} in NCCL's bootstrap", record.in_old_bootstrap,
                       record.in_old_bootstrap == 1 ? "process waits" : "processes wait");
  if (!record.standing) return {};
  const nccl::Standing& standing = *record.standing;
  const std::vector<Rank> missing = standing.missing();
  if (!missing.empty())
    return fmt::format("{} of {} never came to NCCL", rank_list(missing), standing.ranks);
  return fmt::format("all {} ranks came to NCCL: {}", standing.ranks, steps_of(standing));
}

NcclWatch::NcclWatch(boost::asio::io_context& io, NcclListening listening, Listener& listener)
    : listening_(std::move(listening)), listener_(listener) {
  if (listening_.way != NcclListening::Way::files) return;
  follower_.emplace(
      io, listening_.file.directory,
      LogFollower::Observer{.wanted =
                                [this](std::string_view name) {
                                  return nccl::is_nccl_log(name, listening_.file.name);
                                },
                            .on_line = [this](const std::string& file,
                                              std::string_view line) { take_line(file, line); }});
}

void NcclWatch::take_line(const std::string& file, std::string_view line) {
  if (!file.empty() && !writer_of_.contains(file))
    if (const auto cut = nccl::split_nccl_line(line))
      writer_of_.emplace(file, nccl::ProcessName{std::string(cut->host), cut->pid});
  for (const nccl::News& news : job_.read(line)) {
    if (stopped_) return;
    std::visit([this](const auto& one) { take(one); }, news);
  }
}

void NcclWatch::saw_output(output::StreamId stream, std::string_view bytes) {
  if (stopped_ || listening_.way != NcclListening::Way::streams) return;
  auto known = std::ranges::find(streams_, stream, &Stream::id);
  if (known == streams_.end()) known = streams_.insert(streams_.end(), {stream, {}});
  while (!bytes.empty() && !stopped_) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (known->begun_line.size() + piece.size() <= nccl::kLongestNcclLine)
      known->begun_line += piece;
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    take_line({}, std::exchange(known->begun_line, {}));
  }
}

std::optional<RankStarted> NcclWatch::whose(const nccl::ProcessName& who,
                                            const std::optional<nccl::Part>& part) {
  std::optional<RankStarted> found = listener_.whose(who, part);
  if (found) rank_of_.insert_or_assign(who, found->rank);
  return found;
}

void NcclWatch::take(const nccl::Waits& news) {
  const auto rank = whose(news.who, news.part);
  if (!rank) return;
  listener_.on_nccl_event(*rank);
  // Whom a part of the job has to wait for, nobody but its members knows.
  const int world = listener_.world_size();
  if (news.part && world > 0 && news.part->ranks != world) return;
  listener_.on_nccl_event(StageEntered{rank->rank, rank->process, Stage::communicator, "NCCL",
                                       std::nullopt, Source::nccl_log});
}

void NcclWatch::take(const nccl::Through& news) {
  if (const auto rank = whose(news.who, news.part))
    listener_.on_nccl_event(
        StageReached{rank->rank, rank->process, Stage::communicator, Source::nccl_log});
}

void NcclWatch::take(const nccl::Said& news) {
  // A process that fails early says nothing else of itself. A flood of words asks once.
  if (asked_.insert(news.who).second) (void)whose(news.who, std::nullopt);
  if (listening_.owner == NcclListening::Owner::user) return;  // it went where the user wants it
  if (said_.size() >= kMostSaid || !said_.insert(news.text).second) return;
  const auto rank = rank_of_.find(news.who);
  listener_.on_nccl_said(rank != rank_of_.end() ? std::optional(rank->second) : std::nullopt, news);
}

void NcclWatch::take(const nccl::Contradiction& news) {
  listener_.on_nccl_contradiction(news);
}

void NcclWatch::read_now() {
  if (follower_) follower_->read_now();
}

void NcclWatch::stop() {
  stopped_ = true;
  if (follower_) follower_->stop();
}

NcclRecord NcclWatch::record() const {
  NcclRecord record;
  std::map<std::string, std::string> variables;
  for (const auto& [name, process] : job_.processes()) take_process(process, record, variables);
  for (const auto& [name, value] : variables)
    if (name != "NCCL_PROFILER_PLUGIN") record.variables.push_back(name + "=" + value);  // ours
  record.version = job_.version();
  record.standing = job_.unfinished();
  record.in_old_bootstrap = job_.in_old_bootstrap();
  record.complete = job_.any_complete();
  record.any = !job_.processes().empty();
  if (record.complete && record.version)
    for (const std::string& name : listening_.set)
      if (is_unread(name, *record.version, variables)) record.unread.push_back(name);
  if (!follower_) return record;
  for (auto& [name, text] : follower_->endings()) {
    NcclRecord::Log log{name, std::nullopt, std::move(text)};
    if (const auto writer = writer_of_.find(name); writer != writer_of_.end())
      if (const auto rank = rank_of_.find(writer->second); rank != rank_of_.end())
        log.rank = rank->second;
    record.logs.push_back(std::move(log));
  }
  return record;
}

}  // namespace safelaunch::run
