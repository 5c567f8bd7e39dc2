#include "safelaunch/clean/leftovers_survey.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>

#include "catch.h"
#include "safelaunch/base/format.h"
#include "safelaunch/clean/port_lease.h"
#include "safelaunch/clean/removal.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/process_tree.h"
#include "temporary_folder.h"
#include "unit/host/child.h"

using namespace safelaunch;

using namespace safelaunch::clean;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using safelaunch::testing::Child;
using safelaunch::testing::eventually;

namespace {

/// A process with these variables from its exec on, since others cannot see variables that are set
/// later. As a run's processes it is in no session of a shell.
std::unique_ptr<Child> sleeper(const Environment& environment,
                               Child::Leads leads = Child::Leads::session) {
  auto child = std::make_unique<Child>(
      [&] {
        for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
        ::execl("/bin/sleep", "sleep", "1000", nullptr);
      },
      leads);
  const bool started = eventually([&] { return host::facts_of(child->pid())->comm == "sleep"; });
  return started ? std::move(child) : nullptr;
}

/// The mark of an owner that has died, of this boot and namespace. Any safelaunch of ours would end
/// a process that carries it, so a test with one is [alone].
std::string mark_of_dead_owner() {
  Child owner([] { ::pause(); });
  return host::owner_mark(owner.id());
}

Environment marked_by_the_dead() {
  return {{"SAFELAUNCH_RUN_ID", "r1"}, {"SAFELAUNCH_OWNER", mark_of_dead_owner()}};
}

/// The same, made anew by whoever is to be above the dead.
using Variables = std::function<Environment()>;

/// A process with these variables below one of the given name, which makes the variables and leads
/// a session as a shell does.
class Below {
 public:
  Below(const char* name, const Variables& environment,
        Child::Leads leads = Child::Leads::session) {
    std::array<int, 2> tell{};
    REQUIRE(::pipe(tell.data()) == 0);
    above_ = std::make_unique<Child>(
        [&] {
          ::prctl(PR_SET_NAME, name);
          const auto inner = sleeper(environment(), leads);
          const ProcessId id = inner->id();
          static_cast<void>(::write(tell[1], &id, sizeof id));
          for (;;) ::pause();
        },
        Child::Leads::session);
    REQUIRE(::read(tell[0], &id_, sizeof id_) == sizeof id_);
    ::close(tell[0]);
    ::close(tell[1]);
  }
  Below(const Below&) = delete;
  Below& operator=(const Below&) = delete;
  ~Below() { ::kill(id_.pid, SIGKILL); }

  [[nodiscard]] ProcessId id() const { return id_; }
  [[nodiscard]] int adopter() const { return above_->pid(); }

 private:
  std::unique_ptr<Child> above_;
  ProcessId id_;
};

const StaleProcess* find(const std::vector<StaleProcess>& list, ProcessId id) {
  const auto found =
      std::ranges::find(list, id, [](const StaleProcess& stale) { return stale.process.id; });
  return found == list.end() ? nullptr : &*found;
}

/// We are an ancestor of everything that this test starts: look as a process from elsewhere would.
Surroundings elsewhere() {
  auto us = read_surroundings();
  us.self = 0;
  return us;
}

}  // namespace

TEST_CASE("a leftover of a dead safelaunch is found, its unmarked and its living likes are not",
          "[alone]") {
  const Below stale("tini", marked_by_the_dead);
  const auto unmarked = sleeper({{"RANK", "0"}});
  const auto living =
      sleeper({{"SAFELAUNCH_RUN_ID", "r2"}, {"SAFELAUNCH_OWNER", host::owner_mark(host::self())}});

  const auto list = survey({}, elsewhere());

  REQUIRE(find(list, stale.id()));
  CHECK(find(list, stale.id())->claim == Claim::ours);
  CHECK(find(list, stale.id())->command == "sleep 1000");
  CHECK_FALSE(find(list, unmarked->id()));
  CHECK_FALSE(find(list, living->id()));
}

TEST_CASE("a copy of a run's environment in the session of a shell is left alone", "[alone]") {
  const Below copy("tini", marked_by_the_dead, Child::Leads::group);
  const Needs needs{.ports = {}, .held = {{copy.id().pid, "9 MiB of GPU 0"}}};
  const auto list = survey(needs, elsewhere());
  REQUIRE(find(list, copy.id()));
  CHECK(find(list, copy.id())->claim == Claim::unproven);
  CHECK_THAT(find(list, copy.id())->why, ContainsSubstring("a session that the run did not make"));
}

