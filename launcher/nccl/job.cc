#include "safelaunch/nccl/job.h"

#include <algorithm>

#include "safelaunch/base/format.h"

// Keeps a row for each process and a roster for each communicator, and moves them on as the lines
// tell. A line about a connection names no communicator, so each thread's last one is kept too. A
// communicator is waited for while its roster has a rank that is not complete.
namespace safelaunch::nccl {
namespace {

// No job has more than this, so a hostile log cannot fill our memory.
constexpr std::size_t kMostProcesses = 1 << 16;
constexpr std::size_t kMostComms = 4096;  // communicators of one process
constexpr std::size_t kMostThreads = 4096;
constexpr std::size_t kMostVariables = 512;
constexpr std::size_t kMostTransports = 16;
constexpr std::size_t kMostRosters = 1 << 16;

// No trouble: NCCL 2.30 asks a libibverbs that is not there whether it could register a GPU's
// memory. It takes the answer for a no, and goes on.
constexpr std::string_view kNoVerbs = "lib wrapper not initialized.";

using About = RootComplaint::About;

/// FNV-1a over numbers, which is enough to tell communicators apart.
std::uint64_t mixed(std::initializer_list<std::uint64_t> numbers) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::uint64_t number : numbers)
    for (int byte = 0; byte < 8; ++byte, number >>= 8) {
      hash ^= number & 0xff;
      hash *= 0x100000001b3;
    }
  return hash;
}

std::string twice(int rank, int ranks, const ProcessName& a, const ProcessName& b) {
  return fmt::format("rank {} of {} came to NCCL twice: pid {} and pid {}", rank, ranks, a.pid,
                     b.pid);
}

std::string sizes(int first, int second) {
  return fmt::format("the ranks gave NCCL different numbers of ranks: {} and {}",
                     std::min(first, second), std::max(first, second));
}

}  // namespace

const char* describe(Step step) {
  switch (step) {
    case Step::started: return "in its bootstrap";
    case Step::bootstrapped: return "past its bootstrap";
    case Step::topology: return "connecting";
    case Step::complete: return "complete";
  }
  return "";
}

std::vector<Rank> Standing::missing() const {
  std::vector<Rank> result;
  for (int rank = 0; rank < ranks; ++rank)
    if (!came.contains(Rank{rank})) result.push_back(Rank{rank});
  return result;
}

std::vector<News> Job::read(std::string_view text) {
  std::vector<News> news;
  const auto line = split_nccl_line(text);
  if (!line) return news;
  const ProcessName who{std::string(line->host), line->pid};
  if (processes_.size() >= kMostProcesses && !processes_.contains(who)) return news;
  const Context at{*line, who, processes_[who], readings_[who], news};
  const Fact fact = fact_of(*line);
  note_said(at, fact);
  std::visit([&](const auto& one) { take(at, one); }, fact);
  return news;
}

void Job::note_said(const Context& at, const Fact& fact) {
  const bool said = at.line.level != Level::info && at.line.text != kNoVerbs;
  const bool hint = at.reading.hints_follow && std::holds_alternative<Hint>(fact);
  at.reading.hints_follow = said || hint;
  if (said || hint)
    at.news.emplace_back(
        Said{at.who, at.line.level, std::string(at.line.place), std::string(at.line.text)});
}

// ---- the making of a communicator ---------------------------------------------------------------

/// True where "Init START" comes after the bootstrap. A process that has not told its version by
/// now is not rank 0, and its NCCL is older than 2.24.
bool Job::is_old(const Process& process) const {
  const auto& version = process.version ? process.version : version_;
  return !version || !starts_before_bootstrap(*version);
}

void Job::take(const Context& at, const NetworkChosen& fact) {
  at.process.network = fact.name;
  if (!is_old(at.process)) return;
  at.process.in_old_bootstrap = true;
  at.news.emplace_back(Waits{at.who, std::nullopt});
}

void Job::take(const Context& at, const InitStarted& fact) {
  at.process.in_old_bootstrap = false;
  if (at.process.comms.size() >= kMostComms) return;
  Comm comm{.part = fact.part, .identity = identity_of(at, fact), .step = {}, .transports = {}};
  if (is_old(at.process)) comm.step = Step::bootstrapped;
  at.process.comms.push_back(comm);
  at.reading.comm_at_address[fact.part.address] = at.process.comms.size() - 1;
  if (at.reading.comm_of_thread.size() < kMostThreads)
    at.reading.comm_of_thread[at.line.thread] = at.process.comms.size() - 1;
  if (fact.part.ranks < 2) return;
  at.news.emplace_back(Waits{at.who, fact.part});
  enlist(at, comm);
}

std::optional<std::uint64_t> Job::identity_of(const Context& at, const InitStarted& fact) {
  if (fact.id) return fact.id;
  if (!fact.child) return std::nullopt;
  const Comm* parent = comm_at(at, fact.child->parent);
  if (parent == nullptr || !parent->identity) return std::nullopt;
  return mixed({*parent->identity, static_cast<std::uint64_t>(fact.child->split),
                static_cast<std::uint64_t>(fact.child->color)});
}

