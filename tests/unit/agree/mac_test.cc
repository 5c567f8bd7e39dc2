#include "launcher/agree/mac.h"

#include "catch.h"
#include "safelaunch/base/strings.h"

namespace safelaunch::agree {
namespace {

std::string mac_of(std::string_view key, std::string_view text) {
  return to_hex(bytes_of(hmac(key, {text})));
}

TEST_CASE("HMAC-SHA256 is that of RFC 4231", "[mac]") {
  CHECK(mac_of(std::string(20, '\x0b'), "Hi There") ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(mac_of("Jefe", "what do ya want for nothing?") ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(
      mac_of(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First") ==
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE("a MAC is over all parts in their order", "[mac]") {
  CHECK(hmac("key", {"one", "two"}) == hmac("key", {"onetwo"}));
  CHECK(hmac("key", {"two", "one"}) != hmac("key", {"onetwo"}));
  CHECK(same_secret("abc", "abc"));
  CHECK_FALSE(same_secret("abc", "abd"));
  CHECK_FALSE(same_secret("abc", "ab"));
  CHECK(random_digest() != random_digest());
}

}  // namespace
}  // namespace safelaunch::agree
