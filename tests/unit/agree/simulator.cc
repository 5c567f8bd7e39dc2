// Agents, their ranks and guardians, their connections and the board, in simulated time. A fault
// is a plain event like all others. What must hold is checked where it could break.
#include "simulator.h"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "launcher/agree/board_core.h"
#include "safelaunch/agree/agent_machine.h"
#include "safelaunch/base/format.h"

namespace safelaunch::agree {
namespace {

using namespace std::chrono_literals;
using Peer = BoardCore::Peer;

// Shorter than the real ones, so that a schedule is short.
constexpr Terms kTerms{.lease = 3s, .renew_every = 1s, .kill_margin = 1s};
constexpr Duration kStartWithin = 8s;
constexpr Duration kFaults = 14s;  ///< no fault begins later, and all are healed soon after
constexpr Duration kHealed = 15s;
constexpr Duration kLongest = 150s;  ///< by then all must be over
constexpr Duration kAgreeWithin = 2s;
constexpr Duration kSlowestKill = 500ms;
constexpr Duration kAnswerWithin = 1500ms;  ///< a connection without an answer is given up

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}
  std::uint64_t next() {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return state_;
  }
  int below(int most) { return static_cast<int>(next() % static_cast<std::uint64_t>(most)); }
  bool chance(int percent) { return below(100) < percent; }
  Duration up_to(Duration most) { return Duration(below(static_cast<int>(most.count()) + 1)); }

 private:
  std::uint64_t state_;
};

enum class Direction { none, to_board, to_agent, both };

class Simulation {
 public:
  Simulation(std::uint64_t seed, const Bugs& bugs, Tell tell)
      : random_(seed), bugs_(bugs), tells_(tell == Tell::all) {}

  Played play() {
    set_up();
    while (!queue_.empty() && played_.violation.empty()) {
      Task task = std::move(const_cast<Task&>(queue_.top()));
      queue_.pop();
      now_ = task.at;
      if (now_ > kLongest) {
        violate("not over after " + describe_duration(kLongest) + still_there());
        break;
      }
      ++played_.events;
      task.run();
      check_agreement();
      if (all_over()) break;
    }
    if (played_.violation.empty()) check_end();
    return std::move(played_);
  }

 private:
  struct Task {
    Duration at;
    std::uint64_t order;
    std::function<void()> run;
    bool operator<(const Task& other) const {
      return std::tie(other.at, other.order) < std::tie(at, order);
    }
  };

  enum class Ranks { none, alive, ending };

  /// One safelaunch: its process, its ranks, its connection.
  struct Agent {
    int id = 0;
    int host = 0;
    Claim claim;
    std::optional<AgentMachine> machine;
    double rate = 1;  ///< of its clock
    bool alive = true;
    bool paused = false;
    bool over = false;
    bool parked = false;
    bool left = false;
    std::optional<EndHere> end;
    std::deque<std::function<void()>> missed;  ///< while it was paused
    std::uint64_t wakes = 0;                   ///< the newest wake-up; earlier ones do not count
    // Its run.
    int attempt = 0;
    bool wants = false;
    NodeNews news;
    // Its ranks.
    Ranks ranks = Ranks::none;
    int runs = 0;             ///< counts its starts
    bool unreported = false;  ///< the agent has not heard of their end yet
    std::pair<std::uint64_t, int> of{};
    int seat_of_ranks = -1;
    Duration held_until{};
    // Its connection.
    Peer peer = 0;  ///< 0: none
    bool connecting = false;
    bool wants_board = false;
    bool seated = false;
    std::optional<std::string> text;
    std::optional<Word> word;
    bool says_again = false;
    std::map<std::uint64_t, Duration> asked;
    std::uint64_t questions = 0;
    Duration answered{};
    Duration last_in{}, last_out{};  ///< no message overtakes another
    Direction cut = Direction::none;
    Duration cut_until{};
    std::pair<std::uint64_t, std::uint64_t> heard{};
    std::uint64_t generation = 0;  ///< of the word that it has heard last, as it has heard it
  };

