// Agents of many nodes at a board of tcp, without the runs behind them.
//
//   agents board NODES PORT     node 0, which keeps the board and leads: says "ready"; at the end
//   of its stdin, or a byte
//                               there, "rss KIB"
//   agents flood NUMBER PORT    strangers that idle, send one byte at a time, or announce 4 GB; one
//   that is let go comes back:
//                               says "flooding" when all have been there
//   agents crowd NODES PORT     the other nodes' agents, all in this process: says the seconds from
//   the first claim until
//                               the last of them has heard the word to go
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "safelaunch/agree/board.h"

namespace {

using namespace safelaunch;
using namespace safelaunch::agree;

// About as much as an agent tells of a healthy node.
const std::string kReady(600, 'r');
const std::string kToken = "the token of a benchmark, which everybody may know";

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "agents: %s\n", why.c_str());
  std::_Exit(1);
}

// What befalls no agent of a benchmark ends it.
void fail_if_bad(const BoardEvent& event) {
  if (const auto* parked = std::get_if<Parked>(&event)) fail(parked->why);
  if (const auto* vacated = std::get_if<SeatVacated>(&event))
    fail("vacated " + std::to_string(vacated->seat));
  if (const auto* unseated = std::get_if<Unseated>(&event)) fail(unseated->why);
  if (const auto* refused = std::get_if<Refused>(&event)) fail(refused->error.message);
  if (const auto* away = std::get_if<Unreachable>(&event))
    std::fprintf(stderr, "%s\n", away->why.c_str());
}

BoardConfig config_for(const std::string& port, bool keeps) {
  BoardConfig config;
  config.address = {Address::Backend::tcp, {"127.0.0.1:" + port}};
  config.token = kToken;
  config.keeps_board = keeps;
  return config;
}

Claim claim_of(int node, int nodes) {
  return {std::to_string(node) + "-of-the-bench", node, nodes, "bench",
          "node-" + std::to_string(node)};
}

void allow_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// The most that we ever had in memory.
long resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::atol(line.c_str() + 6);
  return 0;
}

struct Leader : Board::Listener {
  void hear(const BoardEvent& event) override {
    fail_if_bad(event);
    if (const auto* seated = std::get_if<Seated>(&event)) generation = seated->seat.generation;
    const auto* came = std::get_if<StandingCame>(&event);
    if (came == nullptr || came->standing.text.empty() || ++ready < others) return;
    board->say({generation, 1, "go"});
  }
  Board* board = nullptr;
  std::uint64_t generation = 0;
  int ready = 0;
  int others = 0;
};

int keep_board(int nodes, const std::string& port) {
  boost::asio::io_context io;
  Leader leader;
  leader.others = nodes - 1;
  auto board = open_board(io, config_for(port, true), leader);
  if (!board) fail(board.error().message);
  leader.board = board->get();
  (*board)->claim(claim_of(0, nodes));
  std::puts("ready");
  std::fflush(stdout);
  boost::asio::posix::stream_descriptor input(io, ::dup(STDIN_FILENO));
  input.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                   [&](const boost::system::error_code&) {
                     std::printf("rss %ld\n", resident_kib());
                     std::fflush(stdout);
                     io.stop();
                   });
  io.run();
  std::_Exit(0);
}

struct Member : Board::Listener {
  void hear(const BoardEvent& event) override {
    fail_if_bad(event);
    if (std::holds_alternative<Seated>(event)) board->publish(kReady);
    if (!std::holds_alternative<WordCame>(event) || std::exchange(has_gone, true)) return;
    if (++*gone == wanted) io->stop();
  }
  std::unique_ptr<Board> board;
  boost::asio::io_context* io = nullptr;
  int* gone = nullptr;
  int wanted = 0;
  bool has_gone = false;
};

int be_crowd(int nodes, const std::string& port) {
  boost::asio::io_context io;
  int gone = 0;
  std::vector<std::unique_ptr<Member>> members;
  for (int node = 1; node < nodes; ++node) {
    auto member = std::make_unique<Member>();
    auto board = open_board(io, config_for(port, false), *member);
    if (!board) fail(board.error().message);
    member->board = std::move(*board);
    member->io = &io;
    member->gone = &gone;
    member->wanted = nodes - 1;
    members.push_back(std::move(member));
  }
  const TimePoint began = Clock::now();
  for (int node = 1; node < nodes; ++node)
    members[static_cast<std::size_t>(node - 1)]->board->claim(claim_of(node, nodes));
  io.run();
  const std::chrono::duration<double> took = Clock::now() - began;
  std::printf("seconds %.6f\n", took.count());
  std::fflush(stdout);
  std::_Exit(0);
}

/// A connection that proves nothing.
struct Stranger {
  int fd = -1;
};

void come(Stranger& stranger, int number, int port) {
  if (stranger.fd >= 0) ::close(stranger.fd);
  stranger.fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  (void)::connect(stranger.fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  if (number % 3 == 0) (void)!::send(stranger.fd, "\xff\xff\xff\xff", 4, MSG_NOSIGNAL);
}

bool was_let_go(const Stranger& stranger) {
  char bytes[256];
  const ssize_t got = ::recv(stranger.fd, bytes, sizeof bytes, MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN);
}

// A thousandth of them in each step, a step a millisecond: a flood, but not all that a machine can
// do.
int flood(int number, int port) {
  std::vector<Stranger> strangers(static_cast<std::size_t>(number));
  const int step = std::max(1, number / 1000);
  for (long turn = 0;; ++turn) {
    for (int i = 0; i < step; ++i) {
      const int which = static_cast<int>((turn * step + i) % number);
      Stranger& one = strangers[static_cast<std::size_t>(which)];
      if (one.fd < 0 || was_let_go(one)) come(one, which, port);
      if (which % 3 == 1) (void)!::send(one.fd, "\0", 1, MSG_NOSIGNAL);
    }
    if (turn == number / step) std::puts("flooding"), std::fflush(stdout);
    ::usleep(1000);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 64;
  allow_descriptors();
  const std::string_view what = argv[1];
  const int number = std::atoi(argv[2]);
  if (what == "board") return keep_board(number, argv[3]);
  return what == "flood" ? flood(number, std::atoi(argv[3])) : be_crowd(number, argv[3]);
}
