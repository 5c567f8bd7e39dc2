// Agents in processes of their own, stopped and killed.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>

#include "board_backends.h"
#include "board_scene.h"
#include "safelaunch/base/unique_fd.h"

namespace safelaunch::agree {
namespace {

using testing::Agent;
using testing::Heard;
using testing::Scene;
using testing::short_terms;

/// In the child: tells each event as a letter, and says one word after the other while it leads.
struct Telling final : Board::Listener {
  int out;
  Board* board = nullptr;
  std::optional<std::uint64_t> generation{};
  std::uint64_t number = 0;

  explicit Telling(int fd) : out(fd) {}
  void tell(char letter) const { (void)!::write(out, &letter, 1); }
  void say_next() {
    if (generation) board->say({*generation, ++number, "of the stopped one"});
  }

  void hear(const BoardEvent& event) override {
    std::visit([this](const auto& one) { on(one); }, event);
  }
  void on(const Seated& event) {
    tell('s');
    if (event.seat.number == 0) generation = event.seat.generation;
    say_next();
  }
  void on(const Parked& /*event*/) const { tell('p'); }
  void on(const Confirmed& /*event*/) const { tell('c'); }
  void on(const WordCame& event) {
    if (event.word.number == number) say_next();
  }
  void on(const Unseated& /*event*/) {
    generation.reset();
    tell('u');
  }
  void on(const Unreachable& /*event*/) const { tell('x'); }
  void on(const Refused& /*event*/) const { tell('r'); }
  void on(const auto& /*event*/) const {}
};

/// An agent in a process of its own. Make it before any board: it forks.
template <class Backend>
class Elsewhere {
 public:
  Elsewhere(Scene<Backend>& scene, int seat) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    said_.reset(ends[0]);
    ::fcntl(said_.get(), F_SETFL, O_NONBLOCK);
    pid_ = ::fork();
    if (pid_ == 0) live(scene, seat, ends[1]);
    ::close(ends[1]);
  }
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;
  ~Elsewhere() { kill(); }

  /// The letters since the last call.
  [[nodiscard]] std::string said() const {
    std::string all;
    char block[4096];
    for (ssize_t got = 0; (got = ::read(said_.get(), block, sizeof block)) > 0;)
      all.append(block, static_cast<std::size_t>(got));
    return all;
  }
  void stop() const {
    ::kill(pid_, SIGSTOP);
    REQUIRE(::waitpid(pid_, nullptr, WUNTRACED) == pid_);
  }
  void go_on() const { ::kill(pid_, SIGCONT); }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  [[noreturn]] static void live(Scene<Backend>& scene, int seat, int out) {
    boost::asio::io_context io;
    Telling telling(out);
    BoardConfig config = scene.backend.config(seat == 0);
    config.terms = short_terms();
    config.token = Scene<Backend>::kToken;
    const auto board = scene.backend.make(io, config, telling);
    if (!board) _exit(1);
    telling.board = board->get();
    (*board)->claim({std::string(32, 'e'), seat, 2, scene.job, "host-elsewhere"});
    boost::asio::steady_timer limit(io, std::chrono::minutes(2));
    limit.async_wait([](auto) { _exit(2); });
    io.run();
    _exit(3);
  }

  pid_t pid_ = -1;
  UniqueFd said_;
};

TEMPLATE_TEST_CASE("a holder that is stopped beyond the lease hears that it is unseated first",
                   "[board]", SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene(short_terms());
  if (!scene.can_run()) return;
  Elsewhere<TestType> stopped(scene, 1);
  Agent& leader = scene.seated('a', 0);
  std::string said;
  scene.until([&] { return (said += stopped.said()).find("c") != std::string::npos; });
  Agent& spare = scene.agent('b', 1);
  stopped.stop();
  (void)stopped.said();

  scene.until([&] { return !spare.heard.confirmations.empty(); });
  stopped.go_on();

  said.clear();
  scene.until([&] { return (said += stopped.said()).find_first_of("uc") != std::string::npos; });
  CHECK(said[said.find_first_of("uc")] == 'u');
  scene.a_while(leader);
  said += stopped.said();
  CHECK(said.find('c') == std::string::npos);
  CHECK(spare.heard.unseatings.empty());
}

TEMPLATE_TEST_CASE("a holder that is stopped and goes on within the lease keeps its seat",
                   "[board]", SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene(short_terms());
  if (!scene.can_run()) return;
  Elsewhere<TestType> stopped(scene, 1);
  scene.seated('a', 0);  // a board may need node 0
  std::string said;
  scene.until([&] { return (said += stopped.said()).find('c') != std::string::npos; });
  stopped.stop();
  (void)stopped.said();
  stopped.go_on();
  said.clear();
  scene.until([&] { return (said += stopped.said()).find_first_of("uc") != std::string::npos; });
  CHECK(said[said.find_first_of("uc")] == 'c');
}

TEMPLATE_TEST_CASE("no word of a leader that was stopped and has been replaced reaches anybody",
                   "[board]", SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene(short_terms());
  if (!scene.can_run()) return;
  if (TestType::kLeaderKeepsBoard) return;  // the board stands still with its leader
  Elsewhere<TestType> stopped(scene, 0);
  Agent& member = scene.agent('a', 1);
  scene.until([&] { return member.heard.heard_word("of the stopped one"); });
  Agent& next = scene.agent('b', 0);
  stopped.stop();
  (void)stopped.said();
  scene.until([&] { return !next.heard.seats.empty() && !next.heard.confirmations.empty(); });
  const std::uint64_t last = next.heard.words.empty() ? 0 : next.heard.words.back().number;
  next.say("of the next one", last + 1);
  stopped.go_on();

  scene.until([&] { return member.heard.heard_word("of the next one"); });
  std::string said;
  scene.until([&] { return (said += stopped.said()).find('u') != std::string::npos; });
  scene.a_while(member);
  CHECK(member.heard.heard_word("of the next one"));
  CHECK(next.heard.heard_word("of the next one"));
  CHECK(next.heard.unseatings.empty());
  CHECK(said.find('c') == std::string::npos);
}

TEMPLATE_TEST_CASE("a killed holder's seat becomes free", "[board]", SAFELAUNCH_BACKENDS) {
  Scene<TestType> scene(short_terms());
  if (!scene.can_run()) return;
  Elsewhere<TestType> killed(scene, 1);
  Agent& leader = scene.seated('a', 0);
  scene.until([&] { return leader.heard.heard_of("host-elsewhere", ""); });
  killed.kill();
  scene.until([&] { return leader.heard.vacancies == std::vector{1}; });
}

}  // namespace
}  // namespace safelaunch::agree