  // Time.
  void at(Duration when, std::function<void()> run) {
    queue_.push({std::max(when, now_), ++order_, std::move(run)});
  }
  void in(Duration delay, std::function<void()> run) { at(now_ + delay, std::move(run)); }
  TimePoint clock_of(const Agent& agent) const {
    return TimePoint{} + 1h * (agent.id + 1) +
           Duration(static_cast<std::int64_t>(static_cast<double>(now_.count()) * agent.rate));
  }
  /// When that clock shows the time.
  Duration when(const Agent& agent, TimePoint time) const {
    const auto local =
        std::chrono::duration_cast<Duration>(time - TimePoint{}) - 1h * (agent.id + 1);
    return Duration(static_cast<std::int64_t>(static_cast<double>(local.count()) / agent.rate) + 1);
  }
  TimePoint board_clock() const {
    return TimePoint{} +
           Duration(static_cast<std::int64_t>(static_cast<double>(now_.count()) * board_rate_));
  }

  // Setting up.
  void set_up() {
    seats_ = 2 + random_.below(3);
    on_node_0_ = random_.chance(60);
    slowest_message_ = random_.chance(50) ? 20ms : 300ms;
    apart_ = random_.chance(5);
    board_rate_ = 0.99 + 0.0002 * random_.below(101);
    if (!on_node_0_) open_board(EarlierLife{});
    for (int host = 0; host < seats_; ++host)
      if (!random_.chance(3)) add_agent(host, random_.up_to(2s));
    for (int i = random_.below(5); i > 0; --i) at(random_.up_to(kFaults), [this] { fail(); });
    at(kHealed, [this] { heal(); });
  }

  void add_agent(int host, Duration delay) {
    const int id = static_cast<int>(agents_.size());
    agents_.push_back(std::make_unique<Agent>());
    Agent& agent = *agents_.back();
    agent.id = id;
    agent.host = host;
    agent.rate = 0.99 + 0.0002 * random_.below(101);
    agent.claim.incarnation = "i" + std::to_string(id);
    if (host < seats_ && (host == 0 || !random_.chance(10))) agent.claim.seat = host;
    agent.claim.seats = seats_;
    agent.claim.job = "j";
    agent.claim.host = "h" + std::to_string(host);
    AgentConfig config;
    config.claim = agent.claim;
    config.terms = kTerms;
    if (bugs_.lease_ignored) config.terms.lease = 1h;
    config.start_within = kStartWithin;
    if (apart_) config.apart_after = 3s;
    config.seed = random_.next();
    agent.machine.emplace(config);
    in(delay, [this, &agent] {
      if (!agent.alive) return;
      if (on_node_0_ && agent.host == 0 && !board_) begin_board(agent);
      hand(agent, Joins{});
    });
    in(delay + random_.up_to(2s), [this, &agent] { hand(agent, NewsHere{agent.news}); });
  }

