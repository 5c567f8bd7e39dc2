#include <random>

#include "catch.h"
#include "launcher/agree/frames.h"

namespace safelaunch::agree {
namespace {

std::string random_bytes(std::mt19937& chance, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(chance());
  return bytes;
}

std::vector<std::string> read_in_pieces(const std::string& stream, std::size_t piece) {
  FrameReader reader(kLongestBody);
  std::vector<std::string> bodies;
  for (std::size_t at = 0; at < stream.size(); at += piece) {
    std::string_view bytes = std::string_view(stream).substr(at, piece);
    while (!bytes.empty()) {
      auto body = reader.take(bytes);
      REQUIRE(body.has_value());
      if (*body) bodies.push_back(**body);
    }
  }
  CHECK(reader.held() == 0);
  return bodies;
}

TEST_CASE("bodies come out of a stream as they went in, however it is cut", "[frames]") {
  std::mt19937 chance(12);
  const std::vector<std::string> bodies{"one", "", random_bytes(chance, 100'000), "four"};
  std::string stream;
  for (const std::string& body : bodies) stream += framed(body);
  for (const std::size_t piece : {1U, 2U, 3U, 5U, 4096U, 1'000'000U})
    CHECK(read_in_pieces(stream, piece) == bodies);
}

TEST_CASE("a length of 4 GB is refused, and costs nothing", "[frames]") {
  FrameReader reader(kLongestBody);
  std::string_view bytes(
      "\xff\xff\xff\xff"
      "abc",
      7);
  CHECK(reader.take(bytes).has_error());
  CHECK(reader.held() <= 4);
}

TEST_CASE("the longest body is taken, and one byte more is not", "[frames]") {
  FrameReader reader(10);
  const std::string longest = framed(std::string(10, 'x'));
  std::string_view bytes = longest;
  CHECK(reader.take(bytes)->has_value());
  const std::string longer = framed(std::string(11, 'x'));
  bytes = longer;
  CHECK(reader.take(bytes).has_error());
}

TEST_CASE("a slow peer's unfinished frame holds only what has come", "[frames]") {
  FrameReader reader(kLongestBody);
  const std::string frame = framed(std::string(kLongestText, 'x'));
  for (std::size_t at = 0; at < 100; ++at) {
    std::string_view byte = std::string_view(frame).substr(at, 1);
    CHECK_FALSE(reader.take(byte)->has_value());
  }
  CHECK(reader.held() == 100);
}

// The body of a frame that close() made.
std::string body_of(const std::string& frame) {
  return frame.substr(4);
}

TEST_CASE("sealed bodies open in their order alone", "[frames]") {
  const Digest key = random_digest();
  Seal outgoing(key);
  const std::vector<std::string> sealed{body_of(outgoing.close("a")), body_of(outgoing.close("b")),
                                        body_of(outgoing.close("c"))};
  Seal incoming(key);
  CHECK(incoming.open(sealed[0]) == "a");
  SECTION("in order") {
    CHECK(incoming.open(sealed[1]) == "b");
    CHECK(incoming.open(sealed[2]) == "c");
  }
  SECTION("one is sent again") {
    CHECK_FALSE(incoming.open(sealed[0]).has_value());
  }
  SECTION("one is left out") {
    CHECK_FALSE(incoming.open(sealed[2]).has_value());
  }
  SECTION("one comes from another connection") {
    Seal other(random_digest());
    (void)other.close("a");
    CHECK_FALSE(incoming.open(body_of(other.close("b"))).has_value());
  }
}

TEST_CASE("every altered, cut or invented sealed body is refused", "[frames]") {
  const Digest key = random_digest();
  const std::string sealed = body_of(Seal(key).close("the word of the leader"));
  std::mt19937 chance(12);
  const auto opens = [&](std::string_view bytes) { return Seal(key).open(bytes).has_value(); };
  CHECK(opens(sealed));
  for (std::size_t at = 0; at < sealed.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string altered = sealed;
      altered[at] = static_cast<char>(altered[at] ^ (1 << bit));
      REQUIRE_FALSE(opens(altered));
    }
    REQUIRE_FALSE(opens(std::string_view(sealed).substr(0, at)));
  }
  for (int i = 0; i < 100'000; ++i) REQUIRE_FALSE(opens(random_bytes(chance, chance() % 64)));
}

}  // namespace
}  // namespace safelaunch::agree
