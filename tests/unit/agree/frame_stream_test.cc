#include "launcher/agree/frame_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>

#include "catch.h"
#include "launcher/agree/dialer.h"

namespace safelaunch::agree {
namespace {

struct Kept : FrameStream::Listener {
  void frame_came(FrameStream& /*stream*/, const std::string& body) override {
    bodies.push_back(body);
  }
  void stream_ended(FrameStream& /*stream*/, const std::string& /*why*/) override { ++ends; }
  std::vector<std::string> bodies;
  int ends = 0;
};

/// A stream, and the bare socket at its other end.
struct Line {
  Line() {
    const UniqueFd door(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto any = SocketAddress::parse("127.0.0.1", "0");
    REQUIRE(::bind(door.get(), any->pointer(), any->size()) == 0);
    REQUIRE(::listen(door.get(), 1) == 0);
    sockaddr_storage here{};
    socklen_t size = sizeof here;
    REQUIRE(::getsockname(door.get(), reinterpret_cast<sockaddr*>(&here), &size) == 0);
    far.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(far.get(), reinterpret_cast<sockaddr*>(&here), size) == 0);
    UniqueFd near(::accept4(door.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    stream = std::make_shared<FrameStream>(io, std::move(near), 1024, kept);
  }
  /// Runs the posted handlers, and none that wait for the sockets.
  void turn() {
    io.restart();
    io.run_one();
  }
  void send_from_far(const std::string& bytes) const {
    REQUIRE(::send(far.get(), bytes.data(), bytes.size(), 0) == std::ssize(bytes));
  }
  void wait_at_far() const {
    pollfd one{far.get(), POLLIN, 0};
    REQUIRE(::poll(&one, 1, 60'000) == 1);
  }

  boost::asio::io_context io;
  Kept kept;
  UniqueFd far;
  std::shared_ptr<FrameStream> stream;
};

TEST_CASE("the last frames are heard though their sender has gone and takes nothing more",
          "[frame_stream]") {
  Line line;
  line.send_from_far(framed("the last word"));
  line.stream->send(framed("not read"));
  line.turn();
  line.wait_at_far();
  line.far.reset();  // bytes that it has not read: the connection is reset
  line.stream->send(framed("in vain"));
  line.turn();
  line.stream->start();
  line.io.restart();
  line.io.run();
  CHECK(line.kept.bodies == std::vector<std::string>{"the last word"});
  CHECK(line.kept.ends == 1);
}

TEST_CASE("a frame is delivered when the other side's kernel has it", "[frame_stream]") {
  Line line;
  line.stream->send(framed("text"));
  CHECK_FALSE(line.stream->delivered());
  line.turn();
  line.wait_at_far();
  CHECK(line.stream->delivered());
  CHECK(line.stream->waiting() == 0);
}

TEST_CASE("a stream that is closed by its listener hands on nothing more", "[frame_stream]") {
  struct Closing : Kept {
    void frame_came(FrameStream& stream, const std::string& body) override {
      Kept::frame_came(stream, body);
      stream.close();
    }
  };
  Line line;
  Closing closing;
  UniqueFd ends[2];
  int pair[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
  ends[0].reset(pair[0]);
  const auto stream = std::make_shared<FrameStream>(line.io, UniqueFd(pair[1]), 1024, closing);
  const std::string both = framed("one") + framed("two");
  REQUIRE(::send(ends[0].get(), both.data(), both.size(), 0) == std::ssize(both));
  stream->start();
  line.io.run();
  CHECK(closing.bodies == std::vector<std::string>{"one"});
  CHECK(closing.ends == 0);
}

}  // namespace
}  // namespace safelaunch::agree