  // The board.
  void open_board(const EarlierLife& earlier) {
    Terms terms = kTerms;
    if (bugs_.no_kill_margin) terms.kill_margin = 0ms;
    board_.emplace(seats_, terms,
                   bugs_.board_forgets ? EarlierLife{{}, earlier.generation} : earlier);
    note("the board opens");
    wake_board();
  }
  void begin_board(Agent& keeper) {
    keeper_ = &keeper;
    open_board(earlier_);
  }
  void close_board(bool in_order) {
    if (!board_) return;
    // As TcpHost: a board that ends while others sit keeps its memory of them.
    earlier_ =
        in_order && !board_->anybody_seated()
            ? EarlierLife{{}, board_->generation()}
            : EarlierLife{board_clock() + kTerms.lease + kTerms.kill_margin, board_->generation()};
    board_.reset();
    keeper_ = nullptr;
    ++board_lives_;
    note("the board ends");
    for (const auto& agent : agents_)
      if (agent->peer != 0)
        in(random_.up_to(100ms), [this, &one = *agent, peer = agent->peer] {
          if (one.peer == peer) broken(one, "connection reset");
        });
  }
  [[nodiscard]] bool board_paused() const { return keeper_ != nullptr && keeper_->paused; }
  void at_board(const std::function<void()>& run) {
    if (!board_) return;
    if (board_paused())
      keeper_->missed.push_back([this, run, life = board_lives_] {
        if (life == board_lives_) run();
      });
    else
      run();
  }
  void tell(std::vector<BoardCore::Told> told) {
    for (BoardCore::Told& one : told) send_to_agent(one.to, std::move(one.message));
    wake_board();
  }
  void wake_board() {
    if (!board_ || !board_->deadline()) return;
    const auto local = std::chrono::duration_cast<Duration>(*board_->deadline() - TimePoint{});
    const Duration when(
        static_cast<std::int64_t>(static_cast<double>(local.count()) / board_rate_) + 1);
    if (board_wake_ && *board_wake_ <= when && *board_wake_ > now_) return;
    board_wake_ = when;
    at(when, [this, life = board_lives_] {
      if (life != board_lives_) return;
      board_wake_.reset();
      at_board([this] { tell(board_->time_passed(board_clock())); });
    });
  }

  // Messages. No message overtakes another of its connection; one that is lost comes again later,
  // and keeps those behind it waiting.
  Duration delay() {
    Duration delay = 1ms + random_.up_to(slowest_message_);
    if (now_ < kHealed && random_.chance(2)) delay += 200ms + random_.up_to(800ms);
    return delay;
  }
  bool is_local(const Agent& agent) const { return keeper_ == &agent; }
  Duration arrival(const Agent& agent, Direction direction, Duration& last) {
    Duration when = now_ + (is_local(agent) ? 0ms : delay());
    if (agent.cut == direction || agent.cut == Direction::both)
      when = std::max(when, agent.cut_until + delay());
    return last = std::max(when, last);
  }
  void send_to_board(Agent& agent, wire::FromAgent message) {
    const Duration when = arrival(agent, Direction::to_board, agent.last_out);
    const int copies = random_.chance(2) ? 2 : 1;
    for (int i = 0; i < copies; ++i)
      at(when, [this, peer = agent.peer, message, life = board_lives_] {
        if (life != board_lives_) return;
        at_board([this, peer, message] { tell(board_->on(peer, message, board_clock())); });
      });
  }
  void send_to_agent(Peer peer, wire::FromBoard message) {
    const auto found = agent_of_peer_.find(peer);
    if (found == agent_of_peer_.end() || found->second->peer != peer) return;
    Agent& agent = *found->second;
    if (const auto* seats = std::get_if<wire::Seats>(&message))
      check_seat(agent, seats->seat.number);
    const Duration when = arrival(agent, Direction::to_agent, agent.last_in);
    const bool twice = std::holds_alternative<wire::Tells>(message) && random_.chance(5);
    for (int i = 0; i < (twice ? 2 : 1); ++i)
      at(when, [this, &agent, peer, message] {
        process(agent, [this, &agent, peer, message] {
          if (agent.peer == peer) std::visit([&](const auto& one) { came(agent, one); }, message);
        });
      });
  }

