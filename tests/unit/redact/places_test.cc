#include "launcher/redact/places.h"

#include "catch.h"
#include "safelaunch/redact/redactor.h"

using namespace safelaunch::redact;

namespace {

struct CoatCase {
  std::string coated;
  std::string below;
};

}  // namespace

TEST_CASE("a coat is taken off byte by byte", "[redact][coats]") {
  const std::vector<CoatCase> cases{
      {R"(a\"b)", "a\"b"},
      {R"(a\'b)", "a'b"},
      {R"(a\\b)", "a\\b"},
      {R"(a\/b)", "a/b"},
      {R"(a\$b\&c)", "a$b&c"},
      {R"(a\nb\rc\td)", "a\nb\rc\td"},
      {R"(a\x2fb\x2Fc)", "a/b/c"},
      {R"(a\u0022b\u002fc)", "a\"b/c"},
      {"a \\\nb", "a  b"},
      {"a%2Fb%2fc%22", "a/b/c\""},
      {"&quot;a&quot;", "\"a\""},
      {"&amp;&lt;&gt;&apos;x", "&<>'x"},
      {"&#34;&#39;&#47;&#43;x", "\"'/+x"},
      {"&#x2f;&#x2F;x", "//x"},
      {"\x1b[32mgreen\x1b[0m", "green"},
      {"\x1b[1;31;40mx\x1b[Ky", "xy"},
      {R"('a'"'"'b')", "'a'b'"},
      {R"('a'\''b')", "'a'b'"},
  };
  for (const CoatCase& each : cases) {
    INFO(each.coated);
    CHECK(decoded(each.coated).text == each.below);
  }
}

TEST_CASE("what only begins like a coat is none", "[redact][coats]") {
  for (const char* text : {"",      "\\",     "a\\",    "\\q",     "\\x",          "\\x2",
                           "\\xzz", "\\u",    "\\u00",  "\\u00zz", "\\u0000",      "\\u0100",
                           "\\x00", "%",      "%2",     "%zz",     "%00",          "100% of 8 GPUs",
                           "&",     "&quot",  "&nbsp;", "&#x2f",   "&#x;",         "&#xzz;",
                           "a & b", "\x1b",   "\x1b[",  "\x1b[32", "\x1b]0;title", "'",
                           "''",    "'\"'\"", "it's"}) {
    INFO(text);
    const DecodedText below = decoded(text);
    CHECK(below.steps.empty());
    CHECK(below.text.empty());
  }
}

TEST_CASE("the text below a coat holds the lines that have one, and no others", "[redact][coats]") {
  CHECK(decoded("one\ntwo\\\"2\nthree\nfour%2F4\nfive").text == "two\"2\nfour/4\n");
  CHECK(decoded("one%20one\ntwo").text == "one one\n");
  CHECK(decoded("one\ntwo%20two").text == "two two");
}

TEST_CASE("each byte below a coat knows its place above", "[redact][coats]") {
  for (const std::string& text : {std::string(R"(x\"y\\z)"), std::string("a\nb%2Fc%41d\ne\nf\\/g"),
                                  std::string("\x1b[32mA\x1b[0m=\x1b[1mB"),
                                  std::string("&quot;p&quot;:&#x2f;q"), std::string("\\\n\\\nx")}) {
    INFO(text);
    const DecodedText below = decoded(text);
    std::size_t last = 0;
    for (std::size_t i = 0; i < below.text.size(); ++i) {
      const std::size_t at = below.original(i);
      REQUIRE(at < text.size());
      CHECK((i == 0 || at > last));
      last = at;
      // A byte without a coat is the same above; one with a coat stands at its coat's first byte.
      const bool coated = text[at] == '\\' || text[at] == '%' || text[at] == '&';
      CHECK((coated || text[at] == below.text[i] || text[at] == '\x1b'));
    }
    CHECK(below.original(below.text.size()) <= text.size());
  }
}

TEST_CASE("a text without a coat has the places of its own", "[redact][coats]") {
  const DecodedText none = decoded("plain");
  CHECK(none.original(0) == 0);
  CHECK(none.original(4) == 4);
}

TEST_CASE("at most three coats are taken off", "[redact][coats]") {
  CHECK(coats_of("plain").empty());
  CHECK(coats_of("a%2Fb").size() == 1);
  CHECK(coats_of("a%252Fb").size() == 2);
  CHECK(coats_of("a%25252Fb").size() == 3);
  CHECK(coats_of("a%2525252Fb").size() == 3);
  CHECK(coats_of(R"(\\\"x\\\")").back().text == "\"x\"");
}

TEST_CASE("a place below two coats is mapped to the text that has both", "[redact][coats]") {
  const std::string text = "ab %2522secret%2522 cd";
  const std::vector<DecodedText> coats = coats_of(text);
  REQUIRE(coats.size() == 2);
  const std::size_t at = coats.back().text.find("secret");
  const SecretPlace place = in_original(coats, {at, at + 6});
  CHECK(text.substr(place.begin, place.end - place.begin) == "secret");
  CHECK(in_original({}, {3, 5}).begin == 3);
}

TEST_CASE("a secret in any coat is taken out, and the coat around it stays", "[redact][coats]") {
  for (const CoatCase& each : std::vector<CoatCase>{
           {R"({"a": "{\"hf_token\": \"abcd1234\"}"})",
            R"({"a": "{\"hf_token\": \"[redacted]\"}"})"},
           {R"(\\\"password\\\":\\\"abcd1234\\\")", R"(\\\"password\\\":\\\"[redacted]\\\")"},
           {R"(\u0022password\u0022: \u0022abcd1234\u0022)",
            R"(\u0022password\u0022: \u0022[redacted]\u0022)"},
           {"&quot;password&quot;: &quot;abcd1234&quot;",
            "&quot;password&quot;: &quot;[redacted]&quot;"},
           {"user%3Dbob%26password%3Dabcd1234%26x%3D1",
            "user%3Dbob%26password%3D[redacted]%26x%3D1"},
           {"\x1b[32mHF_TOKEN\x1b[0m=abcd1234", "\x1b[32mHF_TOKEN\x1b[0m=[redacted]"},
       }) {
    const std::string shown = Redactor().redact(each.coated);
    CHECK(shown == each.below);
    CHECK(Redactor().redact(shown) == shown);
  }
}

