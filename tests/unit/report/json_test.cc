#include "launcher/report/json.h"

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::report;

namespace {

std::string redacted_json(const std::string& text, const redact::Redactor& redactor = {}) {
  Json json = parse_json<Json>(text);
  report::redact(json, redactor);
  return json.dump();
}

// `later` as the redactor leaves it, once it has seen the document.
std::string after_learning(const std::string& document, const std::string& later) {
  redact::Redactor redactor;
  learn_from(parse_json<Json>(document), redactor);
  return redactor.redact(later);
}

}  // namespace

TEST_CASE("a member with a secret's name loses its value, of whatever type", "[json]") {
  CHECK(redacted_json(R"({"password":"orange","lr":1})") == R"({"password":"[redacted]","lr":1})");
  CHECK(redacted_json(R"({"password":123456})") == R"({"password":"[redacted]"})");
  CHECK(redacted_json(R"({"password":["a1","b2"]})") ==
        R"({"password":["[redacted]","[redacted]"]})");
  CHECK(redacted_json(R"({"secret":{"a":"x1","b":{"c":"y2"}}})") ==
        R"({"secret":{"a":"[redacted]","b":{"c":"[redacted]"}}})");
  CHECK(redacted_json(R"({"credentials":{"user":"bob","value":"orange"}})") ==
        R"({"credentials":{"user":"bob","value":"[redacted]"}})");
  CHECK(redacted_json(R"({"name":"DB_PASSWORD","value":"orange"})") ==
        R"({"name":"DB_PASSWORD","value":"[redacted]"})");
  CHECK(redacted_json(R"({"key":"api_token","value":"orange"})") ==
        R"({"key":"api_token","value":"[redacted]"})");
  CHECK(redacted_json(R"({"variable":"HF_TOKEN","value":"orange"})") ==
        R"({"variable":"HF_TOKEN","value":"[redacted]"})");
}

TEST_CASE("members without a secret keep their values and types", "[json]") {
  for (const char* text :
       {R"({"max_tokens":128,"tokens":[1,2,3],"pad_token":"<pad>"})",
        R"({"password":null,"token":true,"secret":"","auth":false})",
        R"({"name":"LR","value":"orange"})", R"({"rank":3,"stage":"group","pid":4242})",
        R"([1.5,"a",null,[true],{"b":[]}])", R"({"password_file":"/run/secrets/db"})", "\"x\"", "7",
        "null"})
    CHECK(redacted_json(text) == text);
}

TEST_CASE("a list of texts is read as the words of a command", "[json]") {
  CHECK(redacted_json(R"(["train.py","--hf-token","orange","--lr","3"])") ==
        R"(["train.py","--hf-token","[redacted]","--lr","3"])");
  CHECK(redacted_json(R"(["--password",7,"orange"])") == R"(["--password",7,"[redacted]"])");
  CHECK(redacted_json(R"([["curl","-u","bob:orange"],{"a":"https://u:p@h"}])") ==
        R"([["curl","-u","bob:[redacted]"],{"a":"https://u:[redacted]@h"}])");
}

TEST_CASE("what a redactor knows is taken out of every text of a document", "[json]") {
  const redact::Redactor redactor({"swordfish"});
  CHECK(redacted_json(R"({"a":"x swordfish","b":["swordfish",{"c":"swordfish"}]})", redactor) ==
        R"({"a":"x [redacted]","b":["[redacted]",{"c":"[redacted]"}]})");
}

TEST_CASE("a document that was redacted stays as it is", "[json]") {
  for (const char* text :
       {R"({"password":"orange","a":["--token","x1y2z3w4"],"secret":{"b":"abcd1234"}})",
        R"({"name":"DB_PASSWORD","value":"orange"})", R"(["curl","-u","bob:orange","h"])"}) {
    const std::string once = redacted_json(text);
    CHECK(redacted_json(once) == once);
  }
}

TEST_CASE("secrets of a document are learned by their members and from its texts", "[json]") {
  CHECK(after_learning(R"({"password":"abcd1234"})", "abcd1234") == "[redacted]");
  CHECK(after_learning(R"({"a":{"secret":["abcd1234"]}})", "abcd1234") == "[redacted]");
  CHECK(after_learning(R"({"a":"token=abcd1234"})", "abcd1234") == "[redacted]");
  CHECK(after_learning(R"({"command":["x","--db-pass","swordfish"]})", "swordfish") ==
        "[redacted]");
  CHECK(after_learning(R"({"name":"DB_PASSWORD","value":"abcd1234"})", "abcd1234") == "[redacted]");
}

TEST_CASE("words of a document that are no secrets are not learned", "[json]") {
  CHECK(after_learning(R"({"password":"rank","token":128,"secret":null})", "rank 128 null") ==
        "rank 128 null");
  CHECK(after_learning(R"({"host":"node17-gpu-3"})", "node17-gpu-3") == "node17-gpu-3");
  CHECK(after_learning("{", "{") == "{");
}