  // An agent's end of a connection.
  void connect(Agent& agent) {
    if (!agent.wants_board || agent.peer != 0 || agent.connecting || !agent.alive) return;
    agent.connecting = true;
    const bool fails = !board_ || agent.cut != Direction::none;
    in(fails ? 300ms : delay() + delay(), [this, &agent, fails] {
      process(agent, [this, &agent, fails] {
        agent.connecting = false;
        if (!agent.wants_board) return;
        if (fails || !board_) return broken(agent, "cannot connect");
        agent.peer = ++peers_;
        agent_of_peer_[agent.peer] = &agent;
        agent.last_in = agent.last_out = now_;
        agent.asked.clear();
        agent.answered = now_;
        agent.says_again = true;
        Terms terms = kTerms;
        if (bugs_.no_kill_margin) terms.kill_margin = 0ms;
        send_to_board(agent, wire::ClaimsSeat{agent.claim, terms});
        renew(agent, agent.peer);
      });
    });
  }
  void renew(Agent& agent, Peer peer) {
    if (agent.peer != peer || !agent.alive) return;
    if (now_ - agent.answered > kAnswerWithin) return broken(agent, "no answer");
    agent.asked[++agent.questions] = now_;
    asked_at_[{agent.id, agent.questions}] = clock_of(agent);
    send_to_board(agent, wire::Renews{agent.questions});
    in(kTerms.renew_every,
       [this, &agent, peer] { process(agent, [this, &agent, peer] { renew(agent, peer); }); });
  }
  void broken(Agent& agent, const std::string& why) {
    const Peer former = std::exchange(agent.peer, 0);
    if (former != 0 && (bugs_.break_frees_seat || random_.chance(50)))
      in(bugs_.break_frees_seat ? 0ms : random_.up_to(3s), [this, former, life = board_lives_] {
        if (life == board_lives_) at_board([this, former] { lose(former); });
      });
    if (agent.over || !agent.alive) return;
    hand(agent, Unreachable{why});
    in(200ms + random_.up_to(500ms),
       [this, &agent] { process(agent, [this, &agent] { connect(agent); }); });
  }
  void lose(Peer peer) {
    if (bugs_.break_frees_seat) return tell(board_->on(peer, wire::Leaves{}, board_clock()));
    board_->gone(peer);
  }

  void came(Agent& agent, const wire::Seats& message) {
    agent.seated = true;
    agent.parked = false;
    if (agent.word && agent.word->generation != message.seat.generation) agent.word.reset();
    if (agent.text) send_to_board(agent, wire::Publishes{*agent.text});
    const std::uint64_t generation = bugs_.generation_stays ? 1 : message.seat.generation;
    hand(agent, Seated{{message.seat.number, generation}});
  }
  void came(Agent& agent, const wire::Parks& message) {
    agent.parked = true;
    agent.seated = false;
    hand(agent, Parked{message.why});
  }
  void came(Agent& agent, const wire::Confirms& message) {
    agent.answered = now_;
    if (agent.asked.erase(message.number) == 0) return;
    const auto asked = asked_at_.extract({agent.id, message.number});
    if (agent.seated && std::exchange(agent.says_again, false) && agent.word)
      send_to_board(agent, wire::Says{*agent.word});
    if (message.holds) hand(agent, Confirmed{asked.mapped()});
  }
  void came(Agent& agent, const wire::Tells& message) {
    Word word = message.word;
    if (agent.word && agent.word->number <= word.number) agent.word.reset();
    agent.heard = {word.generation, word.number};
    if (bugs_.generation_stays) word.generation = 1;
    agent.generation = word.generation;
    hand(agent, WordCame{std::move(word)});
  }
  void came(Agent& agent, const wire::Shows& message) {
    Standing standing = message.standing;
    if (bugs_.nobody_waited_for) {
      NodeNews news;
      news.phase = NodePhase::ready;
      news.heard = agent.heard.second;
      standing.text = to_text(news);
    }
    hand(agent, StandingCame{std::move(standing)});
  }
  void came(Agent& agent, const wire::Vacates& message) { hand(agent, SeatVacated{message.seat}); }
  void came(Agent& agent, const wire::Unseats& message) {
    forget_board(agent);
    hand(agent, Unseated{message.why});
  }
  void came(Agent& agent, const wire::Refuses& message) {
    forget_board(agent);
    violate("refused: " + message.error.message);
  }
  void came(Agent& agent, const wire::LetsGo&) { forget_board(agent); }
  void forget_board(Agent& agent) {
    agent.peer = 0;
    agent.wants_board = agent.seated = false;
    agent.text.reset();
    agent.word.reset();
  }

