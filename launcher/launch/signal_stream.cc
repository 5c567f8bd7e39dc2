#include "signal_stream.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "inherited.h"

namespace safelaunch::launch {
namespace {

int open_signalfd(const sigset_t& signals) {
  inherited();  // must take the signal mask before we change it
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const int fd = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
  return fd;
}

}  // namespace

SignalStream::SignalStream(boost::asio::io_context& io, const sigset_t& signals, Take take)
    : descriptor_(io, open_signalfd(signals)), take_(std::move(take)) {
  wait();
}

void SignalStream::wait() {
  descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this](const boost::system::error_code& error) {
                           if (error) return;
                           drain();
                           wait();
                         });
}

void SignalStream::drain() {
  std::array<signalfd_siginfo, 8> received;
  for (;;) {
    const ssize_t size = ::read(descriptor_.native_handle(), received.data(), sizeof(received));
    if (size <= 0) return;
    const std::size_t count = static_cast<std::size_t>(size) / sizeof(received[0]);
    for (std::size_t i = 0; i < count; ++i) take_(received[i]);
  }
}

}  // namespace safelaunch::launch
