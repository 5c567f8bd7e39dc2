#include "catch.h"
#include "safelaunch/redact/redactor.h"

using namespace safelaunch;
using namespace safelaunch::redact;

TEST_CASE("a value shorter than six bytes is not remembered", "[redact][known]") {
  CHECK(Redactor({"12345"}).redact("12345") == "12345");
  CHECK(Redactor({"123456"}).redact("123456") == "[redacted]");
  CHECK(Redactor({""}).redact("x") == "x");
}

TEST_CASE("a value of less than eight bytes is known as a word of its own only",
          "[redact][known]") {
  const Redactor seven({"orange1"});
  CHECK(seven.redact("orange1 orange12 xorange1 (orange1) -orange1_") ==
        "[redacted] orange12 xorange1 ([redacted]) -[redacted]_");
  const Redactor eight({"orange12"});
  CHECK(eight.redact("orange12 xorange123") == "[redacted] x[redacted]3");
}

TEST_CASE("of two known values the longer one is taken out", "[redact][known]") {
  const Redactor redactor({"swordfish", "swordfish-and-chips", "swordfish-and-more"});
  CHECK(redactor.redact("swordfish-and-chips, swordfish-and-chip, swordfish") ==
        "[redacted], [redacted]-and-chip, [redacted]");
}

TEST_CASE("known values that overlap are taken out together", "[redact][known]") {
  CHECK(Redactor({"abcdefgh", "efghijkl"}).redact("x abcdefghijkl y") == "x [redacted] y");
}

TEST_CASE("each line of a known value is known", "[redact][known]") {
  const Redactor redactor({"first-line\nsecond-line\nabc\n"});
  CHECK(redactor.redact("first-line\nx second-line abc") == "[redacted]\nx [redacted] abc");
}

TEST_CASE("a known value is found in hexadecimal of either case", "[redact][known]") {
  const Redactor redactor({"correct horse-battery"});
  CHECK(redactor.redact("key 636f727265637420686f7273652d62617474657279 end") ==
        "key [redacted] end");
  CHECK(redactor.redact("0x636F727265637420686F7273652D62617474657279") == "0x[redacted]");
}

TEST_CASE("a known value is found in hexadecimal with something between the bytes",
          "[redact][known][bug]") {
  const Redactor redactor({"hunter2!"});
  for (const char* text :
       {"68:75:6e:74:65:72:32:21", "68 75 6e 74 65 72 32 21", "68-75-6E-74-65-72-32-21"})
    CHECK(redactor.redact(text) == "[redacted]");
  CHECK(redactor.redact(R"(b=\x68\x75\x6e\x74\x65\x72\x32\x21)") == "b=[redacted]");
  CHECK(redactor.redact("{0x68, 0x75, 0x6e, 0x74, 0x65, 0x72, 0x32, 0x21}") == "{0x[redacted]}");
}

TEST_CASE("a known value is found at both ends of a text and at every offset of base64",
          "[redact][known]") {
  const Redactor redactor({"swordfish>>?"});
  CHECK(redactor.redact("swordfish>>?") == "[redacted]");
  for (const char* base64 : {"c3dvcmRmaXNoPj4/", "c3dvcmRmaXNoPj4_"})
    CHECK(redactor.redact(base64) == "[redacted]");
  // Behind one, two and three other bytes, and before one. The digits that share bits stay.
  CHECK(redactor.redact("YXN3b3JkZmlzaD4+P3o=") == "YX[redacted]3o=");
  CHECK(redactor.redact("YWJzd29yZGZpc2g+Pj96") == "YWJ[redacted]96");
  CHECK(redactor.redact("YWJjc3dvcmRmaXNoPj4/eg==") == "YWJj[redacted]eg==");
}

TEST_CASE("known values may hold any bytes", "[redact][known]") {
  const std::string zero("ab\0cd\0ef\0gh", 11);
  const std::string high = "\xff\xfe\x80\x81\xc3\xa4\xc3\xb6";
  const Redactor redactor({zero, high});
  CHECK(redactor.redact("x " + zero + " " + high + " y") == "x [redacted] [redacted] y");
}

TEST_CASE("a value that is seen is remembered where it can be nothing but a secret",
          "[redact][known]") {
  Redactor redactor;
  for (const char* seen : {"rank", "all_reduce", "swordfish", "12345678", "/home/bob/x1", "None"})
    redactor.learn_seen_value(seen);
  CHECK(redactor.redact("rank all_reduce swordfish 12345678 /home/bob/x1 None") ==
        "rank all_reduce swordfish 12345678 /home/bob/x1 None");
  redactor.learn_seen_value("abcd1234");
  CHECK(redactor.redact("abcd1234") == "[redacted]");
}

TEST_CASE("what a text shows below a coat is learned too", "[redact][known]") {
  Redactor redactor;
  redactor.learn(R"({"env": "{\"api_key\": \"abcd1234efgh\"}"})");
  CHECK(redactor.redact("then abcd1234efgh") == "then [redacted]");
}

