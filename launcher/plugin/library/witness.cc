#include "witness.h"

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <optional>

#include "safelaunch/base/variable_names.h"

// One lock guards all but the check of the phase, which every send and receive makes. Every
// reported call needs a reported end. If the event cannot be recorded or the thread not started,
// the plugin reports the collective as done, unobserved; otherwise safelaunch would believe that
// the rank hangs.
namespace safelaunch::plugin {
namespace {

constexpr long kMillisecond = 1'000'000;  // ns

// A first collective takes some 100 µs; one that hangs must not cost more than 50 looks a second.
constexpr long kFirstPause = kMillisecond / 10;
constexpr long kLongestPause = 20 * kMillisecond;

// A driver that does not answer must not hold up the end of the process.
constexpr long kLongestFarewell = 100 * kMillisecond;

// The driver's functions run on this stack; our own frames need next to none.
constexpr std::size_t kThreadStack = 256 * 1024;

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::optional<std::uint64_t> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  unsigned value = 0;
  const char* end = text + std::strlen(text);
  const auto read = std::from_chars(text, end, value);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return value;
}

}  // namespace

constinit Witness witness;

class Witness::Lock {
 public:
  explicit Lock(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t& mutex_;
};

// ---- what NCCL tells ----------------------------------------------------------------------------

Communicator* Witness::join(int api, int events, const Communicator& made) {
  // A rank alone in a communicator waits for nobody, and NCCL launches no kernel for it.
  if (!listens() || made.size == 1) return nullptr;
  const Lock lock(mutex_);
  if (!begun_) begin(api);
  if (!listens() || count_ == kMostCommunicators) return nullptr;
  for (std::size_t i = 0; i < count_; ++i)
    several_ranks_ |=
        made.rank >= 0 && communicators_[i].id == made.id && communicators_[i].rank != made.rank;
  Communicator& communicator = communicators_[count_++];
  communicator = made;
  ask(communicator, events);
  tell(communicator);
  return &communicator;
}

void Witness::leave(Communicator& communicator) {
  const Lock lock(mutex_);
  communicator.mask = nullptr;
}

void Witness::begin(int api) {
  begun_ = true;
  const char* address = std::getenv(kHookVariable.data());
  const char* token = std::getenv(kHookTokenVariable.data());
  if (address == nullptr || token == nullptr) return end();
  connection_.introduce(address, token, api);
}

void Witness::call(Communicator& communicator, const CollectiveCall& call) {
  const Lock lock(mutex_);
  if (phase() == Phase::watching) return begin_call(communicator, call);
  // NCCL is called for another group, so the first collective's group is over. No kernel was
  // launched for it, so it took another way, as copies by the copy engine do. Its stream knows when
  // it is done.
  const bool took_another_way =
      phase() == Phase::called && caller_ == &communicator && call.group != call_.group;
  if (took_another_way) follow(call_.stream);
}

void Witness::begin_call(Communicator& communicator, const CollectiveCall& call) {
  if (communicator.rank < 0) communicator.rank = call.rank;
  if (communicator.id == 0) communicator.id = call.communicator;
  const bool followed = call.can_be_followed && event_.prepare();
  tell_call(communicator, call, followed);
  if (!followed) return end();
  caller_ = &communicator;
  call_ = call;
  called_at_ = now_ns();
  phase_ = Phase::called;
}

bool Witness::launching(Communicator& communicator, void* stream) {
  // Checked without a lock, so that sends and receives cost none.
  if (phase() != Phase::called) return false;
  const Lock lock(mutex_);
  if (phase() != Phase::called || caller_ != &communicator) return false;
  communicator.stream = stream;
  return true;
}

void Witness::launched(Communicator& communicator) {
  const Lock lock(mutex_);
  if (phase() == Phase::called && caller_ == &communicator) follow(communicator.stream);
}

// ---- what follows from it -----------------------------------------------------------------------

void Witness::follow(void* stream) {
  event_is_pending_ = event_.record(stream);
  phase_ = Phase::launched;
  ask_nothing_more();
  if (event_is_pending_ && start_thread()) return;
  // We have said that the rank waits, so we must say that it is through, or safelaunch takes it for
  // a hang.
  tell_end(/*observed=*/false);
  end();
}

void Witness::end() {
  phase_ = Phase::over;
  ask_nothing_more();
  connection_.flush();
  connection_.close();
}

void Witness::ask(const Communicator& communicator, int events) {
  __atomic_store_n(communicator.mask, events, __ATOMIC_RELAXED);  // other threads read it
}

// Asks NCCL for nothing more. This happens once, since NCCL's program may unload its library
// afterwards.
void Witness::ask_nothing_more() {
  for (std::size_t i = 0; i < count_; ++i) {
    if (communicators_[i].mask != nullptr) ask(communicators_[i], 0);
    communicators_[i].mask = nullptr;
  }
}

// ---- what we tell -------------------------------------------------------------------------------

// Begins a packet with the rank in the job, which is not the rank in a communicator. Where no
// launcher has told it, the first communicator is taken for the job's.
Packet Witness::packet(const char* event) const {
  Packet packet(event);
  const Communicator& first = communicators_[0];
  if (const auto rank = number_in("RANK")) {
    packet.add_number("rank", *rank);
    if (const auto world = number_in("WORLD_SIZE")) packet.add_number("world", *world);
    if (const auto local = number_in("LOCAL_RANK")) packet.add_number("local_rank", *local);
  } else if (first.rank >= 0 && !several_ranks_) {
    packet.add_number("rank", static_cast<std::uint64_t>(first.rank));
    if (first.size > 0) packet.add_number("world", static_cast<std::uint64_t>(first.size));
  }
  return packet;
}

void Witness::tell(const Communicator& communicator) {
  Packet news = packet("comm");
  if (communicator.id != 0) news.add_number("comm", communicator.id);
  if (communicator.rank >= 0)
    news.add_number("comm_rank", static_cast<std::uint64_t>(communicator.rank));
  if (communicator.size > 0)
    news.add_number("comm_size", static_cast<std::uint64_t>(communicator.size));
  connection_.say(news.add_flag("met", communicator.met));
}

void Witness::tell_call(const Communicator& communicator, const CollectiveCall& call,
                        bool followed) {
  Packet news = packet("coll.issued");
  if (communicator.id != 0) news.add_number("comm", communicator.id);
  connection_.say(
      news.add_text("op", call.op).add_number("count", call.count).add_flag("followed", followed));
}

void Witness::tell_end(bool observed) {
  const std::uint64_t ms = (now_ns() - called_at_) / kMillisecond;
  connection_.say(packet("coll.done")
                      .add_text("op", call_.op)
                      .add_number("ms", ms)
                      .add_flag("observed", observed));
}

// ---- the thread that waits for the event --------------------------------------------------------

bool Witness::start_thread() {
  std::atexit([] { witness.leave_driver(); });
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, kThreadStack);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // The program's signals must go to its own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const auto run = [](void* self) -> void* {
    static_cast<Witness*>(self)->attend();
    return nullptr;
  };
  const int failed = pthread_create(&thread, &attributes, run, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return failed == 0;
}

