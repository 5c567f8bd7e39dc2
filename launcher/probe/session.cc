#include "safelaunch/probe/session.h"

#include <boost/asio/io_context.hpp>
#include <utility>

#include "safelaunch/base/alarm.h"
#include "safelaunch/base/format.h"
#include "safelaunch/launch/helper.h"

// Ranks are laid over the GPUs one after the other. Where they have to share, NCCL is told to allow
// it, or each rank is given a host id of its own. The session itself is wires: lines and ends of
// the ranks' processes go into the Run, and its actions go back to them.
namespace safelaunch::probe {
namespace {

/// NCCL's WARN lines go to the stderr of the rank, which safelaunch keeps: no file is needed, and
/// none is lost by a crash.
void make_probes_own(Environment& environment) {
  environment["NCCL_DEBUG"] = "WARN";
  environment["NCCL_DEBUG_FILE"] = "/dev/stderr";
  environment["NCCL_COMM_BLOCKING"] = "0";  // it beats what the program asks for
  environment["NCCL_RAS_ENABLE"] = "0";     // its port belongs to the job
  for (const char* name : {"NCCL_DEBUG_SUBSYS", "NCCL_COMM_ID", "NCCL_HOSTID"})
    environment.erase(name);
}

/// The kernels of all ranks must be on the GPU at the same time.
constexpr const char* kFewKernels = "2";

void share_by_permission(Environment& environment) {
  environment["NCCL_MULTI_RANK_GPU_ENABLE"] = "1";
  environment["NCCL_NVLS_ENABLE"] = "0";  // its test of the several ranks is wrong: init would fail
  environment["NCCL_MAX_CTAS"] = kFewKernels;
}

// Ranks of other nodes are not reached over the loopback.
void share_as_node(Environment& environment, int rank, bool has_others) {
  environment["NCCL_HOSTID"] = fmt::format("safelaunch-probe-{}", rank);
  environment["NCCL_NET"] = "Socket";
  environment["NCCL_MNNVL_ENABLE"] = "0";  // would see through the host ids
  environment["NCCL_NVLS_ENABLE"] = "0";
  environment["NCCL_MAX_CTAS"] = kFewKernels;
  if (has_others) return;
  environment.try_emplace("NCCL_SOCKET_IFNAME", "lo");  // one that is set is what is probed
}

constexpr nccl::Version kSharesByPermission{2, 30, 0};
constexpr int kMostByPermission = 2;  // NCCL's documented limit

std::size_t ranks_of(const Spec& spec) {
  return spec.part.has_others() ? static_cast<std::size_t>(spec.part.all) : spec.seats.size();
}

launch::HelperSpec helper_for(const Spec& spec, std::size_t rank) {
  const RankSeat& seat = spec.seats[rank];
  launch::HelperSpec helper;
  helper.argv = {spec.program,
                 "rank",
                 fmt::format("{}", rank + static_cast<std::size_t>(spec.part.first)),
                 fmt::format("{}", ranks_of(spec)),
                 fmt::format("{}", seat.device),
                 spec.nccl};
  if (spec.beside == Beside::job) helper.argv.emplace_back("beside-job");
  helper.environment = seat.environment;
  helper.deadline = Duration::zero();  // Run has them
  return helper;
}

}  // namespace

std::vector<RankSeat> seat_ranks(int ranks, int gpus, const std::optional<nccl::Version>& nccl,
                                 const Environment& applied, const Part& part) {
  const bool shared = ranks > gpus;
  const bool few = ranks <= gpus * kMostByPermission;
  const bool by_permission = few && nccl && *nccl >= kSharesByPermission;
  std::vector<RankSeat> seats;
  for (int rank = 0; rank < ranks; ++rank) {
    RankSeat seat{rank % gpus, applied};
    make_probes_own(seat.environment);
    if (shared && by_permission) share_by_permission(seat.environment);
    if (shared && !by_permission)
      share_as_node(seat.environment, part.first + rank, part.has_others());
    seats.push_back(std::move(seat));
  }
  return seats;
}

/// Performs what the Run decides, and decides nothing.
struct Session::Running : std::enable_shared_from_this<Running> {
  Running(boost::asio::io_context& io, const Spec& spec, OnOutcome callback, Meeting others)
      : run(static_cast<int>(spec.seats.size()), spec.limits, Clock::now(), spec.part),
        timer(io),
        on_outcome(std::move(callback)),
        meeting(std::move(others)),
        has_rank_0(spec.part.first == 0) {}