/// Puts a process on the roster of its communicator, and finds out whether it contradicts the one
/// that stands there. NCCL_COMM_ID gives all communicators of a job the same identity: a rank that
/// is complete begins another one.
void Job::enlist(const Context& at, const Comm& comm) {
  if (!comm.identity) return;
  if (rosters_.size() >= kMostRosters && !rosters_.contains(*comm.identity)) return;
  Roster& roster = rosters_[*comm.identity];
  const auto over = [](const auto& one) {
    return one.second.gone || one.second.step == Step::complete;
  };
  const auto before = roster.members.find(comm.part.rank);
  if (before != roster.members.end() && over(*before)) std::erase_if(roster.members, over);
  if (roster.members.empty()) roster.ranks = comm.part.ranks;
  if (roster.ranks != comm.part.ranks)
    at.news.emplace_back(Contradiction{About::sizes_differ, sizes(roster.ranks, comm.part.ranks)});
  const auto [there, fresh] =
      roster.members.try_emplace(comm.part.rank, Member{at.who, comm.step, false});
  if (!fresh && there->second.who != at.who)
    at.news.emplace_back(Contradiction{
        About::rank_twice, twice(comm.part.rank, comm.part.ranks, there->second.who, at.who)});
}

void Job::advance(Comm& comm, Step step) {
  comm.step = std::max(comm.step, step);
  if (Member* mine = member(comm)) mine->step = comm.step;
}

Job::Member* Job::member(const Comm& comm) {
  if (!comm.identity) return nullptr;
  const auto roster = rosters_.find(*comm.identity);
  if (roster == rosters_.end()) return nullptr;
  const auto found = roster->second.members.find(comm.part.rank);
  return found == roster->second.members.end() ? nullptr : &found->second;
}

void Job::take(const Context& at, const BootstrapDone&) {
  if (Comm* comm = comm_of_thread(at)) advance(*comm, Step::bootstrapped);
}

void Job::take(const Context& at, const TopologyAgreed& fact) {
  Comm* comm = comm_at(at, fact.part.address);
  if (comm == nullptr) return;
  comm->nodes = fact.nodes;
  advance(*comm, Step::topology);
}

void Job::take(const Context& at, const InitComplete& fact) {
  at.process.in_old_bootstrap = false;
  if (Comm* comm = comm_at(at, fact.part.address)) advance(*comm, Step::complete);
  if (fact.part.ranks >= 2) at.news.emplace_back(Through{at.who, fact.part});
}

void Job::take(const Context& at, const CommGone& fact) {
  Comm* comm = comm_at(at, fact.part.address);
  if (comm == nullptr) return;
  comm->gone = true;
  if (Member* mine = member(*comm)) mine->gone = true;
}

// ---- what else is worth knowing -----------------------------------------------------------------

void Job::take(const Context& at, const ChannelMade& fact) {
  Comm* comm = comm_of_thread(at);
  if (comm != nullptr && comm->transports.size() < kMostTransports)
    comm->transports.emplace(fact.transport);
}

void Job::take(const Context& at, const Connected&) {
  if (Comm* comm = comm_of_thread(at)) comm->connected = true;
}

void Job::take(const Context& at, const CollectiveCalled& fact) {
  if (Comm* comm = comm_at(at, fact.address)) comm->called = true;
}

void Job::take(const Context& at, const InterfaceChosen& fact) {
  at.process.interface = fact.name;
}

void Job::take(const Context& at, const VersionTold& fact) {
  at.process.version = fact.version;
  if (!version_) version_ = fact.version;
  if (!is_old(at.process) && at.process.comms.empty()) at.news.emplace_back(Prepares{at.who});
}

void Job::take(const Context& at, const VariableRead& fact) {
  if (at.process.variables.size() < kMostVariables)
    at.process.variables.insert_or_assign(std::string(fact.name), std::string(fact.value));
}

void Job::take(const Context& at, const RootComplaint& fact) {
  const std::string text =
      fact.about == About::rank_twice
          ? fmt::format("rank {} of {} came to NCCL twice", fact.first, fact.second)
          : sizes(fact.first, fact.second);
  at.news.emplace_back(Contradiction{fact.about, text});
}

/// The newest communicator at the address, since memory is used again.
Comm* Job::comm_at(const Context& at, std::uint64_t address) {
  const auto found = at.reading.comm_at_address.find(address);
  if (found == at.reading.comm_at_address.end()) return nullptr;
  return &at.process.comms[found->second];
}

/// Finds the communicator of a line about a connection, which names none: the one that the thread
/// began last. For any other thread of the process it is the newest one.
Comm* Job::comm_of_thread(const Context& at) {
  if (at.process.comms.empty()) return nullptr;
  const auto known = at.reading.comm_of_thread.find(at.line.thread);
  if (known == at.reading.comm_of_thread.end()) return &at.process.comms.back();
  return &at.process.comms[known->second];
}

// ---- questions ----------------------------------------------------------------------------------

std::optional<Standing> Job::unfinished() const {
  std::optional<Standing> worst;
  for (const auto& [identity, roster] : rosters_) {
    Standing standing{.ranks = roster.ranks, .came = {}};
    bool waits = false;
    for (const auto& [rank, member] : roster.members) {
      standing.came.emplace(Rank{rank}, member.step);
      waits = waits || (member.step != Step::complete && !member.gone);
    }
    if (waits && (!worst || standing.came.size() > worst->came.size())) worst = standing;
  }
  return worst;
}

int Job::in_old_bootstrap() const {
  return static_cast<int>(std::ranges::count_if(
      processes_, [](const auto& one) { return one.second.in_old_bootstrap; }));
}

bool Job::any_complete() const {
  return std::ranges::any_of(processes_, [](const auto& one) {
    return std::ranges::any_of(one.second.comms, [](const Comm& comm) {
      return comm.part.ranks >= 2 && comm.step == Step::complete;
    });
  });
}

}  // namespace safelaunch::nccl
