#include "launcher/agree/codec.h"

#include <limits>

#include "catch.h"

namespace safelaunch::agree {
namespace {

template <class Number>
Number again(Number value) {
  const std::string bytes = Writer().number(value).take();
  CHECK(bytes.size() == sizeof(Number));
  Reader reader(bytes);
  const Number read = reader.number<Number>();
  CHECK(reader.whole());
  return read;
}

}  // namespace

TEST_CASE("a number has its greatest byte first, and reads back at its bounds", "[codec]") {
  CHECK(Writer().number(std::uint32_t{0x01020304}).take() == "\1\2\3\4");
  CHECK(Writer().number(-2).take() == "\xff\xff\xff\xfe");
  CHECK(again(std::numeric_limits<std::int64_t>::min()) ==
        std::numeric_limits<std::int64_t>::min());
  CHECK(again(std::numeric_limits<std::uint64_t>::max()) ==
        std::numeric_limits<std::uint64_t>::max());
  CHECK(again(std::uint8_t{255}) == 255);
  CHECK(again(-1) == -1);
}

TEST_CASE("texts of any bytes read back, each with its length", "[codec]") {
  const std::string odd("a\0\xff", 3);
  const std::string bytes = Writer().text(odd).text("").raw("raw").take();
  Reader reader(bytes);
  CHECK(reader.text() == odd);
  CHECK(reader.text().empty());
  CHECK_FALSE(reader.whole());
  CHECK(reader.raw(3) == "raw");
  CHECK(reader.whole());
}

TEST_CASE("once something is missing all that follows reads as empty", "[codec]") {
  const std::string bytes = Writer().number(std::uint32_t{4'000'000'000}).raw("abcdefgh").take();
  Reader reader(bytes);
  CHECK(reader.text().empty());
  CHECK(reader.number<std::uint8_t>() == 0);
  CHECK(reader.raw(0).empty());
  CHECK_FALSE(reader.whole());
}

}  // namespace safelaunch::agree
