#include "launcher/agree/tcp_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>

#include "catch.h"
#include "launcher/agree/tcp_board.h"

namespace safelaunch::agree {
namespace {

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

const std::string kServerToken = "the token that all agents share";

/// A board that seats everybody, and counts what it is told.
struct Keeper : TcpServer::Listener {
  void agent_says(TcpServer::Peer peer, const wire::FromAgent& message) override {
    if (const auto* claims = std::get_if<wire::ClaimsSeat>(&message)) {
      claimed.push_back(claims->claim.incarnation);
      server->tell(peer, Seated{{static_cast<int>(claimed.size()), 1}});
    }
    if (const auto* renews = std::get_if<wire::Renews>(&message))
      server->tell(peer, wire::Confirms{renews->number, true});
    if (const auto* publishes = std::get_if<wire::Publishes>(&message))
      published.push_back(publishes->text);
    if (std::holds_alternative<wire::Leaves>(message)) server->tell(peer, wire::LetsGo{});
  }
  void agent_gone(TcpServer::Peer /*peer*/) override { ++gone; }
  void agent_turned_away(const std::string& address, const std::string& why) override {
    turned_away.push_back(address + ": " + why);
  }

  TcpServer* server = nullptr;
  std::vector<std::string> claimed;
  std::vector<std::string> published;
  std::vector<std::string> turned_away;
  int gone = 0;
};

struct Ear : Board::Listener {
  void hear(const BoardEvent& event) override {
    std::visit([this](const auto& one) { on(one); }, event);
  }
  void on(const Seated& event) { seats.push_back(event.seat.number); }
  void on(const Confirmed& /*event*/) { ++confirmations; }
  void on(const WordCame& event) { words.push_back(event.word.text); }
  void on(const Unreachable& event) { unreachable_because.push_back(event.why); }
  void on(const Refused& event) { refusals.push_back(event.error.message); }
  void on(const auto& /*event*/) {}

  std::vector<int> seats;
  std::vector<std::string> words;
  int confirmations = 0;
  std::vector<std::string> unreachable_because;
  std::vector<std::string> refusals;
};

/// A server on a free port of the loopback, and as many agents as a test wants.
struct ServerScene {
  explicit ServerScene(int seats = 4) {
    const auto address = SocketAddress::parse("127.0.0.1", "0");
    server = std::move(TcpServer::open(io, {*address}, keeper).value());
    keeper.server = server.get();
    server->welcome(kServerToken, "job", seats, 10s);
  }

  [[nodiscard]] int port() const { return std::stoi(endpoint_of(address()).port); }
  [[nodiscard]] std::string address() const { return server->endpoints().front(); }

  std::unique_ptr<TcpBoard> agent(Ear& ear, const std::string& name,
                                  const std::string& token = kServerToken,
                                  const std::string& host = {}) {
    BoardConfig config;
    config.address = {Address::Backend::tcp, {host.empty() ? address() : host}};
    config.token = token;
    config.token_from = "the test";
    auto board = std::make_unique<TcpBoard>(io, config, ear);
    board->claim({name, std::nullopt, 4, "job", "host"});
    return board;
  }

  /// Runs the loop until it holds; a busy machine gets its time.
  template <class Condition>
  void until(const Condition& holds) {
    const TimePoint limit = Clock::now() + 60s;
    while (!holds() && Clock::now() < limit) io.run_one_for(100ms);
    REQUIRE(holds());
  }

