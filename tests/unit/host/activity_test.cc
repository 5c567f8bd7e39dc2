#include "safelaunch/host/activity.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::host;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

constexpr int kRoot = 100;

ThreadSample thread(int tid, WaitKind wait = WaitKind::inner, std::string comm = "python") {
  ThreadSample sample;
  sample.tid = tid;
  sample.state = 'S';
  sample.comm = std::move(comm);
  sample.runs = 7;
  sample.waits_in = wait == WaitKind::timed ? "hrtimer_nanosleep" : "futex_do_wait";
  sample.wait = wait;
  return sample;
}

ProcessSample process(int pid, std::string comm = "python") {
  ProcessSample sample;
  sample.facts.id = {pid, 1};
  sample.facts.state = 'S';
  sample.facts.comm = comm;
  sample.threads.push_back(thread(pid, WaitKind::inner, std::move(comm)));
  return sample;
}

/// A rank that is blocked, and what changes it between two samples that are a second apart.
struct Scene {
  TreeSample before{TimePoint{}, {process(kRoot)}};
  TreeSample after{TimePoint{} + 1s, {process(kRoot)}};

  ProcessSample& root_before() { return before.processes.front(); }
  ProcessSample& root() { return after.processes.front(); }
  ThreadSample& main_thread() { return root().threads.front(); }
  void add(ProcessSample sample) {
    before.processes.push_back(sample);
    after.processes.push_back(std::move(sample));
  }
  void add(ThreadSample sample) {
    root_before().threads.push_back(sample);
    root().threads.push_back(std::move(sample));
  }
  [[nodiscard]] ActivitySeen seen() const { return classify(before, after); }
};

}  // namespace

TEST_CASE("a process that waits on a futex without a timeout is quiet") {
  Scene scene;
  CHECK(scene.seen().activity == Activity::quiet);
  CHECK(scene.seen().doing == "blocked in a lock between threads, with nothing to wake it");
}

TEST_CASE("an ended process is dead, whether it is reaped or not") {
  Scene zombie;
  zombie.root().facts.state = 'Z';
  CHECK(zombie.seen().activity == Activity::dead);

  Scene handed_on;  // its main thread has ended, and others have not
  handed_on.root().facts.state = 'Z';
  handed_on.root().facts.threads = 2;
  CHECK(handed_on.seen().activity != Activity::dead);

  Scene reaped;
  reaped.after.processes.clear();
  CHECK(reaped.seen().activity == Activity::dead);
}

TEST_CASE("a stopped process is stopped, whatever it did before") {
  Scene scene;
  scene.root_before().facts.state = scene.root().facts.state = 'T';
  CHECK(scene.seen().activity == Activity::stopped);
  CHECK(scene.seen().doing ==
        fmt::format("by a signal (pid {}, state T)", scene.root().facts.id.pid));
}

TEST_CASE("a process that is stopped and let go between the looks is limited, and works") {
  Scene scene;
  scene.root_before().facts.state = scene.root().facts.state = 'T';
  scene.root_before().threads[0].state = scene.main_thread().state = 'T';
  SECTION("it has run") {
    scene.main_thread().runs += 10;
  }
  SECTION("it has used a CPU, too little to count as work") {
    scene.root().facts.cpu = 10ms;
  }
  SECTION("it runs at the one look, and is stopped at the other") {
    scene.root_before().facts.state = 'S';
    scene.main_thread().runs += 10;
  }
  CHECK(scene.seen().activity == Activity::working);
  CHECK(scene.seen().doing == "is stopped and continued again and again");
}

TEST_CASE("a process that was stopped since the look before is not stopped yet") {
  Scene scene;
  scene.root().facts.state = scene.main_thread().state = 'T';
  CHECK(scene.seen().activity == Activity::idling);
}

TEST_CASE("a process that its cgroup froze is stopped, by either version") {
  const auto* function = GENERATE("do_freezer_trap", "__refrigerator");
  Scene scene;
  scene.root_before().threads[0].waits_in = scene.main_thread().waits_in = function;
  scene.root_before().threads[0].state = scene.main_thread().state = 'D';
  CHECK(scene.seen().activity == Activity::stopped);
  CHECK(scene.seen().doing == "by its cgroup (frozen)");
}

