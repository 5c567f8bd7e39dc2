#include <boost/asio/io_context.hpp>
#include <memory>
#include <utility>

#include "errand.h"
#include "makers.h"
#include "notice.h"
#include "records.h"
#include "safelaunch/base/disk_queue.h"
#include "safelaunch/base/format.h"
#include "tcp_board.h"
#include "tcp_host.h"

// Every agent begins as one whose node does not keep the board, and looks into the folder whenever
// it connects. Where it may keep the board and finds none, or one that has not answered for long
// enough, it keeps one itself, and has another board from then on.
namespace safelaunch::agree {
namespace {

constexpr Duration kRemovesWithin{1'000};

/// A notice that is still there is all that a board here remembers.
BoardConfig without_memory(BoardConfig config) {
  config.memory_folder.clear();
  return config;
}

class FileBoard final : public Board, Board::Listener {
 public:
  FileBoard(boost::asio::io_context& io, const BoardConfig& config, Board::Listener& listener)
      : io_(io),
        config_(without_memory(config)),
        listener_(listener),
        errand_(io),
        board_(std::make_unique<TcpBoard>(io, config_, static_cast<Board::Listener&>(*this),
                                          [this](const Dialer::Found& found) { find(found); })) {}

  ~FileBoard() override {
    errand_.stop();
    board_.reset();
    (void)disk_.drain(kRemovesWithin);
  }

  void claim(const Claim& claim) override {
    claim_ = claim;
    folder_.emplace(config_.address.folder, claim.job, config_.token);
    board_->claim(claim);
  }
  void publish(std::string text) override { board_->publish(std::move(text)); }
  void say(Word word) override { board_->say(std::move(word)); }
  void leave(std::function<void()> left) override {
    may_keep_ = false;
    board_->leave(std::move(left));
  }

 private:
  /// What the folder's thread brings: nullopt, where it is still busy.
  using Answer = std::optional<Result<std::optional<Notice>>>;

  [[nodiscard]] static std::optional<Error> trouble_of(const Answer& answer) {
    if (!answer) return waits("cannot be found: the file system of the folder does not answer");
    return answer->has_error() ? std::optional(answer->error()) : std::nullopt;
  }

  [[nodiscard]] static Error waits(const char* why) { return {Errc::peer_lost, why}; }

  [[nodiscard]] bool may_keep() const { return may_keep_ && claim_.seat.value_or(0) == 0; }

  void hear(const BoardEvent& event) override {
    const auto* unreachable = std::get_if<Unreachable>(&event);
    if (unreachable == nullptr) may_keep_ = false;  // there is a board
    if (!may_keep() || !known_) return listener_.hear(event);
    listener_.hear(
        Unreachable{fmt::format("{}; this node keeps the board if no earlier one answers within {}",
                                unreachable->why, describe_duration(silence()))});
  }

  void find(const Dialer::Found& found) {
    errand_.run([folder = *folder_] { return folder.newest(); },
                [this, found](const Answer& answer) {
                  const auto trouble = trouble_of(answer);
                  if (!trouble) return consider(**answer, found);
                  known_.reset();
                  found(*trouble);
                });
  }

  void consider(const std::optional<Notice>& newest, const Dialer::Found& found) {
    if (!known_ || !newest || known_->id != newest->id) tries_ = 0;
    known_ = newest;
    if (newest && tries_++ == newest->endpoints.size()) silent_since_ = Clock::now();
    if (may_keep() && (!newest || has_been_silent())) return keep(newest, found);
    if (newest) return found(newest->endpoints);
    found(waits("is not there: node 0 has not come yet, or has gone"));
  }

  [[nodiscard]] Duration silence() const { return config_.terms.lease + config_.terms.kill_margin; }

  /// The board of the known notice has not answered at any of its addresses, for so long since that
  /// the leases which it gave are over: no rank of its job runs any more.
  [[nodiscard]] bool has_been_silent() const {
    return tries_ > known_->endpoints.size() && Clock::now() - silent_since_ >= silence();
  }

  // The doors are open before others can read of them. Nobody is let in before the claim.
  void keep(const std::optional<Notice>& former, const Dialer::Found& found) {
    auto host = TcpHost::open_at(
        io_, config_, [this] { take_down(); }, listener_);
    if (!host) return found(host.error());
    Notice notice{random_id(), (*host)->endpoints()};
    const auto shared = std::make_shared<std::unique_ptr<TcpHost>>(std::move(*host));
    errand_.run([folder = *folder_, notice, former] { return folder.put(notice, former); },
                [this, shared, found](const Answer& answer) {
                  if (const auto trouble = trouble_of(answer)) return found(*trouble);
                  if (!**answer) return found(waits("is kept by another agent since just now"));
                  kept_ = **answer;
                  if (!may_keep()) return take_down();  // this agent leaves
                  board_ = std::move(*shared);
                  board_->claim(claim_);
                });
  }

  void take_down() {
    if (kept_) (void)disk_.post(0, [folder = *folder_, notice = *kept_] { folder.remove(notice); });
  }

  boost::asio::io_context& io_;
  const BoardConfig config_;
  Board::Listener& listener_;
  Claim claim_;
  std::optional<NoticeFolder> folder_;  ///< from the claim on
  bool may_keep_ = true;                ///< as far as a board has been met
  std::optional<Notice> known_;         ///< the notice that was found last
  std::size_t tries_ = 0;               ///< how often its addresses were handed out
  TimePoint silent_since_{};
  std::optional<Notice> kept_;  ///< that of our own board
  DiskQueue disk_;
  Errand errand_;
  std::unique_ptr<Board> board_;
};

}  // namespace

Result<std::unique_ptr<Board>> make_file_board(boost::asio::io_context& io,
                                               const BoardConfig& config,
                                               Board::Listener& listener) {
  return std::unique_ptr<Board>(std::make_unique<FileBoard>(io, config, listener));
}

}  // namespace safelaunch::agree
