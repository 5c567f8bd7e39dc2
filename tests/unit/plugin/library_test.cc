// The built libsafelaunch-nccl.so, called as NCCL calls it.
#include <dlfcn.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <set>
#include <sstream>

#include "collector.h"
#include "fake_cuda/fake_cuda.h"
#include "fake_nccl.h"
#include "heard.h"

using namespace safelaunch;

using namespace safelaunch::plugin;
using namespace safelaunch::testing;

namespace {

// Handles of CUDA; only their values count.
char a_context;
char a_stream;
char another_stream;

/// The CUDA driver of this process, as a program has it when it comes to NCCL.
FakeCuda& cuda() {
  static void* library = ::dlopen(SAFELAUNCH_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  const auto function = [](const char* name) {
    void* found = ::dlsym(library, name);
    REQUIRE(found != nullptr);
    return found;
  };
  reinterpret_cast<int (*)(void*)>(function("cuCtxSetCurrent"))(&a_context);
  auto* fake = reinterpret_cast<FakeCuda* (*)()>(function("fake_cuda"))();
  fake->event_answer = 600;
  fake->capturing = 0;
  fake->marked = nullptr;
  fake->strict_calls = fake->foreign_calls = 0;
  return *fake;
}

std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> part{};
  while (const std::size_t got = std::fread(part.data(), 1, part.size(), pipe))
    text.append(part.data(), got);
  CHECK(::pclose(pipe) == 0);
  return text;
}

/// A plugin that talks to a collector, with an NCCL of 2.28 or newer and a CUDA driver.
struct Scene {
  explicit Scene(int backlog = 8) : collector(backlog) {}

  FakeCuda& driver = cuda();
  Collector collector;
  LoadedPlugin plugin;
  TableV5& table = plugin.table<TableV5>("ncclProfiler_v5");
  int mask = 0;
};

}  // namespace

// This one comes first, since a libcuda that is loaded once stays.
TEST_CASE("without a CUDA driver a collective is told as issued, and no end is promised",
          "[library]") {
  if (::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) != nullptr) return;
  Collector collector;
  LoadedPlugin plugin;
  int mask = 0;
  NewNccl nccl(plugin.table<TableV5>("ncclProfiler_v5"), mask, 7, 0, 2);
  nccl.all_reduce({.stream = &a_stream});

  expect(collector, "hello");
  expect(collector, "comm");
  const watch::HookMessage issued = expect(collector, "coll.issued");
  CHECK(reached(issued) == std::vector{Stage::communicator});
  CHECK(entered(issued).empty());
  CHECK(mask == 0);
  CHECK_FALSE(collector.hear().has_value());
}

TEST_CASE("the library shows NCCL's symbols and nothing else", "[library]") {
  const std::string nm =
      SAFELAUNCH_NM " -D --defined-only --format=posix " SAFELAUNCH_PLUGIN_LIBRARY;
  std::istringstream lines(output_of(nm));
  std::set<std::string> shown;
  for (std::string line; std::getline(lines, line);) {
    shown.insert(line.substr(0, line.find(' ')));
    CHECK(line[line.find(' ') + 1] == 'D');
  }
  CHECK(shown == std::set<std::string>{"ncclProfiler_v1", "ncclProfiler_v2", "ncclProfiler_v3",
                                       "ncclProfiler_v4", "ncclProfiler_v5"});
}