TEST_CASE("the colours and escapes around harmless words stay", "[redact][coats]") {
  for (const char* text :
       {"\x1b[31mERROR\x1b[0m rank 3: key=3", R"({"text": "a\nb\t\"key\": 3"})", "loss 10%2 x",
        "&lt;pad&gt; token", R"(C:\new\table\x)", "it's 100% of \\ everything"})
    CHECK(Redactor().redact(text) == text);
}

TEST_CASE("places of secrets lie within the text, whatever bytes it holds", "[redact][hostile]") {
  std::string bytes;
  std::uint32_t state = 20'261'122;
  const std::string_view signs = "\\%&'\"=:;,[]{}()<>-_./@?#$|!\n\r\t aA1kpt\x1b\xff\x80";
  for (int i = 0; i < 40; ++i) {
    std::string text = "password";
    for (int k = 0; k < 400; ++k) {
      state = state * 1'664'525 + 1'013'904'223;
      text += signs[(state >> 16) % signs.size()];
      if (k % 57 == 0) text += "token";
    }
    bytes += text;
    for (const SecretPlace& place : secret_places(text)) {
      CHECK(place.begin < place.end);
      CHECK(place.end <= text.size());
    }
    const std::string shown = Redactor().redact(text);
    CHECK(Redactor().redact(shown).size() <= shown.size());
  }
  CHECK_FALSE(Redactor().redact(bytes).empty());
}