  Run run;
  std::vector<launch::Helper> helpers;
  Alarm timer;
  OnOutcome on_outcome;
  Meeting meeting;
  bool has_rank_0;
  std::string log;

  Result<void> start(boost::asio::io_context& io, launch::Reaper& reaper, const Spec& spec);
  void take_line(int rank, std::string_view line);
  void take_end(int rank, const launch::HelperEnd& end);
  void happened(const Event& event);
  void wait();

  void perform(const HandOutId& action);
  void perform(const LetRanksEnd&) { tell_all("end"); }
  void perform(const AbortRanks&) { tell_all("abort"); }
  void perform(const KillRanks&);
  void perform(const Done&);
  void perform(const TellReady& action) { meeting.ready(action.id); }
  void perform(const TellMeasured&) { meeting.measured(); }
  void perform(const TellTrouble& action) { meeting.trouble(action.trouble); }
  void tell_all(std::string_view line);
};

Result<void> Session::Running::start(boost::asio::io_context& io, launch::Reaper& reaper,
                                     const Spec& spec) {
  for (std::size_t i = 0; i < spec.seats.size(); ++i) {
    const int rank = static_cast<int>(i);
    auto helper = launch::Helper::start(
        io, reaper, helper_for(spec, i),
        [this, rank](std::string_view line) { take_line(rank, line); },
        [this, rank](const launch::HelperEnd& end) { take_end(rank, end); });
    if (!helper) return helper.error();
    helpers.push_back(std::move(*helper));
  }
  wait();
  return {};
}

void Session::Running::take_line(int rank, std::string_view line) {
  if (auto report = parse_phase_report(line)) happened(RankReported{rank, std::move(*report)});
}

void Session::Running::take_end(int rank, const launch::HelperEnd& end) {
  log += end.errors;
  happened(RankEnded{rank, describe(end)});
}

void Session::Running::happened(const Event& event) {
  const auto self = shared_from_this();  // the outcome's taker may destroy the session
  for (const Action& action : run.on(event, Clock::now()))
    std::visit([this](const auto& one) { perform(one); }, action);
  wait();
}

void Session::Running::wait() {
  const auto deadline = run.deadline();
  if (!deadline) return void(timer.cancel());
  timer.set(*deadline, [this] { happened(TimePassed{}); });
}

void Session::Running::perform(const HandOutId& action) {
  for (std::size_t i = has_rank_0 ? 1 : 0; i < helpers.size(); ++i)
    helpers[i].write_line(fmt::format("id {}", action.id));
}

void Session::Running::tell_all(std::string_view line) {
  for (launch::Helper& helper : helpers) helper.write_line(line);
}

void Session::Running::perform(const KillRanks&) {
  for (launch::Helper& helper : helpers) helper.kill();
}

void Session::Running::perform(const Done&) {
  // The callback is moved out first: it may destroy the session that holds it.
  if (const OnOutcome tell = std::exchange(on_outcome, nullptr))
    tell({run.verdict(), log, run.was_cut_short()});
}

Session::Session(std::shared_ptr<Running> running) : running_(std::move(running)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::start(boost::asio::io_context& io, launch::Reaper& reaper,
                               const Spec& spec, OnOutcome on_outcome, Meeting meeting) {
  auto running = std::make_shared<Running>(io, spec, std::move(on_outcome), std::move(meeting));
  if (const auto started = running->start(io, reaper, spec); !started) return started.error();
  return Session(std::move(running));
}

void Session::stop(const std::string& why) {
  running_->happened(Unwanted{why});
}

void Session::kill() {
  running_->happened(Unwanted{"it was killed"});
  running_->perform(KillRanks{});
}

void Session::meet(const std::string& id) {
  running_->happened(IdCame{id});
}

void Session::others_are_over() {
  running_->happened(OthersOver{});
}

Result<Outcome> run_probe(const Spec& spec) {
  boost::asio::io_context io;
  launch::Reaper reaper(io, [](int, const ExitStatus&) {});
  std::optional<Outcome> outcome;
  const auto session =
      Session::start(io, reaper, spec, [&](const Outcome& told) { outcome = told; });
  if (!session) return session.error();
  while (!outcome) io.run_one();
  return *outcome;
}

}  // namespace safelaunch::probe
