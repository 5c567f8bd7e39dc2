// Snapshots of real processes.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "catch.h"
#include "safelaunch/watch/observer.h"
#include "temporary_folder.h"
#include "unit/host/child.h"

using namespace safelaunch;

using namespace safelaunch::watch;
using namespace safelaunch::testing;

namespace {

/// This process, and all that it forks, looks like one that has imported torch.
class LooksLikeTorch {
 public:
  LooksLikeTorch() {
    const int file =
        ::open((folder_ / "libtorch_cpu.so").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(::ftruncate(file, kBytes) == 0);
    mapped_ = ::mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE, file, 0);
    ::close(file);
    REQUIRE(mapped_ != MAP_FAILED);
  }
  LooksLikeTorch(const LooksLikeTorch&) = delete;
  LooksLikeTorch& operator=(const LooksLikeTorch&) = delete;
  ~LooksLikeTorch() { ::munmap(mapped_, kBytes); }

 private:
  static constexpr std::size_t kBytes = 4096;
  TemporaryFolder folder_;
  void* mapped_ = nullptr;
};

const watch::SeenProcess* find(const watch::Snapshot& snapshot, ProcessId process) {
  const auto found = std::ranges::find(snapshot, process, &watch::SeenProcess::id);
  return found == snapshot.end() ? nullptr : &*found;
}

// In the middle of an exec there are no words at all.
bool runs_anew(int pid, const std::vector<std::string>& before) {
  const std::vector<std::string> words = host::command_line_of(pid);
  return !words.empty() && words != before;
}

}  // namespace

TEST_CASE("a child of mp.spawn that is seen before its exec is known for what it is after it",
          "[observer]") {
  const LooksLikeTorch parent;
  std::array<int, 2> go{};
  REQUIRE(::pipe(go.data()) == 0);
  Child child([&] {
    char byte = 0;
    static_cast<void>(::read(go[0], &byte, 1));
    ::execl("/bin/sh", "sh", "-c", "sleep 600; :", "from multiprocessing.spawn import spawn_main",
            nullptr);
  });
  const host::Procfs table;
  const host::KernelSockets sockets;
  watch::ProcessObserver observer(table, sockets);

  const watch::Snapshot before = observer.look(host::self());
  REQUIRE(find(before, child.id()) != nullptr);
  CHECK(find(before, child.id())->has_torch);
  CHECK_FALSE(find(before, child.id())->spawned_child);

  const std::vector<std::string> parents_words = host::command_line_of(child.pid());
  REQUIRE(::write(go[1], "g", 1) == 1);
  REQUIRE(eventually([&] { return runs_anew(child.pid(), parents_words); }));
  const watch::Snapshot after = observer.look(host::self());
  REQUIRE(find(after, child.id()) != nullptr);
  CHECK(find(after, child.id())->spawned_child);
  for (const int end : go) ::close(end);
}

TEST_CASE("a spawned child that gives itself a title stays one", "[observer]") {
  std::array<int, 2> go{};
  REQUIRE(::pipe(go.data()) == 0);
  Child child([&] {
    ::dup2(go[0], STDIN_FILENO);
    ::execl("/bin/sh", "sh", "-c", "read line; exec sleep 600",
            "from multiprocessing.spawn import spawn_main", nullptr);
  });
  const host::Procfs table;
  const host::KernelSockets sockets;
  watch::ProcessObserver observer(table, sockets);
  const auto is_spawned = [&] {
    const watch::Snapshot seen = observer.look(host::self());
    const watch::SeenProcess* process = find(seen, child.id());
    return process != nullptr && process->spawned_child;
  };
  REQUIRE(eventually(is_spawned));
  CHECK(is_spawned());
  const std::vector<std::string> words = host::command_line_of(child.pid());
  REQUIRE(::write(go[1], "\n", 1) == 1);
  REQUIRE(eventually([&] { return runs_anew(child.pid(), words); }));
  for (int look = 0; look < 3; ++look) CHECK(is_spawned());
  for (const int end : go) ::close(end);
}
