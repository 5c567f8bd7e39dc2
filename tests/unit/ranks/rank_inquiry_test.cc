#include "safelaunch/ranks/rank_inquiry.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>

#include "catch.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/watch/hook_channel.h"
#include "temporary_folder.h"

using namespace safelaunch;
using namespace safelaunch::ranks;
using namespace std::chrono_literals;
using safelaunch::testing::TemporaryFolder;

TEST_CASE("where nobody can be asked the answer comes at once, and through the loop",
          "[rank_inquiry]") {
  boost::asio::io_context io;
  DiskQueue disk;
  RankInquiry inquiry(io, disk);
  const std::array ranks{AskedRank{Rank{0}, {71, 7}}};
  const std::array questions{watch::HookQuestion::stack};
  int calls = 0;
  inquiry.begin(nullptr, ranks, questions, {}, 1h, {}, [&](const RankAnswers& answers) {
    ++calls;
    CHECK(answers.stacks.empty());
  });
  CHECK(calls == 0);
  io.run();  // ends long before the hour that an answer would have
  CHECK(calls == 1);
}

namespace {

/// A rank whose hook speaks from this process.
struct HookedRank : watch::HookChannel::Listener {
  boost::asio::io_context io;
  TemporaryFolder folder;
  std::string name = "@safelaunch-inquiry-test-" + std::to_string(::getpid());
  std::unique_ptr<watch::HookChannel> channel =
      watch::HookChannel::open(io, name, "secret", *this).value();
  UniqueFd hook{::socket(AF_UNIX, SOCK_SEQPACKET, 0)};
  ProcessId process;
  DiskQueue disk;
  RankInquiry inquiry{io, disk};
  std::vector<RankAnswers> ended;

  HookedRank() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    REQUIRE(::connect(hook.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0);
    const std::string hello =
        R"({"e":"hello","token":"secret","pid":)" + std::to_string(::getpid()) + R"(,"ppid":1})";
    REQUIRE(::send(hook.get(), hello.data(), hello.size(), MSG_NOSIGNAL) > 0);
    while (process.pid == 0) io.run_one();
  }
  void on_hook_message(ProcessId from, const watch::HookMessage&) override { process = from; }
  void on_hook_closed(ProcessId) override {}
  void on_hook_flood(ProcessId) override {}

  void ask(Duration limit) {
    const std::array ranks{AskedRank{Rank{3}, process}};
    const std::array questions{watch::HookQuestion::stack, watch::HookQuestion::collectives};
    inquiry.begin(channel.get(), ranks, questions, folder / "", limit, {},
                  [this](const RankAnswers& answers) { ended.push_back(answers); });
  }
  void run_until_ended() {
    while (ended.empty()) io.run_one();
  }
  [[nodiscard]] std::string kept(const std::string& file) {
    REQUIRE(disk.drain(20s));
    std::ifstream in(folder / ("evidence/" + file));
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

watch::StackAnswer in_main() {
  watch::StackAnswer answer;
  answer.threads = {{.name = "MainThread", .frames = {"train.py:40 main"}}};
  return answer;
}

}  // namespace

TEST_CASE("a round ends with its last answer, long before its limit", "[rank_inquiry]") {
  HookedRank rank;
  rank.ask(1h);
  rank.inquiry.answered(rank.process, in_main());
  rank.io.poll();
  CHECK(rank.ended.empty());  // the collectives are still to come
  watch::CollectivesAnswer collectives;
  collectives.last = {{"0", 1, "all_reduce", watch::CollectiveSeen::State::enqueued}};
  rank.inquiry.answered(rank.process, collectives);
  rank.run_until_ended();
  REQUIRE(rank.ended.size() == 1);
  CHECK(rank.ended.front().stacks.contains(Rank{3}));
  CHECK(rank.ended.front().collectives.contains(Rank{3}));
}

TEST_CASE("the answers of a round are kept in the attempt's folder", "[rank_inquiry]") {
  HookedRank rank;
  rank.ask(1h);
  rank.inquiry.answered(rank.process, in_main());
  CHECK(rank.kept("rank-3.stack") == "thread MainThread (innermost last)\n  train.py:40 main\n");
  CHECK(rank.kept("collectives").empty());
  watch::CollectivesAnswer collectives;
  collectives.last = {{"0", 1, "all_reduce", watch::CollectiveSeen::State::enqueued}};
  rank.inquiry.answered(rank.process, collectives);
  rank.run_until_ended();
  CHECK(rank.kept("collectives").starts_with("rank 3: all_reduce, collective 1 of group 0"));
}

TEST_CASE("a disk that does not answer holds up no round", "[rank_inquiry]") {
  HookedRank rank;
  std::atomic<bool> frozen = true;
  REQUIRE(rank.disk.post(0, [&] { frozen.wait(true); }));
  rank.ask(1ms);
  rank.inquiry.answered(rank.process, in_main());
  rank.run_until_ended();
  CHECK(rank.ended.front().stacks.contains(Rank{3}));
  frozen = false;
  frozen.notify_all();
  CHECK_FALSE(rank.kept("rank-3.stack").empty());
}

TEST_CASE("a rank that does not answer ends no round, its limit does", "[rank_inquiry]") {
  HookedRank rank;
  rank.ask(1ms);
  rank.inquiry.answered(rank.process, in_main());
  rank.run_until_ended();
  CHECK(rank.ended.front().stacks.contains(Rank{3}));
  CHECK(rank.ended.front().collectives.empty());
}

TEST_CASE("an answer of another process is not kept", "[rank_inquiry]") {
  HookedRank rank;
  rank.ask(1h);
  rank.inquiry.answered({1, 7}, in_main());
  CHECK(rank.kept("rank-3.stack").empty());
}

TEST_CASE("what comes after the end of a round calls nobody again", "[rank_inquiry]") {
  HookedRank rank;
  rank.ask(1ms);
  rank.run_until_ended();
  rank.inquiry.answered(rank.process, in_main());
  rank.inquiry.answered(rank.process, watch::CollectivesAnswer{});
  rank.io.poll();
  CHECK(rank.ended.size() == 1);
}