  // An agent's process.
  void process(Agent& agent, std::function<void()> run) {
    if (!agent.alive) return;
    if (agent.paused)
      agent.missed.push_back(std::move(run));
    else
      run();
  }
  void hand(Agent& agent, AgentEvent event) {
    process(agent, [this, &agent, event = std::move(event)] {
      if (agent.over) return;
      note(agent, event.index());
      auto actions = agent.machine->on(event, clock_of(agent));
      for (const AgentAction& action : actions)
        std::visit([&](const auto& one) { perform(agent, one); }, action);
      if (!agent.over) wake(agent);
    });
  }
  void wake(Agent& agent) {
    const auto deadline = agent.machine->deadline();
    if (!deadline) {
      if (!agent.parked && !agent.unreported && agent.wants_board)
        violate(fmt::format("agent {} waits for nothing", agent.id));
      return;
    }
    if (*deadline <= clock_of(agent)) violate(fmt::format("agent {} turns in circles", agent.id));
    const std::uint64_t number = ++agent.wakes;
    at(when(agent, *deadline), [this, &agent, number] {
      process(agent, [this, &agent, number] {
        if (agent.wakes == number) hand(agent, AgentTimePassed{});
      });
    });
  }

  // What a machine wants.
  void perform(Agent& agent, const ClaimSeat&) {
    agent.wants_board = true;
    connect(agent);
  }
  void perform(Agent& agent, const Publish& publish) {
    agent.text = to_text(publish.news);
    if (agent.peer != 0 && agent.seated) send_to_board(agent, wire::Publishes{*agent.text});
  }
  void perform(Agent& agent, const Say& say) {
    Word word = say.word;
    if (bugs_.generation_stays && board_) word.generation = board_->generation();
    agent.word = word;
    if (agent.peer != 0 && !agent.says_again) send_to_board(agent, wire::Says{word});
  }
  void perform(Agent& agent, const LeaveBoard&) {
    if (agent.peer != 0) send_to_board(agent, wire::Leaves{});
    forget_board(agent);
    if (is_local(agent))
      in(200ms, [this, &agent] {
        if (is_local(agent)) close_board(true);
      });
  }
  void perform(Agent& agent, const StartHere& start) {
    const std::pair attempt(agent.heard.first, start.go.attempt);
    note(fmt::format("agent {} starts {}.{}", agent.id, attempt.first, attempt.second));
    check_start(agent, start.go, attempt);
    ++played_.attempts;
    agent.ranks = Ranks::alive;
    agent.unreported = true;
    agent.of = attempt;
    agent.seat_of_ranks = *agent.machine->seat();
    const int run = ++agent.runs;
    if (agent.machine->leads())
      in(7s, [this, &agent, run] {
        if (agent.runs == run) hand(agent, StopWanted{"a rank hangs"});
      });
    if (random_.chance(15)) return;  // they hang
    const int exit_code = random_.chance(60) ? 0 : 1;
    in(random_.up_to(6s), [this, &agent, run, exit_code] {
      if (agent.runs == run && agent.ranks == Ranks::alive) end_ranks(agent, 0ms, exit_code, true);
    });
  }
  void perform(Agent& agent, const StopHere&) {
    if (agent.ranks == Ranks::alive) end_ranks(agent, random_.up_to(1500ms), 0, false);
  }
  void perform(Agent& agent, const KillHere&) {
    end_ranks(agent, random_.up_to(kSlowestKill), 137, true);
  }
  void perform(Agent& agent, const HoldLease& hold) {
    if (bugs_.no_guardian || bugs_.lease_ignored) return;
    agent.held_until = when(agent, hold.until);
    at(agent.held_until, [this, &agent] {
      if (now_ >= agent.held_until) end_ranks(agent, random_.up_to(kSlowestKill), 137, true);
    });
  }
  void perform(Agent& agent, const AttendHere& attend) {
    agent.news.answered = attend.question;
    in(random_.up_to(500ms), [this, &agent] { hand(agent, NewsHere{agent.news}); });
  }
  void perform(Agent& agent, const ReachOthers&) {
    agent.news.ways = "[]";
    in(random_.up_to(500ms), [this, &agent] { hand(agent, NewsHere{agent.news}); });
  }
  void perform(Agent& agent, const AllReady&) {
    if (std::exchange(agent.wants, true)) return;
    if (random_.chance(50))
      in(random_.up_to(300ms), [this, &agent] { hand(agent, ReachWanted{"[]"}); });
    propose(agent);
  }
  void propose(Agent& agent) {
    Decision go;
    go.order = Order::go;
    go.attempt = ++agent.attempt;
    go.profile = random_.chance(50) ? "basic" : "no-shm";
    go.master_port = 20'000 + random_.below(10'000);
    go.workers = {random_.below(8), random_.below(8)};
    in(random_.up_to(300ms), [this, &agent, go] { hand(agent, AttemptWanted{go}); });
    if (random_.chance(20))
      in(random_.up_to(3s), [this, &agent] { hand(agent, AttentionWanted{true, agent.attempt}); });
  }
  void perform(Agent& agent, const AttemptOverEverywhere& over) {
    bool well = over.lost.empty();
    for (const auto& [seat, news] : over.news) well = well && news.end && news.end->exit_code == 0;
    if (well || agent.attempt >= 3 || (!over.lost.empty() && random_.chance(50))) {
      const int exit_code = well ? 0 : over.lost.empty() ? 1 : 69;
      in(random_.up_to(300ms), [this, &agent, exit_code] {
        hand(agent, EndWanted{exit_code, ""});
      });
    } else {
      propose(agent);
    }
  }
  void perform(Agent& agent, const EndHere& end) {
    if (agent.ranks != Ranks::none)
      violate(fmt::format("agent {} ends while its ranks run", agent.id));
    note(fmt::format("agent {} ends with {}: {}", agent.id, end.exit_code, end.why));
    agent.end = end;
    be_over(agent);
  }
  void perform(Agent& agent, const GoApart&) {
    if (agent.ranks != Ranks::none)
      violate(fmt::format("agent {} goes apart while its ranks run", agent.id));
    be_over(agent);
  }
  void be_over(Agent& agent) {
    agent.over = true;
    ended_at_[agent.id] = now_;
    if (is_local(agent))
      in(200ms, [this, &agent] {
        if (is_local(agent)) close_board(true);
      });
  }
  template <class Told>
  void perform(Agent&, const Told&) {}

  // Ranks.
  void end_ranks(Agent& agent, Duration takes, int exit_code, bool by_itself) {
    if (agent.ranks == Ranks::none) return;
    agent.ranks = Ranks::ending;
    in(takes, [this, &agent, exit_code, by_itself, run = agent.runs] {
      if (agent.runs != run || agent.ranks == Ranks::none) return;
      agent.ranks = Ranks::none;
      process(agent, [this, &agent, exit_code, by_itself] {
        agent.unreported = false;
        hand(agent, AttemptOverHere{{agent.of.second, exit_code, {}}, by_itself});
      });
    });
  }

  // Faults.
  void fail() {
    if (agents_.empty()) return;
    Agent& agent =
        *agents_[static_cast<std::size_t>(random_.below(static_cast<int>(agents_.size())))];
    const Duration lasts = random_.up_to(random_.chance(50) ? 2s : 8s);
    switch (random_.below(8)) {
      case 0: return cut(agent, static_cast<Direction>(1 + random_.below(3)), lasts);
      case 1: return flap(agent, 2 + random_.below(6));
      case 2: return crash(agent);
      case 3: return pause(agent, lasts);
      case 4: return add_agent(agent.host, 0ms);  // a second one for the same node
      case 5: return add_agent(seats_, 0ms);      // a spare
      case 6:
        if (!agent.over && agent.alive) interrupt(agent);
        return;
      default: return on_node_0_ ? crash(*agents_.front()) : restart_board(lasts);
    }
  }
  void cut(Agent& agent, Direction direction, Duration lasts) {
    note(fmt::format("agent {} is cut off", agent.id));
    agent.cut = direction;
    agent.cut_until = std::min(now_ + lasts, kHealed);
    at(agent.cut_until, [this, &agent] {
      if (now_ >= agent.cut_until) agent.cut = Direction::none;
    });
  }
  void flap(Agent& agent, int times) {
    if (times == 0 || now_ >= kFaults) return;
    cut(agent, Direction::both, random_.up_to(900ms));
    in(900ms + random_.up_to(900ms), [this, &agent, times] { flap(agent, times - 1); });
  }
  void crash(Agent& agent) {
    if (!agent.alive || agent.over) return;
    note(fmt::format("agent {} dies", agent.id));
    agent.alive = agent.paused = false;
    agent.missed.clear();
    agent.peer = 0;
    if (is_local(agent)) close_board(false);
    // Its guardian ends the ranks at once, or is gone with the agent, and they end with the lease.
    if (random_.chance(70)) end_ranks(agent, random_.up_to(kSlowestKill), 137, true);
    if (random_.chance(50)) add_agent(agent.host, random_.up_to(4s));
  }
  void pause(Agent& agent, Duration lasts) {
    if (!agent.alive || agent.over || agent.paused) return;
    note(fmt::format("agent {} is stopped", agent.id));
    agent.paused = true;
    at(std::min(now_ + lasts, kHealed), [this, &agent] { go_on(agent); });
  }
  void go_on(Agent& agent) {
    if (!agent.paused) return;
    note(fmt::format("agent {} goes on", agent.id));
    agent.paused = false;
    auto missed = std::exchange(agent.missed, {});
    if (random_.chance(50) && !agent.over) hand(agent, AgentTimePassed{});
    for (const auto& run : missed)
      if (agent.alive) run();
  }
  void interrupt(Agent& agent) {
    note(fmt::format("agent {} gets a signal", agent.id));
    hand(agent, SignalHere{15});
    process(agent, [this, &agent] {
      if (agent.ranks == Ranks::alive) end_ranks(agent, random_.up_to(1s), 143, true);
    });
  }
  void restart_board(Duration lasts) {
    if (!board_) return;
    close_board(false);
    at(std::min(now_ + lasts, kHealed), [this] {
      if (!board_) open_board(earlier_);
    });
  }
  void heal() {
    healed_ = true;
    slowest_message_ = 20ms;
    for (const auto& agent : agents_) {
      agent->cut = Direction::none;
      go_on(*agent);
    }
    if (!on_node_0_ && !board_) open_board(earlier_);
  }

  // What must hold.
  void violate(const std::string& what) {
    if (played_.violation.empty())
      played_.violation = fmt::format("after {} ms: {}", now_.count(), what);
  }
  /// A seat is given away when nothing of its former holder runs any more.
  void check_seat(const Agent& holder, int seat) {
    for (const auto& other : agents_)
      if (other.get() != &holder && other->ranks != Ranks::none && other->seat_of_ranks == seat)
        violate(fmt::format("agent {} gets seat {} while ranks of agent {} run there", holder.id,
                            seat, other->id));
  }
  /// Nothing of another attempt runs on any node, and nothing of the same rank; all start the same.
  void check_start(const Agent& starter, const Decision& go,
                   std::pair<std::uint64_t, int> attempt) {
    for (const auto& other : agents_) {
      if (other->ranks == Ranks::none) continue;
      const bool same_rank = other->seat_of_ranks == *starter.machine->seat();
      if (same_rank || other->of != attempt)
        violate(
            fmt::format("agent {} starts attempt {}.{} of node {} while agent {} runs {}.{} of "
                        "node {}",
                        starter.id, attempt.first, attempt.second, *starter.machine->seat(),
                        other->id, other->of.first, other->of.second, other->seat_of_ranks));
    }
    const std::pair counted(starter.generation, go.attempt);
    const auto terms = std::tuple(go.profile, go.master_port, go.workers);
    const auto [known, is_new] = layouts_.emplace(counted, terms);
    if (!is_new && known->second != terms)
      violate(fmt::format("two layouts of attempt {}.{}", counted.first, counted.second));
  }
  /// After the healing all agents at the board hear the same, within two seconds.
  void check_agreement() {
    if (!healed_ || agreed_) return;
    if (agree()) {
      agreed_ = true;
      played_.agreed = now_ - kHealed;
    } else if (now_ > kHealed + kAgreeWithin) {
      violate("no agreement in time");
    }
  }
  bool agree() const {
    const Agent* leader = nullptr;
    for (const auto& agent : agents_) {
      const bool here = agent->alive && !agent->over && agent->wants_board && board_;
      if (here && agent->peer == 0) return false;
      if (here && agent->machine->leads()) leader = agent.get();
    }
    return std::all_of(agents_.begin(), agents_.end(), [&](const auto& agent) {
      return leader == nullptr || !agent->alive || agent->over || !agent->seated ||
             agent->heard == leader->heard;
    });
  }
  bool all_over() const {
    return healed_ && std::all_of(agents_.begin(), agents_.end(), [](const auto& agent) {
             return (agent->over || !agent->alive) && agent->ranks == Ranks::none;
           });
  }
  /// Those that were together at the end have ended alike; one that was alone says so with 69.
  void check_end() {
    std::map<std::uint64_t, int> codes;
    for (const auto& agent : agents_) {
      if (agent->ranks != Ranks::none) violate(fmt::format("ranks of agent {} live on", agent->id));
      if (agent->alive && !agent->over) violate(fmt::format("agent {} is not over", agent->id));
      if (!agent->end || agent->end->exit_code == 69 || agent->end->exit_code > 128) continue;
      const auto [code, is_new] = codes.emplace(agent->heard.first, agent->end->exit_code);
      if (!is_new && code->second != agent->end->exit_code)
        violate(fmt::format("agent {} ends with {}, and another with {}", agent->id,
                            agent->end->exit_code, code->second));
    }
  }
  std::string still_there() const {
    std::string text;
    for (const auto& agent : agents_)
      if (agent->alive && !agent->over)
        text += fmt::format("; agent {} (parked {}, seated {}, ranks {})", agent->id, agent->parked,
                            agent->seated, static_cast<int>(agent->ranks));
    return text;
  }

  void note(const std::string& line) {
    if (tells_) played_.story += fmt::format("{:6} {}\n", now_.count(), line);
  }
  void note(const Agent& agent, std::size_t event) {
    constexpr std::array kNames{"joins",          "seated",      "parked",      "confirmed",
                                "word",           "standing",    "vacated",     "unseated",
                                "unreachable",    "refused",     "turned away", "news",
                                "attempt wanted", "stop wanted", "end wanted",  "attention",
                                "reach wanted",   "over here",   "signal",      "time"};
    static_assert(kNames.size() == std::variant_size_v<AgentEvent>);
    if (tells_ && event != 3) note(fmt::format("  agent {}: {}", agent.id, kNames[event]));
  }

  Random random_;
  const Bugs bugs_;
  const bool tells_;
  Played played_;
  Duration now_{};
  std::uint64_t order_ = 0;
  std::priority_queue<Task> queue_;

  int seats_ = 0;
  bool on_node_0_ = false;  ///< the board lives and dies with the agent of node 0
  bool apart_ = false;
  bool healed_ = false;
  bool agreed_ = false;
  Duration slowest_message_{};
  std::vector<std::unique_ptr<Agent>> agents_;

  std::optional<BoardCore> board_;
  Agent* keeper_ = nullptr;
  EarlierLife earlier_;
  int board_lives_ = 0;
  double board_rate_ = 1;
  std::optional<Duration> board_wake_;
  Peer peers_ = 0;
  std::map<Peer, Agent*> agent_of_peer_;
  std::map<std::pair<int, std::uint64_t>, TimePoint> asked_at_;
  std::map<int, Duration> ended_at_;
  std::map<std::pair<std::uint64_t, int>, std::tuple<std::string, int, std::vector<int>>> layouts_;
};

}  // namespace

Played play(std::uint64_t seed, const Bugs& bugs, Tell tell) {
  return Simulation(seed, bugs, tell).play();
}

}  // namespace safelaunch::agree