TEST_CASE("the library needs the C library and nothing else", "[library]") {
  const std::string needed =
      output_of(SAFELAUNCH_NM " -D --undefined-only " SAFELAUNCH_PLUGIN_LIBRARY);
  CHECK_THAT(needed, !Catch::Matchers::ContainsSubstring("GLIBCXX") &&
                         !Catch::Matchers::ContainsSubstring("_Z"));
  CHECK(std::filesystem::file_size(SAFELAUNCH_PLUGIN_LIBRARY) < 100'000);
}

TEST_CASE("a worker that safelaunch did not start is left alone", "[library]") {
  LoadedPlugin plugin;
  int mask = 0;
  NewNccl nccl(plugin.table<TableV5>("ncclProfiler_v5"), mask, 7, 0, 2);
  CHECK(mask == 0);
  CHECK_FALSE(nccl.is_watched());
}

TEST_CASE("from NCCL 2.28 on the first collective is followed to its end on the device",
          "[library]") {
  Scene scene;
  NewNccl nccl(scene.table, scene.mask, 0xfedc'ba98'7654'3210, 1, 4);
  CHECK((scene.mask & 64) == 0);  // KernelCh, which has brought jobs down

  const watch::HookMessage hello = expect(scene.collector, "hello");
  CHECK(std::get<watch::HookHello>(hello.body).token == "the token");
  CHECK(std::get<watch::HookHello>(hello.body).pid == ::getpid());
  CHECK(std::get<watch::HookHello>(hello.body).plugin == 5);
  const watch::HookMessage made = expect(scene.collector, "comm");
  const auto& communicator = std::get<watch::HookCommunicator>(made.body);
  CHECK(communicator.id == 0xfedc'ba98'7654'3210);
  CHECK(communicator.rank == 1);
  CHECK(communicator.size == 4);
  CHECK(communicator.met);

  nccl.begin({.stream = &a_stream});
  const watch::HookMessage issued = expect(scene.collector, "coll.issued");
  CHECK(reached(issued) == std::vector{Stage::communicator});
  REQUIRE(entered(issued) == std::vector{Stage::collective});
  CHECK(events_of<StageEntered>(issued).front().detail == "AllReduce");
  CHECK_THAT(scene.collector.raw(), Catch::Matchers::ContainsSubstring("\"count\":1024"));

  nccl.launch({.stream = &a_stream});
  nccl.end();
  CHECK(scene.driver.marked == &a_stream);
  CHECK(scene.mask == 0);
  CHECK_FALSE(scene.collector.has_news());

  scene.driver.event_answer = 0;
  const watch::HookMessage done = expect(scene.collector, "coll.done");
  CHECK(reached(done) == std::vector{Stage::collective});
  CHECK_THAT(scene.collector.raw(), Catch::Matchers::ContainsSubstring("\"observed\":true"));
  CHECK_FALSE(scene.collector.hear().has_value());
  CHECK(scene.driver.events == 0);
  CHECK(scene.driver.strict_calls == 0);
  CHECK(scene.driver.foreign_calls == 0);
}

TEST_CASE("after the first collective NCCL does not call the plugin any more", "[library]") {
  Scene scene;
  NewNccl nccl(scene.table, scene.mask, 7, 0, 2);
  nccl.all_reduce({.stream = &a_stream});
  const int calls = nccl.calls();
  nccl.all_reduce({.stream = &a_stream});
  CHECK(nccl.calls() == calls);

  NewNccl later(scene.table, scene.mask, 8, 0, 2);
  CHECK(scene.mask == 0);
  scene.driver.event_answer = 0;
}

TEST_CASE("a collective under graph capture is not the first one", "[library]") {
  Scene scene;
  NewNccl nccl(scene.table, scene.mask, 7, 0, 2);
  nccl.all_reduce({.stream = &a_stream, .captured = true});
  CHECK(scene.driver.marked == nullptr);
  nccl.all_reduce({.stream = &another_stream});
  CHECK(scene.driver.marked == &another_stream);
  scene.driver.event_answer = 0;

  expect(scene.collector, "hello");
  expect(scene.collector, "comm");
  expect(scene.collector, "coll.issued");
  expect(scene.collector, "coll.done");
}

TEST_CASE("a stream that is being captured after all is not marked", "[library]") {
  Scene scene;
  scene.driver.capturing = 1;
  NewNccl nccl(scene.table, scene.mask, 7, 0, 2);
  nccl.all_reduce({.stream = &a_stream});
  CHECK(scene.driver.marked == nullptr);

  expect(scene.collector, "hello");
  expect(scene.collector, "comm");
  expect(scene.collector, "coll.issued");
  // It was said to wait, so it is said to be through, or it would be taken for a hang.
  CHECK(reached(expect(scene.collector, "coll.done")) == std::vector{Stage::collective});
  CHECK_THAT(scene.collector.raw(), Catch::Matchers::ContainsSubstring("\"observed\":false"));
}

TEST_CASE("a collective without a kernel is followed once the next one comes", "[library]") {
  Scene scene;
  NewNccl nccl(scene.table, scene.mask, 7, 0, 2);
  nccl.begin({.stream = &a_stream});
  nccl.add({.stream = &a_stream});
  nccl.end();
  CHECK(scene.driver.marked == nullptr);

  nccl.begin({.stream = &another_stream});
  CHECK(scene.driver.marked == &a_stream);
  CHECK(scene.mask == 0);
  nccl.end();
  scene.driver.event_answer = 0;
}

TEST_CASE("the kernels of other communicators are not taken for the first collective's",
          "[library]") {
  Scene scene;
  NewNccl first(scene.table, scene.mask, 7, 0, 2);
  NewNccl second(scene.table, scene.mask, 8, 0, 2);
  first.begin({.stream = &a_stream});
  second.all_reduce({.stream = &another_stream});
  CHECK(scene.driver.marked == nullptr);
  first.launch({.stream = &a_stream});
  CHECK(scene.driver.marked == &a_stream);
  scene.driver.event_answer = 0;
}

TEST_CASE("a rank alone in a communicator is nothing to wait for", "[library]") {
  Scene scene;
  NewNccl nccl(scene.table, scene.mask, 7, 0, 1);
  CHECK_FALSE(nccl.is_watched());
  CHECK(scene.mask == 0);
  CHECK_FALSE(scene.collector.has_news());
}

TEST_CASE("a driver that fails has finished no collective", "[library]") {
  Scene scene;
  NewNccl nccl(scene.table, scene.mask, 7, 0, 2);
  nccl.all_reduce({.stream = &a_stream});
  scene.driver.event_answer = 700;  // CUDA_ERROR_ILLEGAL_ADDRESS

  expect(scene.collector, "hello");
  expect(scene.collector, "comm");
  expect(scene.collector, "coll.issued");
  CHECK_FALSE(scene.collector.hear().has_value());
}

// ---- up to 2.27 ---------------------------------------------------------------------------------

TEST_CASE("NCCL 2.23 tells the rank, the communicator and a number for the function", "[library]") {
  Collector collector;
  LoadedPlugin plugin;
  OldNccl<TableV1> nccl{plugin.table<TableV1>("ncclProfiler_v1")};
  REQUIRE(nccl.table.init(&nccl.context, &nccl.mask) == 0);
  CHECK(nccl.mask == (plugin::kGroup | plugin::kCollective));
  REQUIRE(nccl.all_reduce(plugin::CollectiveV1{
      {plugin::kCollective, nullptr, 3}, "", 42, 0, 4, nullptr, nullptr, 1024}));

  expect(collector, "hello");
  const watch::HookMessage made = expect(collector, "comm");
  CHECK_FALSE(
      std::get<watch::HookCommunicator>(made.body).met);  // v1 to v3 come before the bootstrap
  const watch::HookMessage issued = expect(collector, "coll.issued");
  CHECK(issued.rank == Rank{3});
  CHECK(reached(issued) == std::vector{Stage::communicator});
  CHECK(entered(issued).empty());
  CHECK_THAT(collector.raw(), Catch::Matchers::ContainsSubstring("\"op\":\"AllReduce\"") &&
                                  Catch::Matchers::ContainsSubstring("\"comm\":42") &&
                                  Catch::Matchers::ContainsSubstring("\"count\":1024"));
  CHECK(nccl.mask == 0);
}

TEST_CASE("NCCL 2.24 to 2.26 name the function", "[library]") {
  const char* symbol = GENERATE("ncclProfiler_v2", "ncclProfiler_v3");
  Collector collector;
  LoadedPlugin plugin;
  OldNccl<TableV1> nccl{plugin.table<TableV1>(symbol)};
  REQUIRE(nccl.table.init(&nccl.context, &nccl.mask) == 0);
  REQUIRE(nccl.all_reduce(plugin::CollectiveV2{
      {plugin::kCollective, nullptr, 3}, "", 42, 0, "Reduce", nullptr, nullptr, 8}));

  expect(collector, "hello");
  expect(collector, "comm");
  CHECK(expect(collector, "coll.issued").rank == Rank{3});
  CHECK_THAT(collector.raw(), Catch::Matchers::ContainsSubstring("\"op\":\"Reduce\"") &&
                                  Catch::Matchers::ContainsSubstring("\"comm\":42"));
}

TEST_CASE("NCCL 2.27 tells of the communicator once all ranks have met", "[library]") {
  Collector collector;
  LoadedPlugin plugin;
  OldNccl<TableV4> nccl{plugin.table<TableV4>("ncclProfiler_v4")};
  REQUIRE(nccl.table.init(&nccl.context, &nccl.mask, nullptr, 42, 1, 8, 5, nullptr) == 0);
  REQUIRE(nccl.all_reduce(plugin::CollectiveV4{
      {plugin::kCollective, nullptr, 5}, 0, "AllGather", nullptr, nullptr, 8}));

  CHECK(std::get<watch::HookHello>(expect(collector, "hello").body).plugin == 4);
  const watch::HookMessage made = expect(collector, "comm");
  CHECK(std::get<watch::HookCommunicator>(made.body).met);
  CHECK(std::get<watch::HookCommunicator>(made.body).id == 42);
  CHECK(made.rank == Rank{5});
  CHECK(made.world_size == 8);
  expect(collector, "coll.issued");
  CHECK_FALSE(collector.hear().has_value());
  CHECK(nccl.mask == 0);
}

// ---- which rank it is ---------------------------------------------------------------------------

TEST_CASE("the launcher's RANK is the rank, whatever the communicator says", "[library]") {
  const ScopedVariable rank("RANK", "11");
  const ScopedVariable world("WORLD_SIZE", "16");
  const ScopedVariable local("LOCAL_RANK", "3");
  Scene scene;
  NewNccl nccl(scene.table, scene.mask, 7, 1, 4);

  expect(scene.collector, "hello");
  const watch::HookMessage made = expect(scene.collector, "comm");
  CHECK(made.rank == Rank{11});
  CHECK(made.world_size == 16);
  CHECK(made.local_rank == 3);
  CHECK(events_of<RankStarted>(made).front().source == Source::plugin);
}

TEST_CASE("without RANK it is the rank in the first communicator", "[library]") {
  Scene scene;
  NewNccl world(scene.table, scene.mask, 7, 5, 8);
  NewNccl half(scene.table, scene.mask, 8, 1, 4);

  expect(scene.collector, "hello");
  CHECK(expect(scene.collector, "comm").rank == Rank{5});
  const watch::HookMessage second = expect(scene.collector, "comm");
  CHECK(second.rank == Rank{5});
  CHECK(second.world_size == 8);
}

TEST_CASE("a process that is several ranks of a communicator is none of them", "[library]") {
  Scene scene;
  NewNccl one(scene.table, scene.mask, 7, 0, 2);
  NewNccl other(scene.table, scene.mask, 7, 1, 2);

  expect(scene.collector, "hello");
  expect(scene.collector, "comm");
  CHECK_FALSE(expect(scene.collector, "comm").rank.has_value());
}

TEST_CASE("NCCL's mask is written once, since it may be gone when our thread is through",
          "[library]") {
  Scene scene;
  NewNccl nccl(scene.table, scene.mask, 7, 0, 2);
  nccl.all_reduce({.stream = &a_stream});
  CHECK(scene.mask == 0);
  scene.mask = 77;
  scene.driver.event_answer = 0;

  for (const char* news : {"hello", "comm", "coll.issued", "coll.done"})
    expect(scene.collector, news);
  CHECK_FALSE(scene.collector.hear().has_value());  // the thread has ended
  CHECK(scene.mask == 77);
}

TEST_CASE("the mask of a communicator that NCCL has destroyed is left alone", "[library]") {
  Scene scene;
  int of_the_first = 0;
  NewNccl first(scene.table, of_the_first, 7, 0, 2);
  first.destroy();
  of_the_first = 77;
  NewNccl second(scene.table, scene.mask, 8, 0, 2);
  second.all_reduce({.stream = &a_stream});
  CHECK(scene.mask == 0);
  CHECK(of_the_first == 77);
}

// ---- a safelaunch that is not there -------------------------------------------------------------

TEST_CASE("a job goes on without a word when safelaunch is gone", "[library]") {
  const bool before_it_begins = GENERATE(true, false);
  Scene scene;
  if (before_it_begins) scene.collector.hang_up();
  NewNccl nccl(scene.table, scene.mask, 7, 0, 2);
  if (!before_it_begins) {
    expect(scene.collector, "hello");
    scene.collector.hang_up();
  }
  nccl.all_reduce({.stream = &a_stream});
  scene.driver.event_answer = 0;
  CHECK(scene.mask == 0);
}

TEST_CASE("a safelaunch that is too busy to accept is told later", "[library]") {
  Scene scene(/*backlog=*/0);
  const UniqueFd filler(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = std::getenv("SAFELAUNCH_HOOK");
  std::memcpy(address.sun_path + 1, name.data() + 1, name.size() - 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  REQUIRE(::connect(filler.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);

  NewNccl nccl(scene.table, scene.mask, 7, 0, 2);
  nccl.all_reduce({.stream = &a_stream});
  scene.driver.event_answer = 0;
  scene.collector.turn_away_one();

  expect(scene.collector, "hello");
  expect(scene.collector, "comm");
  expect(scene.collector, "coll.issued");
  expect(scene.collector, "coll.done");
}

TEST_CASE("a process that ends in the middle of its first collective ends at once", "[library]") {
  const int answer = GENERATE(600, 0);  // the collective is finished, or not
  Collector collector;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(60);
    FakeCuda& driver = cuda();
    LoadedPlugin plugin;
    int mask = 0;
    NewNccl nccl(plugin.table<TableV5>("ncclProfiler_v5"), mask, 7, 0, 2);
    nccl.all_reduce({.stream = &a_stream});
    driver.event_answer = answer;
    std::exit(3);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 3);
  expect(collector, "hello");
  expect(collector, "comm");
  expect(collector, "coll.issued");
  if (answer == 0) expect(collector, "coll.done");
  CHECK_FALSE(collector.hear().has_value());
}
