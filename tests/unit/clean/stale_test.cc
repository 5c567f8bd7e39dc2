#include "safelaunch/clean/stale.h"

#include "catch.h"
#include "safelaunch/host/identity.h"

using namespace safelaunch;

using namespace safelaunch::clean;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;

namespace {

Surroundings us() {
  Surroundings us;
  us.host.boot_id = "boot-1";
  us.host.pid_namespace = 4026531836;
  us.host.uid = 1000;
  us.self = 500;
  us.ancestors = {400, 1};
  us.cgroup = "0::/user.slice/session-7.scope\n";
  return us;
}

constexpr const char* kRun = "20261120-a1b2";

constexpr const char* kSession = "0::/user.slice/session-6.scope\n";

/// Of a safelaunch in that session, which a shell (400) and a user's systemd (900) ran above.
host::OwnerMark owner() {
  return {"boot-1",
          4026531836,
          {60, 4000},
          host::cgroups_key(kSession),
          {{400, 0}, {900, 0}, {1, 0}},
          us().host.uid};
}

Environment mark(const host::OwnerMark& owner) {
  return {{"SAFELAUNCH_RUN_ID", kRun}, {"SAFELAUNCH_OWNER", to_string(owner)}};
}

/// A worker that carries our mark, of a safelaunch that is gone.
Candidate marked() {
  Candidate candidate;
  candidate.process.id = {71, 4711};
  candidate.process.parent = 1;
  candidate.process.uid = 1000;
  candidate.process.age = 1h;
  candidate.command = "python train.py";
  candidate.environment = mark(owner());
  candidate.cgroup = kSession;
  candidate.pid_namespace = 4026531836;
  candidate.above = {{1, "init", ""}};
  candidate.owner = host::Life::ended;
  return candidate;
}

/// A worker that torchrun started by hand left behind, on the port that we need.
Candidate orphan() {
  auto candidate = marked();
  candidate.environment = {
      {"RANK", "0"}, {"LOCAL_RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "29500"}};
  candidate.holds = {"port 29500"};
  candidate.work = Work{true, "sleeping in hrtimer_nanosleep"};
  return candidate;
}

Claim claim_of(const Candidate& candidate) {
  const auto found = classify_stale(candidate, us());
  return found ? found->claim : Claim::unproven;
}

/// It is listed, since it is in the way, and the reason tells why it is left alone.
void check_untouched(Candidate candidate, const std::string& why) {
  candidate.holds = {"port 29500"};
  const auto found = classify_stale(candidate, us());
  REQUIRE(found);
  CHECK(found->claim == Claim::unproven);
  CHECK_THAT(found->why, ContainsSubstring(why));
}

}  // namespace

TEST_CASE("a marked process whose safelaunch is gone is ours") {
  const auto found = classify_stale(marked(), us());

  REQUIRE(found);
  CHECK(found->claim == Claim::ours);
  CHECK(found->why == "left by safelaunch run 20261120-a1b2: its safelaunch (pid 60) is gone");
}

TEST_CASE(
    "a process of ours that another user's run left, by a setuid program, is not ours to end") {
  host::OwnerMark others = owner();
  others.uid = 1001;
  Candidate candidate = marked();
  candidate.environment = mark(others);
  check_untouched(candidate, "has the mark of a run of uid 1001");
}

TEST_CASE("what hangs below orphans of its run is ours like them, whoever has adopted those") {
  auto worker = marked();
  SECTION("PID 1, which may have any name, and be hidden") {
    worker.above = {{70, "pt_elastic", kRun}, {1, GENERATE("", "sshd"), ""}};
  }
  SECTION("a subreaper that we run below too") {
    worker.above = {{70, "pt_elastic", kRun, 70}, {400, "runner", "", 7}, {1, "init", ""}};
  }
  SECTION("a user's systemd") {
    worker.above = {{70, "pt_elastic", kRun}, {900, "systemd", ""}, {1, "systemd", ""}};
  }
  CHECK(claim_of(worker) == Claim::ours);
}

// Somebody has copied the environment of a rank, to see for himself why it failed.
TEST_CASE("a process that was started after the end of the run whose mark it has is not ours") {
  auto copy = marked();
  copy.run_silent_for = 70min;  // it is an hour old
  check_untouched(copy, "was started after its end");
  copy.run_silent_for = 30min;
  CHECK(claim_of(copy) == Claim::ours);

  auto young = marked();  // but its launcher is of the run
  young.process.age = 1min;
  young.run_silent_for = 30min;
  check_untouched(young, "was started after its end");
  young.above = {{70, "pt_elastic", kRun, 70, 3000, 1h}, {1, "init", ""}};
  CHECK(claim_of(young) == Claim::ours);
}

TEST_CASE("a process in the session of a shell that is there is not ours, whatever its mark") {
  auto copy = marked();
  copy.in_foreign_session = true;
  check_untouched(copy, "is in a session that the run did not make");
}

TEST_CASE("a leftover of our own batch job is ours") {
  auto worker = marked();
  worker.environment["PBS_JOBID"] = "71.head";
  auto here = us();
  here.environment["PBS_JOBID"] = "71.head";
  CHECK(classify_stale(worker, here)->claim == Claim::ours);
}

TEST_CASE(
    "what was killed and does not end is listed, though it holds nothing, and never claimed") {
  auto stuck = marked();
  stuck.stuck_in = "fuse_wait";
  const auto found = classify_stale(stuck, us());
  REQUIRE(found);
  CHECK(found->unkillable);
  CHECK(found->claim == Claim::unproven);
  CHECK_THAT(found->why, ContainsSubstring("its call into the kernel (fuse_wait) returns"));
}

TEST_CASE("decoys are left alone") {
  auto decoy = marked();
  SECTION("the same under another user") {
    decoy.process.uid = 65534;
    check_untouched(decoy, "another user");
  }
  SECTION("the same in another pid namespace") {
    decoy.pid_namespace = 4026532000;
    check_untouched(decoy, "another container");
  }
  SECTION("a namespace that we may not read") {
    decoy.pid_namespace.reset();
    check_untouched(decoy, "another container");
  }
  SECTION("a mark from before the boot") {
    auto before = owner();
    before.boot_id = "boot-0";
    decoy.environment = mark(before);
    check_untouched(decoy, "another boot");
  }
  SECTION("a mark from another container") {
    auto elsewhere = owner();
    elsewhere.pid_namespace = 4026532000;
    decoy.environment = mark(elsewhere);
    check_untouched(decoy, "another boot or container");
  }
  SECTION("a job whose safelaunch runs") {
    decoy.owner = host::Life::running;
    check_untouched(decoy, "running safelaunch job");
  }
  SECTION("a job whose safelaunch /proc hides") {
    decoy.owner = host::Life::hidden;
    check_untouched(decoy, "/proc hides whether its safelaunch (pid 60) still runs");
  }
  SECTION("work that a daemon has started with the environment of a job that is over") {
    decoy.above = {{90, "batchd", ""}, {1, "init", ""}};
    check_untouched(decoy, "runs below 'batchd' (pid 90), which has none");
  }
  SECTION("work that a program above us has started in its own session") {
    decoy.above = {{400, "python", "", 7}, {1, "init", ""}};
    decoy.process.session = 7;
    check_untouched(decoy, "runs below 'python' (pid 400), which has none");
  }
  SECTION("the same further down in the work's tree") {
    decoy.above = {{91, "sh", kRun}, {90, "batchd", ""}, {1, "init", ""}};
    check_untouched(decoy, "runs below 'batchd' (pid 90)");
  }
  SECTION("what another safelaunch's job has started") {
    decoy.above = {{91, "sh", "20261121-c3d4"}, {1, "init", ""}};
    check_untouched(decoy, "runs below 'sh' (pid 91)");
  }
  SECTION("what /proc does not show the parents of") {
    decoy.above = {{91, "", ""}};
    check_untouched(decoy, "/proc does not show");
  }
  SECTION("what was put into our container from outside") {
    decoy.above = {};
    check_untouched(decoy, "/proc does not show");
  }
  SECTION("a batch system's job that no daemon is above any more") {
    decoy.environment["LSB_JOBID"] = "7";
    check_untouched(decoy, "another job of the scheduler");
  }
  SECTION("a service of a user's manager that was given the environment of a job") {
    decoy.above = {{900, "systemd", ""}, {1, "systemd", ""}};
    decoy.cgroup = "0::/user.slice/user@1000.service/app.slice/notes.service\n";
    check_untouched(decoy, "is in another cgroup: a service manager may have started it");
  }
  SECTION("a service of PID 1 that was given it") {
    decoy.cgroup = "0::/system.slice/notes.service\n";
    check_untouched(decoy, "is in another cgroup");
  }
  SECTION("a service of a manager that the run's safelaunch did not run below") {
    decoy.above = {{901, "systemd", ""}, {1, "systemd", ""}};
    check_untouched(decoy, "runs below 'systemd' (pid 901), which has none");
  }
  SECTION("a service of a manager that has the pid of one above the run's safelaunch") {
    decoy.above = {{900, "systemd", "", 0, 5}, {1, "systemd", ""}};
    check_untouched(decoy, "runs below 'systemd' (pid 900), which has none");
  }
  SECTION("what asks to be kept") {
    decoy.environment["SAFELAUNCH_KEEP"] = "1";
    check_untouched(decoy, "SAFELAUNCH_KEEP=1 asks to keep it");
  }
  SECTION("a mark that is not whole") {
    decoy.environment["SAFELAUNCH_OWNER"] = "boot-1:1:2";
    check_untouched(decoy, "is incomplete");
  }
  SECTION("a mark without a run") {
    decoy.environment.erase("SAFELAUNCH_RUN_ID");
    check_untouched(decoy, "is incomplete");
  }
  SECTION("ourselves") {
    decoy.process.id.pid = 500;
    check_untouched(decoy, "runs below it");
  }
  SECTION("our ancestor") {
    decoy.process.id.pid = 400;
    check_untouched(decoy, "runs below it");
  }
  SECTION("a tmux server that the job started, and what runs in it") {
    decoy.above = {{91, "bash", kRun}, {90, "tmux: server", kRun}, {1, "init", ""}};
    check_untouched(decoy, "tmux: server");
  }
  CHECK(claim_of(decoy) == Claim::unproven);
}

TEST_CASE("a rank that lost its launcher and does nothing is an orphan, whatever it holds") {
  auto rank = orphan();
  if (GENERATE(true, false)) rank.holds.clear();
  const auto found = classify_stale(rank, us());

  REQUIRE(found);
  CHECK(found->claim == Claim::orphan);
  CHECK(found->launcherless);
  CHECK_THAT(found->why, EndsWith("that does nothing: sleeping in hrtimer_nanosleep"));
}

TEST_CASE("a training that was started by hand is listed and never an orphan") {
  auto rank = orphan();
  rank.holds = {"/dev/nvidia0"};
  SECTION("it works") {
    rank.work = Work{false, "working: uses 99 % of a CPU"};
  }
  SECTION("nobody has looked whether it does") {
    rank.work.reset();
  }
  SECTION("it asks to be kept") {
    rank.environment["SAFELAUNCH_KEEP"] = "1";
  }
  const auto found = classify_stale(rank, us());

  REQUIRE(found);
  CHECK(found->claim == Claim::unproven);
  CHECK(found->launcherless);
}

TEST_CASE("a rank without a launcher is listed though it holds nothing") {
  auto rank = orphan();
  rank.holds.clear();
  rank.work.reset();
  const auto found = classify_stale(rank, us());

  REQUIRE(found);
  CHECK_THAT(describe(*found),
             ContainsSubstring("1h old, holds no port and no GPU: not started by"));
}

TEST_CASE("what lacks one sign of an orphan is none") {
  auto worker = orphan();
  std::string missing;
  SECTION("a launcher's variables") {
    worker.environment.erase("LOCAL_RANK");
    missing = "its environment shows no launcher";
  }
  SECTION("the loss of its parent") {
    worker.above = {{70, "pt_elastic", ""}, {1, "init", ""}};
    missing = "its parent is still there";
  }
  SECTION("the absence of a terminal") {
    worker.process.terminal = 34816;
    missing = "it has a terminal";
  }
  SECTION("age") {
    worker.process.age = 29s;
    missing = "younger than 30s";
  }
  SECTION("our scheduler's job") {
    worker.cgroup = "0::/slurm/uid_1000/job_123/step_0\n";
    missing = "another job of the scheduler";
  }
  const auto found = classify_stale(worker, us());
  REQUIRE(found);
  CHECK(found->claim == Claim::unproven);
  CHECK_THAT(found->why, EndsWith(missing) || ContainsSubstring(missing));
}

TEST_CASE("an orphan that a user's systemd adopted is one too") {
  auto worker = orphan();
  worker.above = {{900, "systemd", ""}, {1, "systemd", ""}};
  CHECK(claim_of(worker) == Claim::orphan);
}

TEST_CASE("a worker of our own Slurm job is no stranger's") {
  auto worker = orphan();
  worker.environment["SLURM_JOB_ID"] = "123";
  auto here = us();
  CHECK(classify_stale(worker, here)->claim == Claim::unproven);

  here.environment["SLURM_JOB_ID"] = "123";
  CHECK(classify_stale(worker, here)->claim == Claim::orphan);
}

TEST_CASE("what neither is ours nor stands in the way is not even listed") {
  auto worker = orphan();
  worker.holds.clear();
  worker.process.terminal = 34816;
  CHECK_FALSE(classify_stale(worker, us()));
}

TEST_CASE("each policy acts on what it names and on nothing more") {
  CHECK_FALSE(acts_on(settings::CleanPolicy::off, Claim::ours));
  CHECK_FALSE(acts_on(settings::CleanPolicy::ours, Claim::named));
  CHECK_FALSE(acts_on(settings::CleanPolicy::orphans, Claim::named));
  CHECK(acts_on(settings::CleanPolicy::all_mine, Claim::named));
  CHECK(acts_on(settings::CleanPolicy::all_mine, Claim::ours));
  CHECK_FALSE(acts_on(settings::CleanPolicy::all_mine, Claim::orphan));
  CHECK(acts_on(settings::CleanPolicy::ours, Claim::ours));
  CHECK_FALSE(acts_on(settings::CleanPolicy::ours, Claim::orphan));
  CHECK(acts_on(settings::CleanPolicy::orphans, Claim::ours));
  CHECK(acts_on(settings::CleanPolicy::orphans, Claim::orphan));
  for (const auto policy : {settings::CleanPolicy::off, settings::CleanPolicy::ours,
                            settings::CleanPolicy::orphans, settings::CleanPolicy::all_mine})
    CHECK_FALSE(acts_on(policy, Claim::unproven));
}

TEST_CASE("the scheduler's job is read from the cgroup before the environment") {
  CHECK(scheduled_job_of("0::/slurm/uid_1000/job_123/step_0/task_1\n", {}) == "slurm 123");
  CHECK(scheduled_job_of("0::/slurm/uid_1000/job_123\n", {{"SLURM_JOB_ID", "9"}}) == "slurm 123");
  CHECK(scheduled_job_of("0::/kubepods/burstable/pod1b2c-3d/abc\n", {}) == "pod 1b2c-3d");
  CHECK(scheduled_job_of("0::/kubepods.slice/kubepods-pod1b2c.slice/x\n", {}) == "pod 1b2c");
  CHECK(scheduled_job_of("0::/user.slice\n", {{"SLURM_JOB_ID", "9"}}) == "slurm 9");
  CHECK(scheduled_job_of("0::/system.slice/atd.service\n", {}) == "atd.service");
  CHECK(scheduled_job_of("0::/user.slice\n", {}).empty());
}

TEST_CASE("each batch system's job is known by its variables") {
  CHECK(scheduled_job_of("", {{"LSB_JOBID", "7"}}) == "lsf 7");
  CHECK(scheduled_job_of("", {{"PBS_JOBID", "7.head"}}) == "pbs 7.head");
  CHECK(scheduled_job_of("", {{"FLUX_JOB_ID", "f7"}}) == "flux f7");
  CHECK(scheduled_job_of("", {{"JOB_ID", "7"}, {"SGE_TASK_ID", "2"}}) == "sge 7.2");
  CHECK(scheduled_job_of("", {{"JOB_ID", "a program's own"}}).empty());
}

TEST_CASE("programs that keep others' processes are protected") {
  for (const auto* comm :
       {"tmux: server", "screen", "mpirun", "orted", "prted", "slurmstepd", "hydra_pmi_proxy",
        "safelaunch", "atd", "sge_shepherd", "pbs_mom", "res"})
    CHECK(is_protected(comm));
  CHECK_FALSE(is_protected("python"));
  CHECK_FALSE(is_protected("systemd"));  // it adopts orphans, and they are stale all the same
}

TEST_CASE("a line of the list says who, since when, what it holds and why") {
  auto found = *classify_stale(orphan(), us());
  found.process.uid = 3'999'999'999U;
  CHECK(describe(found) ==
        "pid 71 (python train.py), user 3999999999, 1h old, holds port 29500: not started by "
        "safelaunch; a rank without a launcher that does nothing: sleeping in hrtimer_nanosleep");
}