  boost::asio::io_context io;
  Keeper keeper;
  std::unique_ptr<TcpServer> server;
};

/// A peer that knows nothing of the protocol but what it is given to send.
class Stranger {
 public:
  explicit Stranger(int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  [[nodiscard]] bool connected() const { return connected_; }
  void send(std::string_view bytes) const {
    (void)!::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  /// The bytes that have come by now.
  [[nodiscard]] std::string received() {
    char bytes[4096];
    for (ssize_t got = 0; (got = ::recv(fd_.get(), bytes, sizeof bytes, MSG_DONTWAIT)) > 0;)
      text_.append(bytes, static_cast<std::size_t>(got));
    return text_;
  }
  /// Whether the server has closed the connection.
  [[nodiscard]] bool closed() {
    (void)received();
    char byte = 0;
    const ssize_t got = ::recv(fd_.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    return got == 0 || (got < 0 && errno != EAGAIN);
  }
  /// The body of the greeting, once it is there.
  [[nodiscard]] std::string greeting(ServerScene& scene) {
    scene.until([&] { return received().size() >= 4 + 16 + 1 + 32; });
    return text_.substr(4);
  }

 private:
  UniqueFd fd_;
  bool connected_ = false;
  std::string text_;
};

TEST_CASE("agents with the token are let in, seated and confirmed", "[tcp_server]") {
  ServerScene scene;
  Ear one, two;
  const auto first = scene.agent(one, "a");
  const auto second = scene.agent(two, "b");
  first->publish("text");
  scene.until([&] { return one.confirmations > 0 && two.confirmations > 0; });
  scene.until([&] { return !scene.keeper.published.empty(); });
  CHECK(scene.keeper.claimed.size() == 2);
  CHECK(scene.keeper.published == std::vector<std::string>{"text"});
}

TEST_CASE("an agent with a wrong token is refused, and those with the right one see nothing of it",
          "[tcp_server]") {
  ServerScene scene;
  Ear good, bad;
  const auto honest = scene.agent(good, "a");
  const auto wrong = scene.agent(bad, "b", "another token of some length");
  scene.until([&] { return good.confirmations > 0 && !bad.refusals.empty(); });
  CHECK(scene.keeper.claimed == std::vector<std::string>{"a"});
  CHECK_THAT(bad.refusals[0], ContainsSubstring("token"));
  CHECK(good.unreachable_because.empty());
}

TEST_CASE("the longest text crosses in both directions", "[tcp_server]") {
  ServerScene scene;
  Ear ear;
  const auto agent = scene.agent(ear, "a");
  const std::string longest(kLongestText, 'x');
  agent->publish(longest);
  scene.until([&] { return !scene.keeper.published.empty(); });
  CHECK(scene.keeper.published[0] == longest);
  scene.server->tell(1, WordCame{{1, 1, longest}});
  scene.until([&] { return !ear.words.empty(); });
  CHECK(ear.words[0] == longest);
}

TEST_CASE("an agent comes back by itself when the connection breaks", "[tcp_server]") {
  ServerScene scene;
  Ear ear;
  const auto agent = scene.agent(ear, "a");
  scene.until([&] { return ear.confirmations > 0; });
  scene.server->close(1);
  scene.until([&] { return scene.keeper.claimed.size() == 2 && ear.seats.size() == 2; });
  CHECK(ear.unreachable_because.size() == 1);
}

TEST_CASE("an agent finds a server that comes only later, at the address of an earlier one",
          "[tcp_server]") {
  ServerScene scene;
  Ear ear;
  const int port = scene.port();
  const auto agent = scene.agent(ear, "a");
  scene.until([&] { return ear.confirmations > 0; });
  scene.server.reset();
  scene.until([&] { return ear.unreachable_because.size() >= 2; });
  const auto address = SocketAddress::parse("127.0.0.1", std::to_string(port));
  scene.server = std::move(TcpServer::open(scene.io, {*address}, scene.keeper).value());
  scene.keeper.server = scene.server.get();
  scene.server->welcome(kServerToken, "job", 4, 10s);
  scene.until([&] { return ear.seats.size() == 2; });
}

TEST_CASE("an agent finds the board by its name, and tells a name that nobody knows",
          "[tcp_server]") {
  ServerScene scene;
  Ear one, two;
  const auto named =
      scene.agent(one, "a", kServerToken, "localhost:" + std::to_string(scene.port()));
  const auto lost = scene.agent(two, "b", kServerToken, "no-such-host.invalid:29400");
  scene.until([&] { return one.confirmations > 0 && !two.unreachable_because.empty(); });
  CHECK_THAT(two.unreachable_because[0], ContainsSubstring("knows no-such-host.invalid"));
}

TEST_CASE("an agent holds one descriptor, however often it had to connect", "[tcp_server]") {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  ServerScene scene;
  const auto before = descriptors();
  std::vector<std::unique_ptr<Ear>> ears;
  std::vector<std::unique_ptr<TcpBoard>> agents;
  for (int i = 0; i < 20; ++i) {
    ears.push_back(std::make_unique<Ear>());
    agents.push_back(scene.agent(*ears.back(), std::to_string(i)));
  }
  const auto all_confirmed = [&] {
    return std::ranges::all_of(ears, [](const auto& ear) { return ear->confirmations > 0; });
  };
  scene.until(all_confirmed);
  CHECK(descriptors() == before + 2 * 20);  // both ends are here
}

TEST_CASE("bytes that are no introduction end the connection, and change nothing", "[tcp_server]") {
  ServerScene scene;
  Ear ear;
  const auto honest = scene.agent(ear, "a");
  const std::string bytes =
      GENERATE(std::string("GET / HTTP/1.1\r\n\r\n"), std::string("\xff\xff\xff\xff", 4),
               framed("hello"), framed(std::string(kLongestOfStranger, 'x')));
  Stranger stranger(scene.port());
  stranger.send(bytes);
  scene.until([&] { return stranger.closed() && ear.confirmations > 0; });
  CHECK(scene.keeper.claimed == std::vector<std::string>{"a"});
  CHECK(ear.unreachable_because.empty());
}

TEST_CASE("frames that were captured on another connection open nothing", "[tcp_server]") {
  ServerScene scene;
  Stranger first(scene.port());
  AgentHandshake handshake(kServerToken, "job");
  const std::string introduction = framed(handshake.introduce(first.greeting(scene)).value());
  first.send(introduction);
  scene.until([&] { return first.received().size() > 4 + 16 + 1 + 32 + 4; });
  const std::size_t verdict = 4 + 16 + 1 + 32 + 4;
  Session session = handshake.conclude(first.received().substr(verdict)).value();
  const std::string claim = session.outgoing.close(
      wire::bytes_of(wire::ClaimsSeat{{"captured", std::nullopt, 4, "job", "host"}, {}}));
  first.send(claim);
  scene.until([&] { return scene.keeper.claimed.size() == 1; });

  SECTION("the whole conversation is sent again") {
    Stranger second(scene.port());
    (void)second.greeting(scene);
    second.send(introduction);
    second.send(claim);
    scene.until([&] { return second.received().size() > verdict; });
  }
  SECTION("a frame is sent twice on its own connection") {
    first.send(claim);
    scene.until([&] { return first.closed(); });
    CHECK(scene.keeper.gone == 1);
  }
  SECTION("a frame is altered on its own connection") {
    std::string altered = session.outgoing.close(wire::bytes_of(wire::Publishes{"text"}));
    altered[6] = static_cast<char>(altered[6] ^ 1);
    first.send(altered);
    scene.until([&] { return first.closed(); });
  }
  CHECK(scene.keeper.claimed.size() == 1);
  CHECK(scene.keeper.published.empty());
}

TEST_CASE("a crowd of strangers does not keep an agent out", "[tcp_server]") {
  ServerScene scene;
  std::vector<std::unique_ptr<Stranger>> crowd;
  for (std::size_t i = 0; i < 2 * room_for(4, 1024).all; ++i) {
    crowd.push_back(std::make_unique<Stranger>(scene.port()));
    crowd.back()->send({"\0", 1});  // a frame that never becomes one
    scene.io.poll();
  }
  Ear ear;
  const auto honest = scene.agent(ear, "a");
  scene.until([&] { return ear.confirmations > 0; });
  CHECK(ear.unreachable_because.empty());
  scene.until([&] { return crowd.front()->closed(); });  // the oldest made place
}

TEST_CASE("connections that broke without a word do not keep a new one out", "[tcp_server]") {
  ServerScene scene(1);
  const std::size_t most = room_for(1, 1024).agents;
  std::vector<std::unique_ptr<Stranger>> silent;
  for (std::size_t i = 0; i < most; ++i) {
    silent.push_back(std::make_unique<Stranger>(scene.port()));
    Stranger& one = *silent.back();
    AgentHandshake handshake(kServerToken, "job");
    one.send(framed(handshake.introduce(one.greeting(scene)).value()));
    scene.until([&] { return one.received().size() > 4 + 16 + 1 + 32; });
  }
  Ear ear;
  const auto honest = scene.agent(ear, "a");
  scene.until([&] { return ear.confirmations > 0; });
  CHECK(ear.unreachable_because.empty());
  scene.until([&] { return silent.front()->closed(); });
}

TEST_CASE("a host that drops packets is given up after a moment, and tried again", "[tcp_server]") {
  const UniqueFd door(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto any = SocketAddress::parse("127.0.0.1", "0");
  REQUIRE(::bind(door.get(), any->pointer(), any->size()) == 0);
  REQUIRE(::listen(door.get(), 0) == 0);
  sockaddr_in here{};
  socklen_t size = sizeof here;
  REQUIRE(::getsockname(door.get(), reinterpret_cast<sockaddr*>(&here), &size) == 0);
  const Stranger fills(ntohs(here.sin_port));  // the kernel drops the next ones that come
  ServerScene scene;
  Ear ear;
  const auto agent =
      scene.agent(ear, "a", kServerToken, "127.0.0.1:" + std::to_string(ntohs(here.sin_port)));
  scene.until([&] { return ear.unreachable_because.size() == 2; });
  CHECK_THAT(ear.unreachable_because[0], ContainsSubstring("does not answer"));
}

TEST_CASE("a stranger that proves nothing is closed within seconds", "[tcp_server]") {
  ServerScene scene;
  Stranger stranger(scene.port());
  (void)stranger.greeting(scene);
  scene.until([&] { return stranger.closed(); });
}

TEST_CASE("the server listens on its address alone", "[tcp_server]") {
  ServerScene scene;
  const auto other = SocketAddress::parse("127.0.0.2", std::to_string(scene.port()));
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  CHECK(::connect(fd.get(), other->pointer(), other->size()) != 0);
  CHECK(errno == ECONNREFUSED);
  const auto same = SocketAddress::parse("127.0.0.1", std::to_string(scene.port()));
  const auto second = TcpServer::open(scene.io, {*same}, scene.keeper);
  REQUIRE(second.has_error());
  CHECK(second.error().code == Errc::blocked);
}

TEST_CASE("an address that is not of this host cannot be listened on", "[tcp_server]") {
  boost::asio::io_context io;
  Keeper keeper;
  const auto address = SocketAddress::parse("192.0.2.1", "0");
  CHECK(TcpServer::open(io, {*address}, keeper).has_error());
  CHECK(SocketAddress::parse("0.0.0.0", "1")->is_wildcard());
  CHECK(SocketAddress::parse("::", "1")->is_wildcard());
  CHECK_FALSE(SocketAddress::parse("127.0.0.1", "1")->is_wildcard());
  CHECK_FALSE(SocketAddress::parse("gpu-0", "1").has_value());
}

TEST_CASE("the server's room grows with the nodes, and stays within the descriptors",
          "[tcp_server]") {
  CHECK(room_for(2, 1024).all >= 128);
  CHECK(room_for(10'000, 1'000'000).agents >= 20'000);
  CHECK(room_for(10'000, descriptors_for(10'000)).all == room_for(10'000, 1'000'000).all);
  const ServerRoom tight = room_for(10'000, 1024);
  CHECK(tight.all <= 768);
  CHECK(tight.agents < tight.all);
}

TEST_CASE("a board may be destroyed by what its own listener does", "[tcp_server]") {
  struct Leaving : Ear {
    void hear(const BoardEvent& event) override {
      Ear::hear(event);
      if (!std::holds_alternative<Seated>(event)) return;
      board->publish("not heard any more");
      board.reset();
    }
    std::unique_ptr<TcpBoard> board;
  };
  ServerScene scene;
  Leaving ear;
  ear.board = scene.agent(ear, "a");
  scene.until([&] { return scene.keeper.gone == 1; });
  CHECK(ear.seats.size() == 1);
}

TEST_CASE("an agent that leaves is let go", "[tcp_server]") {
  ServerScene scene;
  Ear ear;
  const auto agent = scene.agent(ear, "a");
  scene.until([&] { return ear.confirmations > 0; });
  bool left = false;
  agent->leave([&] { left = true; });
  scene.until([&] { return left && scene.keeper.gone == 1; });
  CHECK(ear.unreachable_because.empty());
}

}  // namespace
}  // namespace safelaunch::agree
