#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "folder_member.h"
#include "makers.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/unique_fd.h"

// A file system may hold a call for minutes, so the folder is visited by a thread of its own,
// and the agent's thread only changes wishes and reads events at a desk between the two. A
// thread that is stuck is told of and left behind with its desk; the lease then ends as if
// nobody had answered.
namespace safelaunch::agree {
namespace {

/// leave() is answered after so long, whatever the file system does.
constexpr Duration kLongestLeave{1'000};
constexpr Duration kStuckAfter{2'000};
constexpr Duration kLookForStuck{500};

/// The state that the agent's thread and the folder's thread share. It outlives the board where the
/// folder's thread is stuck in a dead file system.
struct Desk {
  std::mutex mutex;
  std::condition_variable wake;
  Wishes wishes;
  std::uint64_t changes = 0;  ///< how often the wishes have changed
  bool closed = false;
  std::vector<BoardEvent> events;
  bool left = false;
  TimePoint began = Clock::now();  ///< when the present round began, or the last one
  bool busy = false;
  UniqueFd bell{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};

  void ring() const {
    const std::uint64_t one = 1;
    (void)!::write(bell.get(), &one, sizeof one);
  }

  void change(auto how) {
    const std::lock_guard lock(mutex);
    how(wishes);
    ++changes;
    wake.notify_one();
  }
};

/// The folder's thread: round after round.
void visit_folder(const std::shared_ptr<Desk>& desk, FolderMember member) {
  std::unique_lock lock(desk->mutex);
  while (!desk->closed && !desk->left) {
    const Wishes wishes = desk->wishes;
    const std::uint64_t seen = desk->changes;
    desk->began = Clock::now();
    desk->busy = true;
    lock.unlock();
    Outcome round = member.round(wishes);
    lock.lock();
    desk->busy = false;
    desk->left = round.left;
    take_note(desk->wishes, round);
    std::move(round.events.begin(), round.events.end(), std::back_inserter(desk->events));
    if (!round.events.empty() || round.left) desk->ring();
    desk->wake.wait_for(lock, member.pace(), [&] { return desk->closed || desk->changes != seen; });
  }
}

/// The agent's side, on the thread of the io_context.
class FileBoard final : public Board {
 public:
  FileBoard(boost::asio::io_context& io, const BoardConfig& config, Listener& listener)
      : folder_(config.address.folder),
        lease_(config.terms.lease),
        listener_(listener),
        bell_(io),
        stuck_timer_(io),
        leave_timer_(io) {
    bell_.assign(::dup(desk_->bell.get()));
    await_bell();
    look_for_stuck();
    std::thread(visit_folder, desk_, FolderMember(folder_, config.terms, config.token)).detach();
  }

  ~FileBoard() {
    const std::lock_guard lock(desk_->mutex);
    desk_->closed = true;
    desk_->wake.notify_one();
  }

  void claim(const Claim& claim) override {
    desk_->change([&](Wishes& wishes) {
      wishes.claim = claim;
      ++wishes.claims;
    });
  }

  void publish(std::string text) override {
    desk_->change([&](Wishes& wishes) {
      wishes.text = std::make_shared<const std::string>(std::move(text));
      ++wishes.version;
    });
  }

  void say(Word word) override {
    desk_->change([&](Wishes& wishes) { wishes.words.push_back(std::move(word)); });
  }

  void leave(std::function<void()> left) override {
    left_ = std::move(left);
    desk_->change([](Wishes& wishes) { wishes.leaves = true; });
    leave_timer_.expires_after(kLongestLeave);
    leave_timer_.async_wait([this, alive = std::weak_ptr(alive_)](auto error) {
      if (!error && !alive.expired()) gone();
    });
  }

 private:
  void await_bell() {
    bell_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [this, alive = std::weak_ptr(alive_)](auto error) {
                       if (error || alive.expired()) return;
                       await_bell();
                       hear();
                     });
  }

  /// The listener may end the board with any of its calls.
  void hear() {
    std::uint64_t rung = 0;
    (void)!::read(bell_.native_handle(), &rung, sizeof rung);
    const auto [events, is_gone] = [&] {
      const std::lock_guard lock(desk_->mutex);
      return std::pair(std::exchange(desk_->events, {}), desk_->left);
    }();
    const std::weak_ptr alive(alive_);
    for (const BoardEvent& event : events) {
      if (left_) break;
      pass_on(event);
      if (alive.expired()) return;
    }
    if (is_gone) gone();
  }

  /// A confirmation that has waited for longer than it is good for allows nothing any more.
  void pass_on(const BoardEvent& event) {
    const auto* confirmed = std::get_if<Confirmed>(&event);
    if (confirmed == nullptr || Clock::now() - confirmed->sent < lease_) listener_.hear(event);
  }

  void look_for_stuck() {
    stuck_timer_.expires_after(kLookForStuck);
    stuck_timer_.async_wait([this, alive = std::weak_ptr(alive_)](auto error) {
      if (error || alive.expired()) return;
      look_for_stuck();
      tell_stuck();
    });
  }

  void tell_stuck() {
    const bool stuck = [&] {
      const std::lock_guard lock(desk_->mutex);
      return desk_->busy && Clock::now() - desk_->began > kStuckAfter;
    }();
    if (std::exchange(stuck_, stuck) || !stuck || left_) return;
    listener_.hear(Unreachable{
        fmt::format("{} has not answered for {}", folder_, describe_duration(kStuckAfter))});
  }

  void gone() {
    leave_timer_.cancel();
    if (const auto left = std::exchange(left_, {})) left();
  }

  const std::string folder_;
  const Duration lease_;
  Listener& listener_;
  std::shared_ptr<Desk> desk_ = std::make_shared<Desk>();
  std::shared_ptr<char> alive_ = std::make_shared<char>();
  boost::asio::posix::stream_descriptor bell_;
  boost::asio::steady_timer stuck_timer_;
  boost::asio::steady_timer leave_timer_;
  std::function<void()> left_;
  bool stuck_ = false;
};

}  // namespace

Result<std::unique_ptr<Board>> make_file_board(boost::asio::io_context& io,
                                               const BoardConfig& config,
                                               Board::Listener& listener) {
  return std::unique_ptr<Board>(std::make_unique<FileBoard>(io, config, listener));
}

}  // namespace safelaunch::agree