TEST_CASE(
    "a process whose cgroup says that it is frozen is stopped, whatever function it sleeps in") {
  Scene scene;
  scene.root_before().frozen = scene.root().frozen = true;
  scene.root_before().threads[0].waits_in = scene.main_thread().waits_in = "hrtimer_nanosleep";
  scene.root_before().threads[0].state = scene.main_thread().state = 'D';
  CHECK(scene.seen().activity == Activity::stopped);
  CHECK(scene.seen().doing == "by its cgroup (frozen)");
}

TEST_CASE("a process at a prompt or in a debugger is in a person's hands") {
  Scene scene;
  SECTION("it reads the terminal") {
    scene.main_thread().at_terminal = true;
    CHECK(scene.seen().doing == "waits for somebody to type at the terminal");
  }
  SECTION("a child asks for a password") {
    scene.add(process(101, "ssh"));
    scene.after.processes[1].threads[0].at_terminal = true;
    CHECK(scene.seen().doing ==
          "waits for somebody to type at the terminal in a child (ssh, pid 101)");
  }
  SECTION("a debugger is attached") {
    scene.root_before().tracer = scene.root().tracer = 71;
    scene.root_before().facts.state = scene.root().facts.state = 'T';
    CHECK(scene.seen().doing == "held by a debugger");
  }
  SECTION("a debugger of another pid namespace holds it") {
    scene.root_before().facts.state = scene.root().facts.state = 't';
  }
  SECTION("a debugger has let it go and asks what to do next") {
    scene.root().tracer = 71;
    scene.root().tracer_at_terminal = true;
  }
  SECTION("its main thread waits for the thread that reads the terminal") {
    scene.main_thread().wait = WaitKind::inner;
    scene.root().threads.push_back({.tid = 171, .state = 'S', .comm = "asks", .at_terminal = true});
  }
  CHECK(scene.seen().activity == Activity::attended);
}

TEST_CASE(
    "a process that is only traced, or listens to the keyboard beside, has no person's time") {
  Scene scene;
  SECTION("strace lets it go on by itself") {
    scene.root_before().tracer = scene.root().tracer = 71;
  }
  SECTION("strace has it at this moment") {
    scene.root().tracer = 71;
    scene.root_before().facts.state = scene.root().facts.state = 't';
    ++scene.main_thread().runs;
  }
  SECTION("a thread listens for a key while the main thread sleeps") {
    scene.main_thread().wait = WaitKind::timed;
    scene.root().threads.push_back({.tid = 171, .state = 'S', .comm = "keys", .at_terminal = true});
  }
  CHECK(scene.seen().activity != Activity::attended);
}

TEST_CASE("a process that waits for an answer from outside is not quiet") {
  Scene scene;
  scene.root_before().threads[0].wait = scene.main_thread().wait = WaitKind::outer;
  scene.main_thread().waits_in = "wait_woken";
  CHECK(scene.seen().activity == Activity::idling);
  CHECK(scene.seen().doing == "waiting for something from outside in a read of a socket");
  scene.main_thread().waits_in = "inet_csk_accept";
  CHECK(scene.seen().doing == "waiting for something from outside in accept()");
  CHECK_FALSE(scene.seen().awaits_local);
  scene.main_thread().reads_local = true;
  CHECK(scene.seen().awaits_local);
}

TEST_CASE("a child that somebody stopped is told") {
  Scene scene;
  scene.add(process(101, "pt_data_worker"));
  scene.before.processes[1].threads[0].state = scene.after.processes[1].threads[0].state = 'T';
  CHECK(scene.seen().activity == Activity::idling);
  CHECK(scene.seen().doing == "stopped by a signal in a child (pt_data_worker, pid 101)");
}

TEST_CASE("CPU of any process of the tree is work") {
  Scene scene;
  scene.add(process(101, "pt_data_worker"));
  scene.after.processes[1].facts.cpu = 60ms;
  CHECK(scene.seen().activity == Activity::working);
  CHECK(scene.seen().doing == "uses 6 % of a CPU");
}