TEST_CASE("what was started after the record of its run had ended is left alone", "[alone]") {
  const Below copy("tini", marked_by_the_dead);
  const safelaunch::testing::TemporaryFolder runs;
  auto us = elsewhere();
  us.runs = {runs / ""};
  std::filesystem::create_directory(runs / "r1");
  const std::filesystem::path record = runs / "r1/outcome.json";
  std::ofstream(record) << "{}";
  const auto claim = [&]() -> std::optional<Claim> {
    const auto list = survey({}, us);
    const auto* found = find(list, copy.id());
    return found ? std::optional(found->claim) : std::nullopt;
  };
  CHECK(claim() == Claim::ours);
  std::filesystem::last_write_time(record, std::filesystem::file_time_type::clock::now() - 1h);
  CHECK_FALSE(claim());  // it holds nothing, so it is not even listed
}

TEST_CASE("a leftover below a terminal multiplexer is left alone", "[alone]") {
  const Below leftover("tmux: server", marked_by_the_dead);
  CHECK_FALSE(find(survey({}, elsewhere()), leftover.id()));
}

TEST_CASE("a job that a daemon has started with the environment of a dead run is left alone",
          "[alone]") {
  const Below job("batchd", marked_by_the_dead);
  const Needs needs{.ports = {}, .held = {{job.id().pid, "9 MiB of GPU 0"}}};

  const auto list = survey(needs, elsewhere());

  REQUIRE(find(list, job.id()));
  CHECK(find(list, job.id())->claim == Claim::unproven);
  CHECK_THAT(find(list, job.id())->why, ContainsSubstring("runs below 'batchd'"));
}

TEST_CASE("a service of a manager that was given a dead run's environment is left alone",
          "[alone]") {
  const Environment given = marked_by_the_dead();
  const Below service("systemd", [&] { return given; });
  const Needs needs{.ports = {}, .held = {{service.id().pid, "9 MiB of GPU 0"}}};

  const auto list = survey(needs, elsewhere());

  REQUIRE(find(list, service.id()));
  CHECK(find(list, service.id())->claim == Claim::unproven);
  CHECK_THAT(find(list, service.id())->why, ContainsSubstring("runs below 'systemd'"));
}

TEST_CASE("a stranger on our port is listed with what he holds, and not claimed") {
  const auto lease = lease_port(automatic_ports(ephemeral_ports())).value();
  Child stranger([&] {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(lease.port());
    ::bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof name);
    ::listen(fd, 1);
    ::pause();
  });

  REQUIRE(eventually([&] {
    return find(survey({.ports = {lease.port()}}, elsewhere()), stranger.id()) != nullptr;
  }));
  const auto list = survey({.ports = {lease.port()}}, elsewhere());
  const auto* found = find(list, stranger.id());
  CHECK(found->claim == Claim::unproven);
  CHECK(found->holds == std::vector{fmt::format("port {}", lease.port())});
}

TEST_CASE(
    "a leftover and a stranger that hold a GPU's memory are listed with it, one of them claimed",
    "[alone]") {
  const Below stale("tini", marked_by_the_dead);
  const auto stranger = sleeper({});
  const Needs needs{
      .ports = {},
      .held = {{stale.id().pid, "4096 MiB of GPU 0"}, {stranger->pid(), "9 MiB of GPU 1"}}};

  const auto list = survey(needs, elsewhere());

  REQUIRE(find(list, stale.id()));
  CHECK(find(list, stale.id())->claim == Claim::ours);
  CHECK(find(list, stale.id())->holds == std::vector<std::string>{"4096 MiB of GPU 0"});
  REQUIRE(find(list, stranger->id()));
  CHECK(find(list, stranger->id())->claim == Claim::unproven);
}

TEST_CASE("we ourselves are never claimed, whatever marks we carry") {
  for (const auto& stale : survey({}, read_surroundings())) {
    CHECK(stale.process.id.pid != ::getpid());
    CHECK(stale.process.id.pid != ::getppid());
  }
}

