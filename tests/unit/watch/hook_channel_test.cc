#include "safelaunch/watch/hook_channel.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "catch.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/host/process_facts.h"

using namespace safelaunch;

using namespace safelaunch::watch;

namespace {

std::string fresh_name() {
  static int count = 0;
  return "@safelaunch-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

// A hook's end of the socket, in this process.
class Client {
 public:
  explicit Client(const std::string& name) : fd_(::socket(AF_UNIX, SOCK_SEQPACKET, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name.front() == '@') address.sun_path[0] = '\0';
    const std::size_t tail = name.front() == '@' ? 0 : 1;
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + tail);
    REQUIRE(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0);
  }
  void say(const std::string& packet) {
    REQUIRE(::send(fd_.get(), packet.data(), packet.size(), MSG_NOSIGNAL) > 0);
  }
  /// False if the other end has closed the connection.
  bool try_say(const std::string& packet) {
    return ::send(fd_.get(), packet.data(), packet.size(), MSG_NOSIGNAL) > 0;
  }
  /// False if the other end has not read what was said before.
  bool offer(const std::string& packet) {
    return ::send(fd_.get(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
  }
  std::string hear() {
    char buffer[4096];
    const ssize_t got = ::recv(fd_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : std::string();
  }
  bool is_closed() {
    char byte = 0;
    const ssize_t got = ::recv(fd_.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    return got == 0 || (got < 0 && errno == ECONNRESET);  // reset: it left something unread
  }
  void hang_up() { fd_.reset(); }

 private:
  UniqueFd fd_;
};

const std::string kHello = R"({"e":"hello","token":"secret","pid":1,"ppid":1})";

/// Hears nothing.
struct Deaf : HookChannel::Listener {
  void on_hook_message(ProcessId, const HookMessage&) override {}
  void on_hook_closed(ProcessId) override {}
  void on_hook_flood(ProcessId) override {}
};

struct Room : HookChannel::Listener {
  boost::asio::io_context io;
  std::vector<std::string> heard;
  std::vector<ProcessId> speakers;
  int closed = 0;
  int floods = 0;
  std::string name = fresh_name();
  std::unique_ptr<HookChannel> channel = make();

  std::unique_ptr<HookChannel> make() {
    return HookChannel::open(io, name, "secret", *this).value();
  }
  void on_hook_message(ProcessId process, const HookMessage& message) override {
    heard.push_back(message.name);
    speakers.push_back(process);
  }
  void on_hook_closed(ProcessId) override { ++closed; }
  void on_hook_flood(ProcessId) override { ++floods; }
  /// Handles what arrives while somebody says so much that it must wait for us.
  void take_flood(Client& flood, int packets) {
    for (int i = 0; i < packets; ++i)
      while (!flood.offer(R"({"e":"start","rank":0})")) io.run_one_for(std::chrono::seconds(1));
  }
  /// Handles all that has arrived. A packet is in the socket when send() returns, so this needs no
  /// waiting.
  void settle() {
    while (io.poll() > 0) {
    }
  }
};

}  // namespace

TEST_CASE("a hook that knows the token is heard, as the process that it is", "[hook_channel]") {
  Room room;
  Client client(room.name);
  client.say(kHello);
  client.say(R"({"e":"start","rank":0,"world":2})");
  room.settle();

  CHECK(room.heard == std::vector<std::string>{"hello", "start"});
  CHECK(room.speakers.back() == host::self());  // by SO_PEERCRED, whatever the hello says
}

TEST_CASE("whoever does not know the token is shown the door", "[hook_channel]") {
  const std::string first = GENERATE(R"({"e":"hello","token":"guess","pid":1})",
                                     R"({"e":"start","rank":0})", "rubbish", R"({"e":"hello"})");
  Room room;
  Client client(room.name);
  client.say(first);
  room.settle();

  CHECK(room.heard.empty());
  CHECK(client.is_closed());
  CHECK(room.closed == 0);
}

TEST_CASE("a peer that sends rubbish after its hello is shown the door", "[hook_channel]") {
  Room room;
  Client client(room.name);
  client.say(kHello);
  client.say("rubbish");
  room.settle();

  CHECK(client.is_closed());
  CHECK(room.closed == 1);
}

TEST_CASE("a packet longer than the protocol allows ends the connection", "[hook_channel]") {
  Room room;
  Client client(room.name);
  client.say(kHello);
  client.say(R"({"e":"start","x":")" + std::string(70'000, 'x') + R"("})");
  room.settle();

  CHECK(room.heard == std::vector<std::string>{"hello"});
  CHECK(client.is_closed());
}

TEST_CASE("a hook is asked and its answer comes as a message", "[hook_channel]") {
  Room room;
  Client client(room.name);
  client.say(kHello);
  room.settle();

  CHECK(room.channel->ask(host::self(), HookQuestion::stack, 7));
  CHECK(client.hear() == R"({"q":"stack","id":7})");
  CHECK_FALSE(room.channel->ask({1, 1}, HookQuestion::stack, 8));
}

TEST_CASE("the end of a process's last connection is told once", "[hook_channel]") {
  Room room;
  Client first(room.name);
  Client second(room.name);
  first.say(kHello);
  second.say(kHello);
  room.settle();

  first.hang_up();
  room.settle();
  CHECK(room.closed == 0);
  second.hang_up();
  room.settle();
  CHECK(room.closed == 1);
}

TEST_CASE("what a process said before its end is heard before its end is told", "[hook_channel]") {
  Room room;
  Client client(room.name);
  client.say(kHello);
  room.settle();
  client.say(R"({"e":"exception","rank":0,"type":"ValueError"})");
  client.hang_up();

  room.channel->drain(host::self());

  CHECK(room.heard.back() == "exception");
}

TEST_CASE("what a process said is heard though it ended without reading our question",
          "[hook_channel]") {
  Room room;
  Client client(room.name);
  client.say(kHello);
  room.settle();
  REQUIRE(room.channel->ask(host::self(), HookQuestion::here, 0));
  client.say(R"({"e":"start"})");
  client.say(R"({"e":"exception","rank":0,"type":"ValueError"})");
  client.hang_up();

  room.settle();

  CHECK(room.heard == std::vector<std::string>{"hello", "start", "exception"});
  CHECK(room.closed == 1);
}

TEST_CASE("a peer that floods does not keep another from being heard", "[hook_channel]") {
  Room room;
  Client flood(room.name);
  Client quiet(room.name);
  flood.say(kHello);
  quiet.say(kHello);
  room.settle();
  // Refilled by the flood whenever it is read: within a few turns the other has its own.
  bool heard_the_other = false;
  quiet.say(R"({"e":"group","rank":1})");
  for (int turn = 0; turn < 100 && !heard_the_other; ++turn) {
    for (int i = 0; i < 8; ++i) flood.say(R"({"e":"start","rank":0})");
    room.io.poll_one();
    heard_the_other = std::find(room.heard.begin(), room.heard.end(), "group") != room.heard.end();
  }
  CHECK(heard_the_other);
}

TEST_CASE("a peer that floods for long is heard within its budget, and its last words in any case",
          "[hook_channel]") {
  Room room;
  Client flood(room.name);
  const TimePoint began = Clock::now();
  flood.say(kHello);
  const int said = 10 * PacketBudget::kAtOnce;
  room.take_flood(flood, said);
  while (!flood.offer(R"({"e":"exception","rank":0,"type":"ValueError"})"))
    room.io.run_one_for(std::chrono::seconds(1));
  while (room.heard.back() != "exception" && Clock::now() < began + std::chrono::minutes(1))
    room.io.run_one_for(std::chrono::seconds(1));
  const std::chrono::duration<double> took = Clock::now() - began;

  CHECK(room.heard.back() == "exception");
  CHECK(static_cast<double>(room.heard.size()) <=
        PacketBudget::kAtOnce + PacketBudget::kASecond * took.count() + 16 * took.count() / 0.02);
  CHECK(room.heard.size() + room.channel->unheard() == static_cast<std::size_t>(said) + 2);
  CHECK(room.floods == 1);
}

TEST_CASE("what a flooding process said last is heard before its end is told", "[hook_channel]") {
  Room room;
  Client flood(room.name);
  flood.say(kHello);
  room.take_flood(flood, 2 * PacketBudget::kAtOnce);
  while (!flood.offer(R"({"e":"exception","rank":0,"type":"ValueError"})"))
    room.io.run_one_for(std::chrono::seconds(1));
  flood.hang_up();
  room.channel->drain(host::self());
  CHECK(room.heard.back() == "exception");
}

TEST_CASE("many silent strangers cannot fill the room", "[hook_channel]") {
  Room room;
  std::vector<Client> strangers;
  for (int i = 0; i < 300; ++i) {
    strangers.emplace_back(room.name);
    room.settle();
  }
  CHECK(std::count_if(strangers.begin(), strangers.end(),
                      [](Client& one) { return one.is_closed(); }) == 300 - 256);

  Client worker(room.name);
  worker.say(kHello);
  room.settle();
  CHECK(room.heard == std::vector<std::string>{"hello"});
}

TEST_CASE("a listener may close the channel from within", "[hook_channel]") {
  boost::asio::io_context io;
  const std::string name = fresh_name();
  struct : Deaf {
    void on_hook_message(ProcessId, const HookMessage&) override {
      ++heard;
      channel.reset();
    }
    std::unique_ptr<HookChannel> channel;
    int heard = 0;
  } closing;
  closing.channel = HookChannel::open(io, name, "secret", closing).value();
  Client client(name);
  client.say(kHello);
  client.try_say(R"({"e":"start","rank":0})");
  while (io.poll() > 0) {
  }
  CHECK(closing.heard == 1);
  CHECK(client.is_closed());
}

TEST_CASE("a socket with a path is removed at the end", "[hook_channel]") {
  boost::asio::io_context io;
  const std::string path =
      std::filesystem::temp_directory_path() / ("safelaunch-hook-" + std::to_string(::getpid()));
  Deaf deaf;
  auto channel = HookChannel::open(io, path, "secret", deaf).value();
  { Client client(path); }
  channel.reset();
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a socket that cannot be made is an error that names it", "[hook_channel]") {
  boost::asio::io_context io;
  for (const std::string& name :
       {std::string(), std::string("/no/such/place"), "@" + std::string(200, 'x')}) {
    Deaf deaf;
    const auto opened = HookChannel::open(io, name, "secret", deaf);
    REQUIRE(opened.has_error());
    CHECK(opened.error().message.find("hook's socket " + name) != std::string::npos);
  }
}

TEST_CASE("the plugin of a process is heard, and never asked", "[hook_channel]") {
  Room room;
  Client hook(room.name);
  hook.say(kHello);
  Client plugin(room.name);
  plugin.say(R"({"e":"hello","token":"secret","pid":1,"plugin":5})");
  plugin.say(R"({"e":"comm","rank":0})");
  room.settle();
  CHECK(room.heard == std::vector<std::string>{"hello", "hello", "comm"});

  CHECK(room.channel->ask(host::self(), HookQuestion::stack, 7));
  CHECK(hook.hear() == hook_request(HookQuestion::stack, 7));
  CHECK(plugin.hear().empty());

  plugin.hang_up();  // as it does after the first collective
  room.settle();
  CHECK(room.closed == 0);
  hook.hang_up();
  room.settle();
  CHECK(room.closed == 1);
}