TEST_CASE("a waited-for child's CPU is counted once") {
  Scene scene;
  scene.before.processes.push_back(process(101, "sh"));
  scene.before.processes[1].facts.cpu = 3000ms;
  scene.root().facts.cpu = 3000ms;  // the kernel has added the child's account to its parent's
  CHECK(scene.seen().activity == Activity::quiet);
}

TEST_CASE("a log line now and then is no work, reading a data set is") {
  Scene scene;
  scene.root().io_bytes = 2000;
  CHECK(scene.seen().activity == Activity::quiet);
  scene.root().io_bytes = 300'000;
  CHECK(scene.seen().activity == Activity::working);
}

TEST_CASE("what goes over connections is work, a heartbeat is not") {
  Scene scene;
  scene.before.has_traffic = scene.after.has_traffic = true;
  scene.add(process(101));
  scene.root_before().traffic = {{7, {1'000'000, 40}}, {8, {5'000'000}}};
  scene.root().traffic = {{7, {1'020'000, 42}}};  // the other one is closed
  CHECK(scene.seen().activity == Activity::quiet);
  SECTION("it downloads, over a connection that a child has open as well") {
    scene.root().traffic[7].bytes = 1'100'000;
    scene.after.processes[1].traffic[7].bytes = 1'100'000;
    CHECK(scene.seen().activity == Activity::working);
    CHECK(scene.seen().doing == "sends and receives 0.1 MB/s");
  }
  SECTION("it makes a new connection for each part") {
    scene.root().traffic[9].bytes = 300'000;
    CHECK(scene.seen().activity == Activity::working);
  }
  SECTION("it gets one small answer after the other") {
    scene.root().traffic[7].answers = 65;
    CHECK(scene.seen().activity == Activity::working);
    CHECK(scene.seen().doing == "gets 25 answers a second");
  }
  SECTION("it was not asked for before") {
    scene.root().traffic[7].bytes = 9'000'000;
    scene.before.has_traffic = false;
    CHECK(scene.seen().activity == Activity::quiet);
  }
}

TEST_CASE("a compiler below the rank that gets on is work, and named") {
  Scene scene;
  scene.add(process(101, "cc1plus"));
  CHECK(scene.seen().activity == Activity::quiet);

  scene.after.processes[1].facts.cpu = 10ms;
  CHECK(scene.seen().activity == Activity::working);
  CHECK(scene.seen().doing == "cc1plus compiles in a child (pid 101)");
}

TEST_CASE("children that keep coming are work, but a shell's retry loop is not") {
  Scene scene;
  scene.after.processes.push_back(process(101, "tar"));
  CHECK(scene.seen().activity == Activity::working);

  Scene loop;
  loop.after.processes.push_back(process(101, "sleep"));
  loop.after.processes[1].threads[0].wait = WaitKind::timed;
  CHECK(loop.seen().activity == Activity::idling);
}

TEST_CASE("a process that is ready and gets no CPU is not thought to hang") {
  Scene scene;
  scene.root_before().threads[0].state = scene.main_thread().state = 'R';
  CHECK(scene.seen().activity == Activity::working);
  CHECK_THAT(scene.seen().doing, StartsWith("ready, but gets no CPU"));
}

TEST_CASE("a timed sleep, a file lock, state D and a retry loop are idling") {
  Scene scene;
  SECTION("a timed sleep") {
    scene.main_thread() = thread(kRoot, WaitKind::timed);
    CHECK(scene.seen().doing == "sleeping");
  }
  SECTION("a file lock") {
    scene.main_thread().wait = WaitKind::lock;
  }
  SECTION("state D") {
    scene.main_thread().state = 'D';
  }
  SECTION("a retry loop") {
    scene.main_thread().runs += 10;
  }
  SECTION("a sleep in a second thread") {
    scene.add(thread(101, WaitKind::timed));
  }
  SECTION("a sleep in a child") {
    scene.add(process(101, "sleep"));
    scene.after.processes[1].threads[0] = thread(101, WaitKind::timed, "sleep");
    CHECK_THAT(scene.seen().doing, ContainsSubstring("in a child (sleep, pid 101)"));
  }
  SECTION("a wait that cannot be read") {
    scene.main_thread().wait = WaitKind::unknown;
  }
  CHECK(scene.seen().activity == Activity::idling);
}

