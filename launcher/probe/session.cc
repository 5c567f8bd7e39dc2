#include "safelaunch/probe/session.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <utility>

#include "safelaunch/base/format.h"
#include "safelaunch/launch/helper.h"

namespace safelaunch {
namespace {

HelperSpec helper_for(const ProbeSpec& spec, std::size_t rank) {
  const RankSeat& seat = spec.seats[rank];
  HelperSpec helper;
  helper.argv = {spec.program,
                 "rank",
                 fmt::format("{}", rank),
                 fmt::format("{}", spec.seats.size()),
                 fmt::format("{}", seat.device),
                 spec.nccl};
  if (spec.beside == Beside::job) helper.argv.emplace_back("beside-job");
  helper.environment = seat.environment;
  helper.deadline = Duration::zero();  // ProbeRun has them
  return helper;
}

}  // namespace

/// Performs what the ProbeRun decides, and decides nothing.
struct ProbeSession::Running : std::enable_shared_from_this<Running> {
  Running(boost::asio::io_context& io, const ProbeSpec& spec, OnOutcome callback)
      : run(static_cast<int>(spec.seats.size()), spec.limits, Clock::now()),
        timer(io),
        on_outcome(std::move(callback)) {}

  ProbeRun run;
  std::vector<Helper> helpers;
  boost::asio::steady_timer timer;
  OnOutcome on_outcome;
  std::string log;

  Result<void> start(boost::asio::io_context& io, Reaper& reaper, const ProbeSpec& spec);
  void take_line(int rank, std::string_view line);
  void take_end(int rank, const HelperEnd& end);
  void happened(const ProbeEvent& event);
  void wait();

  void perform(const HandOutId& action);
  void perform(const LetRanksEnd&) { tell_all("end"); }
  void perform(const AbortRanks&) { tell_all("abort"); }
  void perform(const KillRanks&);
  void perform(const ProbeDone&);
  void tell_all(std::string_view line);
};

Result<void> ProbeSession::Running::start(boost::asio::io_context& io, Reaper& reaper,
                                          const ProbeSpec& spec) {
  for (std::size_t i = 0; i < spec.seats.size(); ++i) {
    const int rank = static_cast<int>(i);
    auto helper = Helper::start(
        io, reaper, helper_for(spec, i),
        [this, rank](std::string_view line) { take_line(rank, line); },
        [this, rank](const HelperEnd& end) { take_end(rank, end); });
    if (!helper) return helper.error();
    helpers.push_back(std::move(*helper));
  }
  wait();
  return {};
}

void ProbeSession::Running::take_line(int rank, std::string_view line) {
  if (auto report = parse_phase_report(line)) happened(RankReported{rank, std::move(*report)});
}

void ProbeSession::Running::take_end(int rank, const HelperEnd& end) {
  log += end.errors;
  happened(ProbeRankEnded{rank, describe(end)});
}

void ProbeSession::Running::happened(const ProbeEvent& event) {
  const auto self = shared_from_this();  // the outcome's taker may destroy the session
  for (const ProbeAction& action : run.on(event, Clock::now()))
    std::visit([this](const auto& one) { perform(one); }, action);
  wait();
}

void ProbeSession::Running::wait() {
  timer.cancel();
  if (!run.deadline()) return;
  timer.expires_at(*run.deadline());
  timer.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (self && !error) self->happened(ProbeTimePassed{});
  });
}

void ProbeSession::Running::perform(const HandOutId& action) {
  for (std::size_t i = 1; i < helpers.size(); ++i)
    helpers[i].write_line(fmt::format("id {}", action.id));
}

void ProbeSession::Running::tell_all(std::string_view line) {
  for (Helper& helper : helpers) helper.write_line(line);
}

void ProbeSession::Running::perform(const KillRanks&) {
  for (Helper& helper : helpers) helper.kill();
}

void ProbeSession::Running::perform(const ProbeDone&) {
  if (const OnOutcome tell = std::exchange(on_outcome, nullptr)) tell({run.verdict(), log});
}

ProbeSession::ProbeSession(std::shared_ptr<Running> running) : running_(std::move(running)) {}
ProbeSession::ProbeSession(ProbeSession&&) noexcept = default;
ProbeSession& ProbeSession::operator=(ProbeSession&&) noexcept = default;
ProbeSession::~ProbeSession() = default;

Result<ProbeSession> ProbeSession::start(boost::asio::io_context& io, Reaper& reaper,
                                         const ProbeSpec& spec, OnOutcome on_outcome) {
  auto running = std::make_shared<Running>(io, spec, std::move(on_outcome));
  if (const auto started = running->start(io, reaper, spec); !started) return started.error();
  return ProbeSession(std::move(running));
}

void ProbeSession::stop(const std::string& why) {
  running_->happened(ProbeUnwanted{why});
}

Result<ProbeOutcome> run_probe(const ProbeSpec& spec) {
  boost::asio::io_context io;
  Reaper reaper(io, [](int, const ExitStatus&) {});
  std::optional<ProbeOutcome> outcome;
  const auto session =
      ProbeSession::start(io, reaper, spec, [&](const ProbeOutcome& told) { outcome = told; });
  if (!session) return session.error();
  while (!outcome) io.run_one();
  return *outcome;
}

}  // namespace safelaunch
