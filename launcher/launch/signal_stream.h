#pragma once

#include <sys/signalfd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <csignal>
#include <functional>

namespace safelaunch::launch {

/// Reads signals on the io_context; no handler ever runs. It blocks them in the calling thread and
/// leaves them blocked on destruction, since a late signal would otherwise end us. Its callback
/// must not destroy it.
class SignalStream {
 public:
  using Take = std::function<void(const signalfd_siginfo&)>;

  SignalStream(boost::asio::io_context& io, const sigset_t& signals, Take take);
  SignalStream(const SignalStream&) = delete;
  SignalStream& operator=(const SignalStream&) = delete;

 private:
  void wait();
  void drain();

  boost::asio::posix::stream_descriptor descriptor_;
  Take take_;
};

}  // namespace safelaunch::launch