TEST_CASE("threads that tick by themselves do not make a hung process look alive") {
  const auto* comm = GENERATE("safelaunch", "gloo_tcp_loop", "pt_tcpstore_uv", "pt_nccl_watchdg",
                              "pt_gloo_runloop", "NCCL Progress 0", "cuda-EvtHandlr");
  CAPTURE(comm);
  Scene scene;
  scene.add(thread(101, WaitKind::timed, comm));
  scene.root().threads[1].runs += 100;
  CHECK(scene.seen().activity == Activity::quiet);
}

TEST_CASE("a main thread says something even under a name that torch gives to its threads") {
  Scene scene;
  scene.main_thread() = thread(kRoot, WaitKind::timed, "safelaunch");
  CHECK(scene.seen().activity == Activity::idling);
}

TEST_CASE("a process of which no thread may be read is unseen") {
  Scene scene;
  scene.root().threads.clear();
  CHECK(scene.seen().activity == Activity::unseen);
}

TEST_CASE("compilers are known with a version behind their name") {
  CHECK(is_compiler("cc1plus"));
  CHECK(is_compiler("gcc-12"));
  CHECK(is_compiler("cudafe++"));
  CHECK_FALSE(is_compiler("python"));
  CHECK_FALSE(is_compiler("assemble"));
}

TEST_CASE("work is told from its threshold on, and not before") {
  Scene scene;
  scene.root().facts.cpu = 49ms;
  CHECK(scene.seen().activity == Activity::quiet);
  scene.root().facts.cpu = 50ms;
  CHECK(scene.seen().doing == "uses 5 % of a CPU");
  scene.root().facts.cpu = 0ms;
  scene.root().io_bytes = 256 * 1024 - 1;
  CHECK(scene.seen().activity == Activity::quiet);
  scene.root().io_bytes += 1;
  CHECK(scene.seen().doing == "reads and writes 0.3 MB/s");
}

TEST_CASE("two samples of one moment show no work") {
  Scene scene;
  scene.after.at = scene.before.at;
  scene.root().facts.cpu = 10s;
  CHECK(scene.seen().activity != Activity::working);
}

TEST_CASE("a compiler that has ended, or a thread that has, says nothing") {
  Scene scene;
  scene.add(process(101, "cc1plus"));
  scene.after.processes[1].facts.state = 'Z';
  scene.after.processes[1].facts.cpu = 10ms;
  scene.after.processes[1].threads[0].state = 'Z';
  CHECK(scene.seen().activity == Activity::quiet);
}

TEST_CASE("each way of idling has its words") {
  const auto words = [](char state, WaitKind wait, std::uint64_t runs, const char* function) {
    Scene scene;
    scene.main_thread().state = state;
    scene.main_thread().wait = wait;
    scene.main_thread().runs = runs;
    scene.main_thread().waits_in = function;
    return scene.seen().doing;
  };
  CHECK(words('D', WaitKind::inner, 7, "nfs_wait") ==
        "in uninterruptible sleep (state D) in nfs_wait");
  CHECK(words('S', WaitKind::lock, 7, "locks_lock_inode_wait") ==
        "waiting for a file lock in locks_lock_inode_wait");
  CHECK(words('S', WaitKind::unknown, 7, "") ==
        "asleep in the kernel; for how long cannot be seen");
  CHECK(words('S', WaitKind::inner, 8, "futex_do_wait") ==
        "waking now and then in a lock between threads");
  CHECK(words('S', WaitKind::inner, 7, "") == "blocked, with nothing to wake it");
}

TEST_CASE("a thread that has just begun is not taken for a blocked one") {
  Scene scene;
  scene.root().threads.push_back(thread(102));
  CHECK(scene.seen().activity == Activity::idling);
}
