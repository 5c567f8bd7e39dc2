#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "launcher/agree/makers.h"
#include "safelaunch/agree/board.h"

/// Agents at one board, for the tests that every backend has to pass.
namespace safelaunch::agree::testing {

/// The time after which a test has failed; no scene needs a tenth of it.
inline constexpr Duration kLimit{60'000};

/// Listens, and keeps what it is told.
struct Heard final : Board::Listener {
  std::vector<Seat> seats{};
  std::vector<std::string> parked_by{};
  std::vector<TimePoint> confirmations{};
  std::vector<Word> words{};
  std::vector<Word> words_with_seat{};
  std::vector<Standing> standings{};
  std::vector<int> vacancies{};
  std::vector<std::string> unseatings{};
  std::vector<std::string> failures{};
  std::vector<Error> refusals{};
  std::vector<std::string> away{};
  /// Confirmations that came although the agent held no seat, or allow nothing any more.
  int wrong_confirmations = 0;
  bool holds = false;
  Duration lease{};

  void hear(const BoardEvent& event) override {
    std::visit([this](const auto& one) { on(one); }, event);
  }
  void on(const Seated& event) {
    holds = true;
    seats.push_back(event.seat);
  }
  void on(const Parked& event) { parked_by.push_back(event.why); }
  void on(const Confirmed& event) {
    const TimePoint sent = event.sent;
    const TimePoint now = Clock::now();
    if (!holds || sent > now || (!confirmations.empty() && sent < confirmations.back()))
      ++wrong_confirmations;
    confirmations.push_back(sent);
  }
  void on(const WordCame& event) {
    words.push_back(event.word);
    if (holds) words_with_seat.push_back(event.word);
  }
  void on(const StandingCame& event) { standings.push_back(event.standing); }
  void on(const SeatVacated& event) { vacancies.push_back(event.seat); }
  void on(const Unseated& event) {
    holds = false;
    unseatings.push_back(event.why);
  }
  void on(const Unreachable& event) { failures.push_back(event.why); }
  void on(const Refused& event) { refusals.push_back(event.error); }
  void on(const TurnedAway& event) { away.push_back(event.who_and_why); }

  [[nodiscard]] bool heard_word(const std::string& text) const {
    return !words.empty() && words.back().text == text;
  }
  [[nodiscard]] bool heard_of(const std::string& host, const std::string& text) const {
    for (auto one = standings.rbegin(); one != standings.rend(); ++one)
      if (one->host == host) return one->text == text;
    return false;
  }
};

struct Agent {
  Claim claim{};
  Heard heard{};
  std::unique_ptr<Board> board{};

  /// The next word of a leader.
  void say(const std::string& text, std::uint64_t number) const {
    board->say({heard.seats.back().generation, number, text});
  }
};

/// Patient terms: nobody's seat becomes free by itself, however slow the machine is.
inline Terms patient() {
  using namespace std::chrono_literals;
  return {.lease = 300s, .renew_every = 50ms, .kill_margin = 60s};
}

/// Terms under which a seat becomes free soon.
inline Terms short_terms() {
  using namespace std::chrono_literals;
  return {.lease = 1s, .renew_every = 50ms, .kill_margin = 300ms};
}

/// A board of one backend, and the agents at it.
template <class Backend>
class Scene {
 public:
  explicit Scene(Terms terms = patient(), int seats = 2) : terms_(terms), seats_(seats) {}

  [[nodiscard]] bool can_run() {
    const std::string why = backend.why_not();
    if (!why.empty()) WARN("SKIPPED: " << why);
    return why.empty();
  }

  /// An agent that has claimed `seat`. Its host is named after `digit`, its incarnation as well.
  Agent& agent(char digit, std::optional<int> seat,
               const std::function<void(BoardConfig&)>& how = {},
               const std::function<void(Claim&)>& claims = {}) {
    BoardConfig config = backend.config(seat == 0);
    config.terms = terms_;
    if (config.token.empty()) config.token = kToken;
    if (how) how(config);
    Agent& one = *agents_.emplace_back(std::make_unique<Agent>());
    one.heard.lease = config.terms.lease;
    one.claim = {std::string(32, digit), seat, seats_, job, std::string("host-") + digit};
    if (claims) claims(one.claim);
    auto board = backend.make(io, config, one.heard);
    REQUIRE(board.has_value());
    one.board = std::move(*board);
    one.board->claim(one.claim);
    return one;
  }

  /// The same, and it sits.
  Agent& seated(char digit, std::optional<int> seat) {
    Agent& one = agent(digit, seat);
    until([&] { return !one.heard.seats.empty() && !one.heard.confirmations.empty(); });
    return one;
  }

  void until(const std::function<bool()>& done) {
    const TimePoint limit = Clock::now() + kLimit;
    while (!done()) {
      REQUIRE(Clock::now() < limit);
      io.restart();
      io.run_one_for(Duration{20});
    }
  }

  /// Lets `agent` be confirmed a few times more: time for others to do what they must not do.
  void a_while(const Agent& agent) {
    const std::size_t before = agent.heard.confirmations.size();
    until([&] { return agent.heard.confirmations.size() >= before + 5; });
  }

  void leave(Agent& agent) {
    bool left = false;
    agent.board->leave([&] { left = true; });
    until([&] { return left; });
    agent.board.reset();
  }

  static inline const std::string kToken = "the token of this test";
  static inline int scenes = 0;
  /// Of this scene alone: another one in this process may have been left in the middle.
  const std::string job = "job-" + std::to_string(++scenes);
  boost::asio::io_context io;
  Backend backend;

 private:
  Terms terms_;
  int seats_;
  std::vector<std::unique_ptr<Agent>> agents_;
};

}  // namespace safelaunch::agree::testing