TEST_CASE("what the survey proves is what ends, and a decoy beside it lives on", "[alone]") {
  const Below stale("tini", marked_by_the_dead);
  const auto decoy =
      sleeper({{"SAFELAUNCH_RUN_ID", "r2"}, {"SAFELAUNCH_OWNER", host::owner_mark(host::self())}});

  std::vector<ProcessId> proven;
  for (const auto& found : survey({}, elsewhere()))
    if (acts_on(settings::CleanPolicy::ours, found.claim) &&
        found.process.parent == stale.adopter())
      proven.push_back(found.process.id);
  REQUIRE(proven == std::vector{stale.id()});

  CHECK(end_processes(proven, {60s, 60s}).front().result == EndResult::ended);
  CHECK_FALSE(host::is_running(stale.id()));
  CHECK(host::is_running(decoy->id()));
}

// ---- what a person names by its pid
// ---------------------------------------------------------------

TEST_CASE("a process that a person names is shown with all below it, and ended whatever it is",
          "[survey]") {
  const Child named([] {
    if (::fork() == 0) ::pause();
    ::pause();
  });
  REQUIRE(eventually([&] { return host::tree_of(named.id(), host::Procfs()).size() == 2; }));
  const Needs needs{.ports = {}, .held = {{named.pid(), "40960 MiB of GPU 0"}}, .watch = 100ms};

  const auto tree = survey_named(named.pid(), needs, read_surroundings());
  REQUIRE(tree.has_value());
  REQUIRE(tree->size() == 2);
  CHECK(tree->front().process.id == named.id());
  CHECK_THAT(tree->front().holds.at(0), ContainsSubstring(" of memory"));
  CHECK(tree->front().holds.at(1) == "40960 MiB of GPU 0");
  CHECK_THAT(tree->front().why, ContainsSubstring("of CPU in the last 0.1s"));
  CHECK_THAT(tree->back().why, ContainsSubstring(fmt::format("below pid {}, ", named.pid())));

  const auto removals = remove({*tree, {}}, settings::CleanPolicy::ours);
  CHECK(removals.at(0).done == "ended");
  CHECK(removals.at(1).done == "ended");
  CHECK_FALSE(host::is_running(named.id()));
}

TEST_CASE("a named pid that changed hands after the look is not signalled", "[survey]") {
  const Child stranger([] { ::pause(); });
  auto tree = survey_named(stranger.pid(), {.ports = {}}, read_surroundings());
  REQUIRE(tree.has_value());
  --tree->front().process.id.start_ticks;  // the process that was looked at began earlier
  CHECK(remove({*tree, {}}, settings::CleanPolicy::ours).at(0).done == "was gone already");
  CHECK(host::is_running(stranger.id()));
}

TEST_CASE("nobody ends PID 1, a safelaunch, or what this one runs below, by its pid", "[survey]") {
  Surroundings us = read_surroundings();
  host::ProcessFacts process{.id = {71, 5}, .uid = us.host.uid, .comm = "python"};
  CHECK(why_never_named(process, us).empty());

  us.ancestors.push_back(71);
  CHECK(why_never_named(process, us) == "this safelaunch runs below it");
  us.ancestors.clear();
  us.self = 71;
  CHECK(why_never_named(process, us) == "this safelaunch runs below it");
  us.self = 72;
  process.comm = "safelaunch";
  CHECK_THAT(why_never_named(process, us), ContainsSubstring("it is a safelaunch"));
  process.id.pid = 1;
  CHECK(why_never_named(process, us) == "it is PID 1");
}

TEST_CASE("another user's process is ended by its pid for root alone", "[survey]") {
  Surroundings us;
  const host::ProcessFacts process{.id = {71, 5}, .uid = 65534, .comm = "python"};
  us.host.uid = 1000;
  CHECK_THAT(why_never_named(process, us), ContainsSubstring("it belongs to user "));
  us.host.uid = 0;
  CHECK(why_never_named(process, us).empty());
}

TEST_CASE("a named tree with a safelaunch in it is left to `stop`", "[survey]") {
  const Child shell([] {
    if (::fork() == 0) {
      ::prctl(PR_SET_NAME, "safelaunch");
      ::pause();
    }
    ::pause();
  });
  const auto has_safelaunch = [&] {
    const auto tree = host::tree_of(shell.id(), host::Procfs());
    return tree.size() == 2 && tree.back().comm == "safelaunch";
  };
  REQUIRE(eventually(has_safelaunch));
  const auto refused = survey_named(shell.pid(), {.ports = {}}, read_surroundings());
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == Errc::usage);
  CHECK_THAT(refused.error().message, ContainsSubstring("`safelaunch stop RUN` ends that first"));
}
