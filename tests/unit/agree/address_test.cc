#include "catch.h"
#include "safelaunch/agree/board.h"

namespace safelaunch::agree {
namespace {

using Catch::Matchers::ContainsSubstring;

Address good(std::string_view text) {
  const Result<Address> address = parse_address(text);
  INFO(text << ": " << (address ? "" : address.error().message));
  REQUIRE(address.has_value());
  return *address;
}

std::string refusal(std::string_view text) {
  const Result<Address> address = parse_address(text);
  INFO(text);
  REQUIRE(address.has_error());
  CHECK(address.error().code == Errc::usage);
  return address.error().message;
}

TEST_CASE("an address of each backend is read, and written as it was", "[address]") {
  for (const std::string_view text :
       {"tcp://10.0.0.1:29400", "tcp://node-0.job.svc:1", "tcp://[fe80::1%eth0]:29400",
        "etcd://a:2379", "etcd://a:2379,b:2379,c:2379", "file:///shared/run1"})
    CHECK(to_string(good(text)) == text);
  CHECK(good("tcp://a:1").backend == Address::Backend::tcp);
  CHECK(good("etcd://a:1,b:2").hosts == std::vector<std::string>{"a:1", "b:2"});
  CHECK(good("file:///a/b/").folder == "/a/b");
  CHECK(good("tcp://a:1/") == good("tcp://a:1"));
}

TEST_CASE("a wrong address gets the nearest right form", "[address]") {
  const auto [text, meant] = GENERATE(table<std::string_view, std::string>({
      {"tpc://a:1", "tcp://a:1"},
      {"http://a:2379", "etcd://a:2379"},
      {"https://a:2379", "etcd://a:2379"},
      {"ectd://a:2379", "etcd://a:2379"},
      {"a:29400", "tcp://a:29400"},
      {"tcp:a:29400", "tcp://a:29400"},
      {"tcp:/a:29400", "tcp://a:29400"},
      {"/shared/run1", "file:///shared/run1"},
      {"file:/shared/run1", "file:///shared/run1"},
      {"file://shared/run1", "file:///shared/run1"},
      {"tcp://a", "tcp://a:29400"},
      {"etcd://a", "etcd://a:2379"},
      {"tcp://a:0", "tcp://a:29400"},
      {"tcp://a:99999", "tcp://a:29400"},
      {"tcp://a:29400,b:29400", "tcp://a:29400"},
      {"tcp://fe80::1", "tcp://[fe80::1]:29400"},
      {"tcp://[::1]", "tcp://[::1]:29400"},
  }));
  CHECK_THAT(refusal(text), ContainsSubstring("did you mean '" + meant + "'?"));
}

TEST_CASE("an address with no near right form is told which forms there are", "[address]") {
  for (const std::string_view text :
       {"", "c10d", "tcp://", "file:///", "tcp://a b:1", "xyz://a:1", "tcp://:29400", "etcd://,"})
    CHECK_THAT(refusal(text), ContainsSubstring("file:///FOLDER"));
}

}  // namespace
}  // namespace safelaunch::agree
