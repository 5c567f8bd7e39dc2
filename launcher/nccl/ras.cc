#include "safelaunch/nccl/ras.h"

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "safelaunch/base/alarm.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "scan.h"

// The answer is text with headlines and indented lines below them. A headline decides what the
// lines below it mean, and headlines that matter are few: processes that are missing or dead, and
// ranks whose collectives differ.
namespace safelaunch::nccl {
namespace {

// Nobody reads more than this, and it bounds the memory whatever answers at that port.
constexpr std::size_t kMost = 1024;

template <class T>
void add(std::vector<T>& list, T one) {
  if (list.size() < kMost) list.push_back(std::move(one));
}

/// Reads "Process 3487984 on node 172.16.64.213 managing GPU 5".
std::optional<RasProcess> process_in(std::string_view line) {
  if (!take(line, "Process ")) return std::nullopt;
  const auto pid = to_number(take_word(line));
  if (!pid || !take(line, "on node ")) return std::nullopt;
  RasProcess process{*pid, std::string(take_word(line)), {}};
  if (take(line, "managing GPUs ") || take(line, "managing GPU ")) process.gpus = line;
  return process;
}

/// Reads the answer line by line. The last headline tells where a line belongs.
class RasReader {
 public:
  void read(std::string_view line) {
    if (!line.starts_with(' ')) return headline(line);
    while (take(line, " ")) continue;
    detail(line);
  }

  [[nodiscard]] RasReport take_report() { return std::move(report_); }

 private:
  enum class Under { nothing, incomplete, dead, incomplete_ranks, mismatch };

  void headline(std::string_view line) {
    if (line.empty()) return;
    const bool of_communicator = line.starts_with('#');
    if (line == "INCOMPLETE")
      under_ = Under::incomplete;
    else if (line == "DEAD")
      under_ = Under::dead;
    else if (of_communicator && line.ends_with(" INCOMPLETE"))
      under_ = Under::incomplete_ranks;
    else if (of_communicator && line.ends_with(" MISMATCH"))
      under_ = Under::mismatch;
    else
      under_ = Under::nothing;
    // This section is the last, and missing where the answer was cut.
    report_.whole = report_.whole || line == "Warnings";
    counting_ = false;
  }

  void detail(std::string_view line) {
    switch (under_) {
      case Under::nothing: return;
      case Under::incomplete:
        if (auto process = process_in(line)) add(report_.missing, std::move(*process));
        return;
      case Under::dead:
        if (auto process = process_in(line)) add(report_.dead, std::move(*process));
        return;
      case Under::incomplete_ranks:
        if (const auto rank = number_of(line, "Rank")) add(report_.missing_ranks, Rank{*rank});
        return;
      case Under::mismatch: return mismatch(line);
    }
  }

  void mismatch(std::string_view line) {
    constexpr std::string_view kHead = "Communicator ranks have different ";
    if (take(line, kHead)) {
      counting_ = line.ends_with(" operation counts");
      if (counting_) add(report_.diverging, RasDivergence{std::string(take_word(line)), {}});
      return;
    }
    if (!counting_ || report_.diverging.empty()) return;
    auto& groups = report_.diverging.back().groups;
    const bool told = line.find(" launched ") != std::string_view::npos;
    const auto launched = launched_in(line);
    if (take(line, "Rank ")) {
      const auto rank = to_number(take_word(line));
      if (!rank) return;
      if (told && launched) add(groups, {*launched, 1, {}});
      if (!groups.empty()) add(groups.back().named, Rank{*rank});
    } else if (told && launched) {
      if (const auto ranks = to_number(take_word(line))) add(groups, {*launched, *ranks, {}});
    }
  }

  /// Reads "… launched up to operation 5 …" or "… not launched any operations".
  static std::optional<std::int64_t> launched_in(std::string_view line) {
    if (line.find(" not launched any operations") != std::string_view::npos) return 0;
    const auto word = word_after(line, "operation").value_or(line.substr(line.rfind(' ') + 1));
    return to_number<std::int64_t>(word);
  }

