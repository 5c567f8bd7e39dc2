#include "name_question.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <system_error>
#include <thread>
#include <utility>

#include "safelaunch/base/unique_fd.h"
#include "safelaunch/host/network.h"

namespace safelaunch::agree {
namespace {

// The thread lives that long at most before it says that it has no answer.
constexpr Duration kAnswersWithin{10'000};

/// Shared with the thread. The write end closes when the thread is done, and that wakes the loop.
struct Answer {
  UniqueFd done;
  std::vector<std::string> addresses;
};

bool ask_in_background(const std::string& name, const std::shared_ptr<Answer>& answer) {
  try {
    std::thread([name, answer] {
      answer->addresses = host::look_up(name, kAnswersWithin).addresses;
      answer->done.reset();
    }).detach();
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

}  // namespace

void NameQuestion::stop() {
  if (wanted_) *wanted_ = false;  // a handler that is queued already cannot be cancelled
  boost::system::error_code ignored;
  pipe_.close(ignored);
}

void NameQuestion::ask(const std::string& name, Answered answered) {
  std::array<int, 2> ends{-1, -1};
  auto answer = std::make_shared<Answer>();
  stop();
  wanted_ = std::make_shared<bool>(true);
  const bool can_wait = ::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0;
  if (can_wait) pipe_.assign(ends[0]);
  answer->done.reset(ends[1]);
  if (!can_wait || !ask_in_background(name, answer)) answer->done.reset();  // the wait ends at once
  pipe_.async_wait(
      boost::asio::posix::stream_descriptor::wait_read,
      [this, answer, wanted = wanted_, answered = std::move(answered)](const auto& /*error*/) {
        if (!*wanted) return;
        stop();
        answered(std::move(answer->addresses));
      });
}

}  // namespace safelaunch::agree
