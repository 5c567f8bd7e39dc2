#include "launcher/probe/worker/orders.h"

#include <unistd.h>

#include <array>

#include "catch.h"
#include "launcher/probe/worker/modes.h"
#include "safelaunch/base/strings.h"

using namespace safelaunch;

using namespace safelaunch::probe;

namespace {

/// The stdin of a rank, into which a test writes. Written bytes are heard at once.
class OrderPipe {
 public:
  OrderPipe() { REQUIRE(::pipe(ends_.data()) == 0); }
  OrderPipe(const OrderPipe&) = delete;
  OrderPipe& operator=(const OrderPipe&) = delete;
  ~OrderPipe() {
    ::close(ends_[0]);
    close();
  }

  [[nodiscard]] Orders orders() const { return Orders(ends_[0]); }
  void write(std::string_view text) const {
    REQUIRE(::write(ends_[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  void close() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

void hear(Orders& orders) {
  orders.listen(std::chrono::microseconds(0));
}

}  // namespace

TEST_CASE("a rank hears each order that safelaunch writes", "[orders]") {
  const OrderPipe pipe;
  Orders orders = pipe.orders();
  hear(orders);
  CHECK(orders.id().empty());
  CHECK_FALSE(orders.may_end());
  CHECK_FALSE(orders.must_abort());
  pipe.write("id c0ffee\nend\n");
  hear(orders);
  CHECK(orders.id() == "c0ffee");
  CHECK(orders.may_end());
  CHECK_FALSE(orders.must_abort());
  pipe.write("abort\n");
  hear(orders);
  CHECK(orders.must_abort());
}

TEST_CASE("an order that comes in pieces is heard when its line is whole", "[orders]") {
  const OrderPipe pipe;
  Orders orders = pipe.orders();
  for (const char piece : std::string("id c0ffee")) {
    pipe.write({&piece, 1});
    hear(orders);
    CHECK(orders.id().empty());
  }
  pipe.write("\nen");
  hear(orders);
  CHECK(orders.id() == "c0ffee");
  CHECK_FALSE(orders.may_end());
  pipe.write("d\n");
  hear(orders);
  CHECK(orders.may_end());
}

TEST_CASE("lines that are no order are passed over", "[orders]") {
  const OrderPipe pipe;
  Orders orders = pipe.orders();
  pipe.write("\nabort now\n abort\nEND\nend \nid\nidc0ffee\n" + std::string(3'000, 'x') + "\n");
  hear(orders);
  CHECK(orders.id().empty());
  CHECK_FALSE(orders.may_end());
  CHECK_FALSE(orders.must_abort());
}

TEST_CASE("an id may be as long as NCCL's, and longer than one read", "[orders]") {
  const OrderPipe pipe;
  Orders orders = pipe.orders();
  const std::string id(9'000, 'a');
  pipe.write("id " + id + "\n");
  for (int i = 0; i < 3; ++i) hear(orders);
  CHECK(orders.id() == id);
}

TEST_CASE("a safelaunch that is gone is an order to abort, after what it still said", "[orders]") {
  OrderPipe pipe;
  Orders orders = pipe.orders();
  pipe.write("id c0ffee\nen");
  pipe.close();
  hear(orders);
  CHECK(orders.id() == "c0ffee");
  CHECK_FALSE(orders.must_abort());
  hear(orders);
  CHECK(orders.must_abort());
  CHECK_FALSE(orders.may_end());  // half a line is no order
}

TEST_CASE("after an order to abort nothing is heard any more", "[orders]") {
  const OrderPipe pipe;
  Orders orders = pipe.orders();
  pipe.write("abort\n");
  hear(orders);
  pipe.write("end\n");
  hear(orders);
  CHECK_FALSE(orders.may_end());
}

TEST_CASE("bytes that were written as two digits each are read back", "[orders]") {
  std::array<char, 256> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i);
  const std::string text = to_hex({bytes.data(), bytes.size()});
  std::array<char, 256> read{};
  CHECK(from_hex(text, read));
  CHECK(read == bytes);
}

TEST_CASE("a text that is not that of so many bytes writes none", "[orders]") {
  std::array<char, 2> bytes{'x', 'y'};
  for (const char* text : {"", "0", "000", "00000", "0g00", "00 0", "00FF", "0x00", "-100"}) {
    INFO(text);
    CHECK_FALSE(from_hex(text, bytes));
    CHECK(bytes == std::array{'x', 'y'});
  }
  CHECK(from_hex("", {}));
}

// ---- the sum of the first all_reduce ------------------------------------------------------------

TEST_CASE("the shares of all ranks make the sum, of whatever number of them", "[shares]") {
  std::int64_t sum = 0;
  for (int ranks = 1; ranks <= 1'000; ++ranks) {
    sum += share_of(ranks - 1);
    if (sum_of_shares(ranks) != sum) FAIL("of " << ranks << " ranks");
  }
}

TEST_CASE("a rank that is left out or counted twice changes the sum", "[shares]") {
  for (int rank = 0; rank < 10'000; ++rank)
    if (share_of(rank) < 1) FAIL("rank " << rank);
}

TEST_CASE("the sum of a hundred thousand ranks is exact in a float, in any order", "[shares]") {
  constexpr int kRanks = 100'000;
  float rising = 0;
  float falling = 0;
  for (int rank = 0; rank < kRanks; ++rank) {
    rising += static_cast<float>(share_of(rank));
    falling += static_cast<float>(share_of(kRanks - 1 - rank));
  }
  CHECK(static_cast<std::int64_t>(rising) == sum_of_shares(kRanks));
  CHECK(static_cast<std::int64_t>(falling) == sum_of_shares(kRanks));
}