  RasReport report_;
  Under under_ = Under::nothing;
  bool counting_ = false;
};

std::string describe(const std::vector<RasProcess>& processes, std::string_view what) {
  std::vector<std::string> words;
  for (const RasProcess& one : processes) {
    const std::string gpus = one.gpus.empty() ? "" : fmt::format(" (GPU {})", one.gpus);
    words.push_back(fmt::format("process {} on {}{} {}", one.pid, one.node, gpus, what));
  }
  return join(words, "; ");
}

std::string who_of(const RasDivergence::Group& group) {
  if (group.named.empty()) return fmt::format("{} ranks", group.ranks);
  std::string text = group.named.size() == 1 ? "rank" : "ranks";
  for (const Rank rank : group.named) text += fmt::format(" {}", rank.value);
  return text;
}

/// The group that has launched most is the rule, so only the others are told.
std::string describe(const RasDivergence& divergence) {
  std::int64_t most = 0;
  for (const auto& group : divergence.groups) most = std::max(most, group.launched);
  std::vector<std::string> words;
  for (const auto& group : divergence.groups) {
    if (group.launched == most) continue;
    words.push_back(fmt::format("{} launched {} of {} {}", who_of(group), group.launched, most,
                                divergence.operation));
  }
  return join(words, "; ");
}

void append(std::string& text, const std::string& more) {
  if (more.empty()) return;
  text += text.empty() ? more : "; " + more;
}

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kLongestAnswer = 1 << 20;

tcp::endpoint endpoint_of(const std::string& address, error_code& error) {
  const std::size_t colon = std::min(address.rfind(':'), address.size());
  const std::string_view digits =
      std::string_view(address).substr(std::min(colon + 1, address.size()));
  const auto port = number_in<std::uint16_t>(digits);
  return {boost::asio::ip::make_address(address.substr(0, colon), error), port};
}

}  // namespace

/// RAS came with 2.24; a query has crashed jobs of 2.26 and 2.27.
bool may_ask_ras(const Version& version) {
  const bool fragile = version.major == 2 && (version.minor == 26 || version.minor == 27);
  return version >= Version{2, 24, 0} && !fragile;
}

RasReport parse_ras(std::string_view answer) {
  RasReader reader;
  while (!answer.empty()) {
    std::string_view line = take_word(answer, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    reader.read(line);
  }
  return reader.take_report();
}

std::string describe(const RasReport& report) {
  std::string text;
  for (const RasDivergence& one : report.diverging) append(text, describe(one));
  append(text, describe(report.dead, "is dead"));
  append(text, describe(report.missing, "does not answer"));
  return text;
}

class RasQuestion::State : public std::enable_shared_from_this<State> {
 public:
  State(boost::asio::io_context& io, OnAnswer on_answer)
      : io_(io), socket_(io), timer_(io), on_answer_(std::move(on_answer)) {}

  void begin(const std::string& address, Duration limit) {
    timer_.set_after(limit, [this] { finish(); });
    error_code wrong;
    const tcp::endpoint endpoint = endpoint_of(address, wrong);
    if (wrong) return finish();
    socket_.async_connect(endpoint, [self = shared_from_this()](const error_code& error) {
      error ? self->finish() : self->ask();
    });
  }

  // Nobody wants the answer any more, but handlers that are under way still hold this object.
  void hang_up() {
    on_answer_ = nullptr;
    finish();
  }

 private:
  void ask() {
    boost::asio::async_write(socket_, boost::asio::buffer(kRasQuestion),
                             [self = shared_from_this()](const error_code& error, std::size_t) {
                               error ? self->finish() : self->read();
                             });
  }

  void read() {
    socket_.async_read_some(boost::asio::buffer(buffer_),
                            [self = shared_from_this()](const error_code& error, std::size_t size) {
                              self->answer_.append(self->buffer_.data(), size);
                              error || self->answer_.size() > kLongestAnswer ? self->finish()
                                                                             : self->read();
                            });
  }

  void finish() {
    if (std::exchange(finished_, true)) return;
    error_code ignored;
    socket_.close(ignored);
    timer_.cancel();
    boost::asio::post(io_, [self = shared_from_this()] {
      if (const OnAnswer call = std::exchange(self->on_answer_, nullptr)) call(self->answer_);
    });
  }

  boost::asio::io_context& io_;
  tcp::socket socket_;
  Alarm timer_;
  OnAnswer on_answer_;
  std::array<char, 4096> buffer_{};
  std::string answer_;
  bool finished_ = false;
};

RasQuestion::RasQuestion(boost::asio::io_context& io, const std::string& address, Duration limit,
                         OnAnswer on_answer)
    : state_(std::make_shared<State>(io, std::move(on_answer))) {
  state_->begin(address, limit);
}

RasQuestion::~RasQuestion() {
  state_->hang_up();
}

}  // namespace safelaunch::nccl
