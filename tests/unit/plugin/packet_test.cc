// The packets of the plugin, which is compiled in here, and the connection over which they go.
#include <fcntl.h>

#include "collector.h"
#include "plugin/library/connection.h"

using namespace safelaunch;

using namespace safelaunch::plugin;
using safelaunch::testing::Collector;

namespace {

/// The fields of a packet behind its name and its time.
std::string fields_of(const Packet& packet) {
  const std::string text(packet.text());
  REQUIRE(text.starts_with(R"({"e":"x","t":)"));
  REQUIRE(text.ends_with("}"));
  const std::size_t comma = text.find(',', text.find("\"t\":"));
  return comma == std::string::npos ? "" : text.substr(comma + 1, text.size() - comma - 2);
}

std::string as_text(std::string_view text) {
  return fields_of(Packet("x").add_text("k", text));
}

/// A connection to safelaunch, introduced.
Connection introduced() {
  Connection connection;
  connection.introduce(std::getenv("SAFELAUNCH_HOOK"), std::getenv("SAFELAUNCH_HOOK_TOKEN"), 5);
  return connection;
}

int next_descriptor() {
  const int next = ::dup(0);
  ::close(next);
  return next;
}

}  // namespace

TEST_CASE("a packet holds its fields in their order", "[packet]") {
  CHECK(fields_of(Packet("x")) == "");
  CHECK(fields_of(Packet("x")
                      .add_number("n", 0)
                      .add_number("m", 18'446'744'073'709'551'615U)
                      .add_flag("yes", true)
                      .add_flag("no", false)
                      .add_text("op", "AllReduce")) ==
        R"("n":0,"m":18446744073709551615,"yes":true,"no":false,"op":"AllReduce")");
}

TEST_CASE("a text keeps what needs no escape in JSON, and 64 characters of it", "[packet]") {
  CHECK(as_text("") == R"("k":"")");
  CHECK(as_text("a b~") == R"("k":"a b~")");
  CHECK(as_text("\"q\\\n\t\x7f\xc3\xa4z") == R"("k":"qz")");
  CHECK(as_text(std::string(64, 'a')) == "\"k\":\"" + std::string(64, 'a') + "\"");
  CHECK(as_text(std::string(65, 'a')) == "\"k\":\"" + std::string(64, 'a') + "\"");
}

TEST_CASE("a field without room is left out whole, and a shorter one still finds its place",
          "[packet]") {
  const std::string long_text(50, 'a');
  Packet packet("x");
  for (int i = 0; i < 6; ++i) packet.add_text("k", long_text);
  const std::size_t full = packet.text().size();
  packet.add_text("k", long_text);
  CHECK(packet.text().size() == full);
  packet.add_number("n", 7);
  CHECK(fields_of(packet).ends_with("\"n\":7"));
  for (int i = 0; i < 100; ++i) packet.add_number("n", 7);
  CHECK(packet.text().size() <= 384);
  CHECK(fields_of(packet).ends_with("\"n\":7"));
}

TEST_CASE("who was not introduced has nobody to talk to", "[packet]") {
  Connection connection;
  connection.say(Packet("x"));
  CHECK(connection.flush());
}

TEST_CASE("an address that no socket can have loses what is said, without harm", "[packet]") {
  const std::string too_long = "@" + std::string(200, 'a');
  for (const char* address : {"", "@", too_long.c_str(), "/proc/nonexistent/socket"}) {
    INFO(address);
    Connection connection;
    connection.introduce(address, "the token", 5);
    connection.say(Packet("x"));
    CHECK(connection.flush());
  }
}

TEST_CASE("the first packet says who speaks, and opens the connection", "[packet]") {
  Collector collector;
  Connection connection = introduced();
  CHECK_FALSE(collector.has_news());
  connection.say(Packet("x").add_number("n", 7));
  const auto hello = collector.hear();
  REQUIRE(hello);
  const auto& said = std::get<watch::HookHello>(hello->body);
  CHECK(said.token == "the token");
  CHECK(said.pid == ::getpid());
  CHECK(said.parent == ::getppid());
  CHECK(said.plugin == 5);
  REQUIRE(collector.hear());
  CHECK(collector.raw().ends_with(",\"n\":7}"));
  CHECK(connection.flush());
  connection.close();
  CHECK_FALSE(collector.hear());
}

TEST_CASE("a descriptor that the program has taken for itself is neither written to nor closed",
          "[packet]") {
  Collector collector;
  Connection connection = introduced();
  const int ours = next_descriptor();
  connection.say(Packet("x"));
  int ends[2];
  REQUIRE(::pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
  REQUIRE(::dup2(ends[1], ours) == ours);
  connection.say(Packet("x"));
  CHECK(connection.flush());
  connection.close();
  char byte = 0;
  CHECK(::read(ends[0], &byte, 1) == -1);
  CHECK(::write(ours, "a", 1) == 1);
  for (const int fd : {ours, ends[0], ends[1]}) ::close(fd);
}

TEST_CASE("what is said after safelaunch has gone is dropped", "[packet]") {
  Collector collector;
  Connection connection = introduced();
  connection.say(Packet("x"));
  collector.hang_up();
  connection.say(Packet("x"));
  connection.say(Packet("x"));
  CHECK(connection.flush());
}
