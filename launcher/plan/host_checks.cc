#include "safelaunch/plan/host_checks.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

#include "safelaunch/base/alarm.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"
#include "safelaunch/base/log.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/clean/leftovers_survey.h"
#include "safelaunch/clean/removal.h"
#include "safelaunch/doctor/examine.h"
#include "safelaunch/report/run_directory.h"

// The checks of the host may block on a driver or a file system, so a forked process makes them and
// tells the result through a pipe as JSON. If it does not end in time, it is left behind and the
// run goes on without the checks.
namespace safelaunch::plan {
namespace {

clean::NeededGpus gpus_of(const RunPlan& plan) {
  if (plan.spawn && !plan.spawn->devices.empty())
    return clean::gpus_named(plan.spawn->devices, plan.spawn->workers);
  const Environment environment = plan.environment_under(plan.chain.front()).environment;
  const auto visible = environment.find("CUDA_VISIBLE_DEVICES");
  if (visible == environment.end()) return std::nullopt;
  return clean::gpus_named(job::parse_devices(visible->second), std::nullopt);
}

/// A rank, or a node, that is not the first one finds the store's port held: by its store.
bool joins_a_store(const RunPlan& plan) {
  return to_number(value_or(plan.environment, "RANK")).value_or(0) > 0;
}

clean::Needs needs_of(const RunPlan& plan) {
  clean::Needs needs;
  needs.gpus = gpus_of(plan);
  if (joins_a_store(plan)) return needs;
  const std::optional<int> port = plan.spawn ? plan.spawn->master_port : plan.command.port.value;
  if (port && *port > 0 && *port <= 65535) needs.ports.push_back(static_cast<std::uint16_t>(*port));
  return needs;
}

// The cleaning before a run is done for its first attempt, and so by that attempt's profile.
settings::CleanPolicy first_clean_policy(const RunPlan& plan) {
  return options_under(plan.options, plan.chain.front()).clean;
}

HostReport check(const RunPlan& plan) {
  HostReport report;
  report.lines = clean_before_run(plan);
  report.findings = examine_host(plan);
  return report;
}

std::string to_text(const HostReport& report) {
  nlohmann::json json{{"lines", report.lines}, {"findings", nlohmann::json::array()}};
  for (const Finding& one : report.findings)
    json["findings"].push_back({{"cause", one.cause},
                                {"severity", static_cast<int>(one.severity)},
                                {"evidence", one.evidence},
                                {"remedy", one.remedy}});
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// A text that is cut, or none at all, is what a child leaves that has crashed.
HostReport from_text(const std::string& text) {
  const nlohmann::json json = parse_json<nlohmann::json>(text);
  if (!json.is_object()) return {{}, {}, "the checks stopped before they were complete"};
  HostReport report{texts_of(json, "lines"), {}, {}};
  for (const nlohmann::json& one : array_of(json, "findings"))
    report.findings.push_back({text_of(one, "cause"),
                               static_cast<Severity>(number_of(one, "severity").value_or(0)),
                               text_of(one, "evidence"), text_of(one, "remedy")});
  return report;
}

/// The child's whole life. Our descriptors are open in it, and none of them is touched.
[[noreturn]] void be_the_checks(const RunPlan& plan, int parent, int out) {
  // The checks end with us. The parent is compared, since it may have gone before the kernel knew.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  // The terminal's writer belongs to the parent.
  set_log_writer({});
  try {
    (void)write_whole(out, to_text(check(plan)));
  } catch (const std::exception& bug) {
    log_error(std::string("the checks before the run failed: ") + bug.what());
  }
  ::_exit(0);
}

}  // namespace

std::vector<std::string> clean_before_run(const RunPlan& plan) {
  std::vector<std::string> lines;
  const settings::CleanPolicy policy = first_clean_policy(plan);
  if (policy == settings::CleanPolicy::off) return lines;
  const clean::Leftovers left{
      clean::survey(needs_of(plan),
                    clean::read_surroundings(report::places_of_runs(plan.environment))),
      {}};
  for (const clean::Removal& removal : clean::remove(left, policy)) {
    const auto& stale = std::get<clean::StaleProcess>(removal.what);
    if (clean::acts_on(policy, stale.claim))
      lines.push_back("stale, " + describe(removal));
    else if (!stale.holds.empty())
      lines.push_back(describe(removal));
  }
  return lines;
}

std::vector<Finding> examine_host(const RunPlan& plan) {
  return doctor::preflight_findings(
      {.environment = plan.environment_under(plan.chain.front()).environment,
       .command = plan.command,
       .spawn = plan.spawn,
       .missing_files = {},  // the run itself tells them
       .removes_locks = first_clean_policy(plan) != settings::CleanPolicy::off,
       .runs = report::places_of_runs(plan.environment)});
}

struct HostChecks::Running : std::enable_shared_from_this<Running> {
  Running(boost::asio::io_context& io, OnDone callback)
      : pipe(io), timer(io), on_done(std::move(callback)) {}

  Result<void> start(const RunPlan& plan) {
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0) return Error{Errc::os, std::strerror(errno)};
    UniqueFd read_end(fds[0]);
    const UniqueFd write_end(fds[1]);
    const int parent = ::getpid();
    pid = ::fork();
    if (pid < 0) return Error{Errc::os, std::strerror(errno)};
    if (pid == 0) be_the_checks(plan, parent, write_end.get());
    pipe.assign(read_end.release());
    return {};
  }

  void read_on() {
    pipe.async_read_some(
        boost::asio::buffer(buffer),
        [weak = weak_from_this()](const boost::system::error_code& error, std::size_t size) {
          const auto self = weak.lock();
          if (!self || !self->on_done) return;
          if (error) return self->tell(from_text(self->text));
          self->text.append(self->buffer.data(), size);
          self->read_on();
        });
  }

  void limit_to(Duration limit) {
    timer.set_after(limit, [this, limit] {
      if (!on_done) return;
      end();
      tell({{}, {}, fmt::format("the checks took longer than {}", describe_duration(limit))});
    });
  }

  void tell(HostReport report) {
    timer.cancel();
    std::exchange(on_done, nullptr)(std::move(report));
  }

  /// It is our child, and once its pipe has ended it may be reaped, and its pid another's.
  void end() {
    if (pid > 0 && on_done) ::kill(pid, SIGKILL);
  }

  boost::asio::posix::stream_descriptor pipe;
  Alarm timer;
  OnDone on_done;
  int pid = 0;
  std::string text;
  std::array<char, 16384> buffer;
};

HostChecks::HostChecks(boost::asio::io_context& io, const RunPlan& plan, Duration limit,
                       OnDone on_done)
    : running_(std::make_shared<Running>(io, std::move(on_done))) {
  const Result<void> started = running_->start(plan);
  if (started) {
    running_->read_on();
    running_->limit_to(limit);
    return;
  }
  boost::asio::post(io, [weak = std::weak_ptr(running_), why = started.error().message] {
    if (const auto self = weak.lock()) self->tell({{}, {}, why});
  });
}

HostChecks::~HostChecks() {
  running_->end();
  running_->on_done = nullptr;
}

}  // namespace safelaunch::plan
