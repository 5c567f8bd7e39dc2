#include "safelaunch/nccl/watch.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/base/random.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/nccl/version.h"
#include "safelaunch/profile/variables.h"

// The user's own settings decide where the log goes: a user who has set NCCL_DEBUG reads it on the
// terminal, and nothing is said there twice. Otherwise NCCL writes a file a process. A process is
// matched to a rank when it first waits or complains; one that belongs to no rank of ours tells no
// stage, and still counts in the record.
namespace safelaunch::nccl {
namespace {

/// NCCL that cannot open its file writes to the job's stdout instead.
bool can_be_written(const std::filesystem::path& directory) {
  const std::string file = (directory / ".written").native();
  const UniqueFd made(open(file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  if (!made) return false;
  const bool written = write(made.get(), "", 1) == 1;  // a full disk shows only here
  (void)unlink(file.c_str());
  return written;
}

/// A TCP port of the loopback device that nobody has at this moment; 0 where there is none.
int free_port() {
  const UniqueFd probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!probe || bind(probe.get(), generic, size) != 0) return 0;
  if (getsockname(probe.get(), generic, &size) != 0) return 0;
  return ntohs(address.sin_port);
}

std::string random_magic() {
  return fmt::format("{:#x}", random_number() | 1);  // never 0
}

void set_unless_set(Environment& environment, const char* name, std::string value) {
  environment.try_emplace(name, std::move(value));
}

/// NCCL writes nothing at all unless NCCL_DEBUG asks for it.
Listening::Way way_of_user(const Environment& environment, Listening& listening) {
  const auto value = value_or(environment, "NCCL_DEBUG_FILE");
  const auto file = parse_nccl_log_file(value);
  if (!file) return Listening::Way::streams;
  listening.file = *file;
  listening.variable = value;
  return Listening::Way::files;
}

void add_log_variables(const Door& door, Environment& environment) {
  set_unless_set(environment, "NCCL_DEBUG_FILE",
                 escape_for_nccl(door.directory.native()) + "/nccl.%h.%p");
  set_unless_set(environment, "NCCL_DEBUG", "INFO");
  // Cheap ones: a few dozen lines a rank, none after the first collective.
  set_unless_set(environment, "NCCL_DEBUG_SUBSYS", "INIT,BOOTSTRAP,ENV,NET");
  set_unless_set(environment, "NCCL_DEBUG_TIMESTAMP_LEVELS", "ALL");
  set_unless_set(environment, "NCCL_DEBUG_TIMESTAMP_FORMAT", "[%F %T.%6f] ");
}

}  // namespace

Door open_door(const std::filesystem::path& directory) {
  Door door;
  if (!directory.empty() && can_be_written(directory)) door.directory = directory;
  if (const int port = free_port(); port != 0) door.ras_address = fmt::format("127.0.0.1:{}", port);
  door.socket_magic = random_magic();
  return door;
}

Listening listen(const Door& door, const Reach& reach, Environment& environment) {
  Listening listening;
  const bool all_here = reach.descendants == job::Descendants::all && reach.nodes == 1;
  if (all_here) {
    if (!door.ras_address.empty() && !environment.contains("NCCL_RAS_ADDR"))
      listening.ras_address = environment["NCCL_RAS_ADDR"] = door.ras_address;
    set_unless_set(environment, "NCCL_SOCKET_MAGIC", door.socket_magic);
  }
  const bool users = environment.contains("NCCL_DEBUG") || environment.contains("NCCL_DEBUG_FILE");
  if (users) {
    listening.owner = Listening::Owner::user;
    listening.way = way_of_user(environment, listening);
    return listening;
  }
  if (door.directory.empty() || reach.descendants == job::Descendants::none) return listening;
  add_log_variables(door, environment);
  listening.way = way_of_user(environment, listening);
  return listening;
}

namespace {

// A log that repeats itself in ever new words is read in its file.
constexpr std::size_t kMostSaid = 50;

/// Whether this NCCL knows a variable, and none of the processes said that it has read it.
bool is_unread(const std::string& name, const Version& version,
               const std::map<std::string, std::string>& read) {
  const std::string announced(announced_as(name, version));
  const auto known = profile::truth_about(name);
  if (announced.empty() || !known || known->reader != "NCCL") return false;
  const auto since = parse_nccl_version(known->since);
  const auto until = parse_nccl_version(known->until);
  const bool knows = (!since || version >= *since) && (!until || version < *until);
  return knows && !read.contains(announced);
}

void take_process(const Process& process, Record& record,
                  std::map<std::string, std::string>& variables) {
  if (process.version) record.versions.insert(*process.version);
  if (!process.interface.empty()) record.interfaces.insert(process.interface);
  if (!process.network.empty()) record.networks.insert(process.network);
  variables.insert(process.variables.begin(), process.variables.end());
  for (const Comm& comm : process.comms)
    record.transports.insert(comm.transports.begin(), comm.transports.end());
}

std::string steps_of(const Standing& standing) {
  std::map<Step, std::vector<Rank>> ranks;
  for (const auto& [rank, step] : standing.came) ranks[step].push_back(rank);
  std::vector<std::string> words;
  for (const auto& [step, those] : ranks)
    words.push_back(fmt::format("{} {}", rank_list(those), describe(step)));
  return join(words, ", ");
}

}  // namespace

std::string describe_standing(const Record& record) {
  if (record.in_old_bootstrap > 0)
    return fmt::format("{} {} in NCCL's bootstrap", record.in_old_bootstrap,
                       record.in_old_bootstrap == 1 ? "process waits" : "processes wait");
  if (!record.standing) return {};
  const Standing& standing = *record.standing;
  const std::vector<Rank> missing = standing.missing();
  if (!missing.empty())
    return fmt::format("{} of {} never came to NCCL", rank_list(missing), standing.ranks);
  return fmt::format("all {} ranks came to NCCL: {}", standing.ranks, steps_of(standing));
}

Watch::Watch(boost::asio::io_context& io, Listening listening, Observer observer)
    : listening_(std::move(listening)), observer_(std::move(observer)) {
  if (listening_.way != Listening::Way::files) return;
  follower_.emplace(
      io, listening_.file.directory,
      LogFollower::Observer{
          .wanted =
              [this](std::string_view name) { return is_nccl_log(name, listening_.file.name); },
          .expects = observer_.expects,
          .on_line = [this](const std::string& file,
                            std::string_view line) { take_line(file, line); }});
}

void Watch::take_line(const std::string& file, std::string_view line) {
  if (!file.empty() && !writer_of_.contains(file))
    if (const auto cut = split_nccl_line(line))
      writer_of_.emplace(file, ProcessName{std::string(cut->host), cut->pid});
  for (const News& news : job_.read(line)) {
    if (stopped_) return;
    std::visit([this](const auto& one) { take(one); }, news);
  }
}

void Watch::saw_output(output::StreamId stream, std::string_view bytes) {
  if (stopped_ || listening_.way != Listening::Way::streams) return;
  auto known = std::ranges::find(streams_, stream, &Stream::id);
  if (known == streams_.end()) known = streams_.insert(streams_.end(), {stream, {}});
  while (!bytes.empty() && !stopped_) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (known->begun_line.size() + piece.size() <= kLongestNcclLine) known->begun_line += piece;
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    take_line({}, std::exchange(known->begun_line, {}));
  }
}

std::optional<RankStarted> Watch::whose(const ProcessName& who, const std::optional<Part>& part) {
  std::optional<RankStarted> found = observer_.whose(who, part);
  if (found) rank_of_.insert_or_assign(who, found->rank);
  return found;
}

void Watch::take(const Prepares& news) {
  const auto rank = whose(news.who, std::nullopt);
  if (rank) observer_.hear(Progress{RankPrepares{rank->rank, rank->process}});
}

void Watch::take(const Waits& news) {
  const auto rank = whose(news.who, news.part);
  if (!rank) return;
  observer_.hear(Progress{*rank});
  // Only the members of a part of the job know which ranks that part waits for.
  const int world = observer_.world_size();
  if (news.part && world > 0 && news.part->ranks != world) return;
  observer_.hear(Progress{StageEntered{rank->rank, rank->process, Stage::communicator, "NCCL",
                                       std::nullopt, Source::nccl_log}});
}

void Watch::take(const Through& news) {
  if (const auto rank = whose(news.who, news.part))
    observer_.hear(
        Progress{StageReached{rank->rank, rank->process, Stage::communicator, Source::nccl_log}});
}

void Watch::take(const Said& news) {
  // A process that fails early says nothing else of itself. A flood of words asks once.
  if (asked_.insert(news.who).second) (void)whose(news.who, std::nullopt);
  if (listening_.owner == Listening::Owner::user) return;  // it went where the user wants it
  if (said_.size() >= kMostSaid || !said_.insert(news.text).second) return;
  const auto rank = rank_of_.find(news.who);
  observer_.hear(Spoke{rank != rank_of_.end() ? std::optional(rank->second) : std::nullopt, news});
}

void Watch::take(const Contradiction& news) {
  observer_.hear(news);
}

void Watch::read_now() {
  if (follower_) follower_->read_now();
}

void Watch::stop() {
  stopped_ = true;
  if (follower_) follower_->stop();
}

Record Watch::record() const {
  Record record;
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
    Record::Log log{name, std::nullopt, std::move(text)};
    if (const auto writer = writer_of_.find(name); writer != writer_of_.end())
      if (const auto rank = rank_of_.find(writer->second); rank != rank_of_.end())
        log.rank = rank->second;
    record.logs.push_back(std::move(log));
  }
  return record;
}

}  // namespace safelaunch::nccl