void Witness::attend() {
  pthread_setname_np(pthread_self(), "safelaunch");
  long pause = kFirstPause;
  while (attend_once()) {
    const timespec wait{0, pause};
    nanosleep(&wait, nullptr);
    pause = pause * 3 / 2 < kLongestPause ? pause * 3 / 2 : kLongestPause;
  }
}

// Does one round of the thread. True if another round is needed.
bool Witness::attend_once() {
  const Lock lock(mutex_);
  if (phase() != Phase::launched) return false;
  if (event_is_pending_) look_at_event();
  if (!connection_.flush() || event_is_pending_) return true;
  end();
  return false;
}

void Witness::look_at_event() {
  const DeviceEvent::State state = event_.state();
  if (state == DeviceEvent::State::pending) return;
  event_.destroy();
  event_is_pending_ = false;
  // A driver that fails has finished no collective; other signs will show the rank's fate.
  if (state == DeviceEvent::State::passed) tell_end(/*observed=*/true);
}

// The process ends. One last look is needed, since a program that does little ends before the
// thread looks again. Afterwards the driver must not be asked any more, because it takes itself
// down.
void Witness::leave_driver() {
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += kLongestFarewell;
  if (until.tv_nsec >= 1'000 * kMillisecond) ++until.tv_sec, until.tv_nsec -= 1'000 * kMillisecond;
  if (pthread_mutex_timedlock(&mutex_, &until) != 0) return;
  if (event_is_pending_) look_at_event();
  if (phase() == Phase::launched) end();
  pthread_mutex_unlock(&mutex_);
}

}  // namespace safelaunch::plugin
