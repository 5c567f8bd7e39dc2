#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "catch.h"
#include "safelaunch/nccl/ras.h"

using namespace safelaunch;

using namespace safelaunch::nccl;
using boost::asio::ip::tcp;
using namespace std::chrono_literals;

namespace {

/// In place of NCCL: takes one connection, reads the question, answers, and hangs up.
class Answering {
 public:
  Answering(boost::asio::io_context& io, std::string answer)
      : acceptor_(io, {boost::asio::ip::address_v4::loopback(), 0}),
        peer_(io),
        answer_(std::move(answer)) {
    acceptor_.async_accept(peer_, [this](const auto& error) {
      if (!error) read();
    });
  }
  [[nodiscard]] std::string address() const {
    return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }
  std::string question;

 private:
  void read() {
    question.resize(kRasQuestion.size());
    boost::asio::async_read(peer_, boost::asio::buffer(question), [this](const auto&, auto) {
      if (answer_.empty()) return;  // a stopped process answers nothing
      boost::asio::async_write(peer_, boost::asio::buffer(answer_),
                               [this](const auto&, auto) { peer_.close(); });
    });
  }

  tcp::acceptor acceptor_;
  tcp::socket peer_;
  std::string answer_;
};

struct Asked {
  std::optional<std::string> answer;
  int times = 0;
  void operator()(const std::string& text) {
    answer = text;
    ++times;
  }
};

}  // namespace

TEST_CASE("RAS is asked once, and its whole answer comes back", "[nccl]") {
  boost::asio::io_context io;
  Answering server(io, std::string(20'000, 'x') + "\nWarnings\n");
  Asked asked;
  const RasQuestion question(io, server.address(), 30s, std::ref(asked));

  io.run();

  CHECK(server.question == kRasQuestion);
  REQUIRE(asked.times == 1);
  CHECK(asked.answer->size() == 20'010);
}

TEST_CASE("a process that does not answer is given up", "[nccl]") {
  boost::asio::io_context io;
  Answering server(io, "");
  Asked asked;
  const RasQuestion question(io, server.address(), 50ms, std::ref(asked));

  io.run();

  CHECK(asked.answer == "");
}

TEST_CASE("where nobody listens the answer is empty, and comes at once", "[nccl]") {
  boost::asio::io_context io;
  std::string address;
  { address = Answering(io, "").address(); }
  for (const std::string& nobody : {address, std::string("nonsense"), std::string()}) {
    Asked asked;
    const RasQuestion question(io, nobody, 30s, std::ref(asked));
    io.restart();
    io.run();
    CHECK(asked.answer == "");
  }
}

TEST_CASE("whoever stops asking hears nothing", "[nccl]") {
  boost::asio::io_context io;
  Answering server(io, "late");
  Asked asked;
  { const RasQuestion question(io, server.address(), 30s, std::ref(asked)); }

  io.run_for(0ms);
  io.restart();
  io.poll();

  CHECK(asked.times == 0);
}