TEST_CASE("a value to the end of its line is learned whole and by its first word",
          "[redact][known]") {
  Redactor redactor;
  redactor.learn("PASSWORD=abcd1234 --lr 3");
  CHECK(redactor.redact("abcd1234 alone") == "[redacted] alone");
}

TEST_CASE("a text without secrets teaches nothing", "[redact][known]") {
  Redactor redactor;
  const std::string line =
      "rank 3 on node17-gpu-3 waits for key worker/12345/rank_17 in all_reduce";
  redactor.learn(line);
  redactor.learn("");
  redactor.learn("password: none\ntoken: 128\nAuthorization required");
  CHECK(redactor.redact(line) == line);
}

TEST_CASE("a name tells whether its value is learned", "[redact][known]") {
  Redactor redactor;
  redactor.learn("DB_PASSWORD", "orange");
  redactor.learn("MAX_TOKENS", "100000");
  redactor.learn("DATABASE_URL", "postgres://bob:swordfish@db/x");
  redactor.learn("HOME", "/home/bobby");
  CHECK(redactor.redact("orange 100000 swordfish postgres://db /home/bobby") ==
        "[redacted] 100000 [redacted] postgres://db /home/bobby");
}

TEST_CASE("the value of a variable is judged by its name and by what it shows", "[redact][known]") {
  const Redactor redactor;
  CHECK(redactor.redact("HF_TOKEN", "orange") == "[redacted]");
  CHECK(redactor.redact("HF_TOKEN", "") == "");
  CHECK(redactor.redact("MAX_TOKENS", "128") == "128");
  CHECK(redactor.redact("DATABASE_URL", "postgres://bob:pw@db/x") ==
        "postgres://bob:[redacted]@db/x");
  CHECK(redactor.redact("token_file", "/run/token") == "/run/token");
  CHECK(redactor.redact("password", "${DB_PASSWORD}") == "${DB_PASSWORD}");
}

TEST_CASE("the mark of a redaction is never learned", "[redact][known]") {
  Redactor redactor({"[redacted]"});
  redactor.learn("password", "[redacted]");
  redactor.learn("password: [redacted]");
  CHECK(redactor.redact("W3JlZGFjdGVkXQ== [redacted]") == "W3JlZGFjdGVkXQ== [redacted]");
}

TEST_CASE("each copy of a redactor has a memory of its own", "[redact][known]") {
  Redactor first({"swordfish"});
  Redactor copy(first);
  copy.learn_value("tangerine");
  first.learn_value("pineapple");
  CHECK(first.redact("swordfish tangerine pineapple") == "[redacted] tangerine [redacted]");
  CHECK(copy.redact("swordfish tangerine pineapple") == "[redacted] [redacted] pineapple");
  const Redactor moved(std::move(copy));
  CHECK(moved.redact("tangerine") == "[redacted]");
  first = Redactor({"tangerine"});
  CHECK(first.redact("swordfish tangerine") == "swordfish [redacted]");
}

TEST_CASE("a redactor that knows nothing leaves a text of any bytes", "[redact][known]") {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  CHECK(Redactor().redact(bytes) == bytes);
  CHECK(Redactor().redact("") == "");
  CHECK(Redactor().redact(std::string(100'000, 'x')) == std::string(100'000, 'x'));
}

TEST_CASE("what stands between two secrets stays, and neighbours share a mark", "[redact][known]") {
  const Redactor redactor({"swordfish", "tangerine"});
  CHECK(redactor.redact("swordfish,tangerine") == "[redacted],[redacted]");
  CHECK(redactor.redact("swordfishtangerine") == "[redacted]");
  CHECK(redactor.redact("[redacted]swordfish x") == "[redacted] x");
}

TEST_CASE("a known value is found in base64 that is broken into lines", "[redact][known]") {
  // base64 of 70 dots, the value, and 70 dots
  const Redactor redactor({"correct horse battery staple"});
  const std::string text =
      "file:\n"
      "Li4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4u\n"
      "Li4uLi4uLi4uLi4uLi4uLi5jb3JyZWN0IGhvcnNlIGJhdHRlcnkgc3RhcGxlLi4uLi4uLi4uLi4u\n"
      "Li4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4u\n"
      "Li4uLi4u\nend\n";
  CHECK(redactor.redact(text).find("3JyZWN0IGhvcnNl") == std::string::npos);
  const std::string torn =
      "Li4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uY29ycmVjdCBob3Jz\n"
      "ZSBiYXR0ZXJ5IHN0YXBsZS4u\nend\n";
  const std::string shown = redactor.redact(torn);
  CHECK(shown.find("Y29ycmVjdCBob3Jz") == std::string::npos);
  CHECK(shown.find("YXR0ZXJ5IHN0YXBs") == std::string::npos);
  CHECK(shown.ends_with("\nend\n"));
}
