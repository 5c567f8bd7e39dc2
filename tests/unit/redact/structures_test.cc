#include "catch.h"
#include "launcher/redact/assignments.h"
#include "launcher/redact/places.h"
#include "safelaunch/redact/redactor.h"

using namespace safelaunch::redact;

namespace {

std::string structure_shown(const std::string& text) {
  return Redactor().redact(text);
}

// The values that are found, joined by blanks.
std::string values_in(const std::string& text, const SecretPlaces& places) {
  std::string result;
  for (const SecretPlace& place : places)
    result += (result.empty() ? "" : " ") + text.substr(place.begin, place.end - place.begin);
  return result;
}

std::string in_bracket(const std::string& text, NameKind kind = NameKind::secret) {
  SecretPlaces places;
  find_in_brackets(text, 0, kind, places);
  return values_in(text, places);
}

std::string in_block(const std::string& text, UserNames beside = UserNames::spared) {
  SecretPlaces places;
  find_in_indented(text, 0, NameKind::secret, beside, places);
  return values_in(text, places);
}

}  // namespace

TEST_CASE("in a bracket each value is a secret, and no name is", "[redact][structures]") {
  CHECK(in_bracket("[orange, apple]") == "orange apple");
  CHECK(in_bracket("['an orange', \"apple\"]") == "an orange apple");
  CHECK(in_bracket("{a: orange, b: apple}") == "orange apple");
  CHECK(in_bracket("{\"a\": \"orange\", \"b\": {\"c\": \"apple\"}}") == "orange apple");
  CHECK(in_bracket("(a=orange, b='apple')") == "orange apple");
  CHECK(in_bracket("{'a' => 'orange'}") == "orange");
  CHECK(in_bracket("[[orange], [apple]]") == "orange apple");
  CHECK(in_bracket("{\"a\" : \"orange\"}") == "orange");
}

TEST_CASE("in a bracket users, hosts and what is no secret are left", "[redact][structures]") {
  CHECK(in_bracket("{user: bob, host: h, port: 5432, pw: orange}") == "orange");
  CHECK(in_bracket("{'username': 'bob', 'type': 'x', 'value': 'orange'}") == "orange");
  CHECK(in_bracket("[None, true, <pad>, ${X}, '', ***]").empty());
  CHECK(in_bracket("{a: orange(1), b: f'plum'}") == "1 plum");
}

TEST_CASE("a bracket of keys holds a key where it looks like one", "[redact][structures]") {
  CHECK(in_bracket("['input_ids', 'labels']", NameKind::key).empty());
  CHECK(in_bracket("['a1b2c3d4e5f6a7b8', 'labels']", NameKind::key) == "a1b2c3d4e5f6a7b8");
  CHECK(in_bracket("{password: orange, lr: 1}", NameKind::key) == "orange");
  CHECK(in_bracket("{api_key: orange, lr: 1}", NameKind::plain) == "orange");
}

TEST_CASE("a bracket is read to its end, and a torn one to the end of the text",
          "[redact][structures]") {
  SecretPlaces places;
  CHECK(find_in_brackets("[a] b c", 0, NameKind::plain, places) == 3);
  CHECK(find_in_brackets("[a, [b, c], d", 0, NameKind::plain, places) == 13);
  CHECK(find_in_brackets("[a, 'b", 0, NameKind::plain, places) == 6);
  CHECK(find_in_brackets("[a, 'b\\", 0, NameKind::plain, places) == 7);
  CHECK(find_in_brackets("x [a] b", 2, NameKind::plain, places) == 5);
  CHECK(in_bracket("[orange, 'appl") == "orange appl");
}

TEST_CASE("a huge bracket is read to its limit", "[redact][structures]") {
  std::string text = "[";
  while (text.size() < 10'000) text += "orange, ";
  SecretPlaces places;
  const std::size_t end = find_in_brackets(text, 0, NameKind::secret, places);
  CHECK(end <= 4'096);
  CHECK(places.size() == 512);
}

TEST_CASE("brackets of any depth come to an end", "[redact][structures]") {
  for (const char* part : {"[", "{", "(", "]", "[(", "[]", "['", "[\"a\":"}) {
    std::string text = "secrets: [";
    while (text.size() < 5'000) text += part;
    const std::string shown = structure_shown(text);
    CHECK(structure_shown(shown).size() <= shown.size() + 10);
  }
}

TEST_CASE("in a block each line holds a secret value", "[redact][structures]") {
  CHECK(in_block("x:\n  orange\n  apple\ny: 1") == "orange apple");
  CHECK(in_block("x:\n  a: orange\n  b: \"an apple\"\ny: 1") == "orange an apple");
  CHECK(in_block("x:\n- orange\n- apple\ny: 1") == "orange apple");
  CHECK(in_block("x:\n  - a: orange\n    b: apple\ny: 1") == "orange apple");
  CHECK(in_block("x:\n\n  orange\n\n  apple\ny: 1") == "orange apple");
  CHECK(in_block("- x:\n    orange\n- y: 1") == "orange");
}

TEST_CASE("in a block of a credential its user is left, and in a Secret nothing is",
          "[redact][structures]") {
  const std::string block = "x:\n  user: bob\n  host: h1\n  pw: orange\ny: 1";
  CHECK(in_block(block) == "orange");
  CHECK(in_block(block, UserNames::taken) == "bob h1 orange");
}

TEST_CASE("names of blocks, marks of scalars and empty values are no secrets",
          "[redact][structures]") {
  CHECK(in_block("x:\n  inner:\n    orange\ny: 1") == "orange");
  CHECK(in_block("x:\n  a: |\n    orange\ny: 1") == "orange");
  CHECK(in_block("x:\n  a: null\n  b: \"\"\n  c: ${X}\n").empty());
}

TEST_CASE("a block ends with its indent, after 200 lines, or with the text",
          "[redact][structures]") {
  CHECK(in_block("x:\ny: orange").empty());
  CHECK(in_block("  x:\n  y: orange").empty());
  CHECK(in_block("x:").empty());
  CHECK(in_block("x:\n").empty());
  CHECK(in_block("x:\n  orange") == "orange");
  std::string many = "x:\n";
  for (int i = 0; i < 250; ++i) many += "  a" + std::to_string(i) + "\n";
  SecretPlaces places;
  find_in_indented(many, 0, NameKind::secret, UserNames::spared, places);
  CHECK(places.size() == 200);
}

TEST_CASE("a name with a structure of values loses the values", "[redact][structures]") {
  for (const auto& [text, shown] : std::vector<std::pair<std::string, std::string>>{
           {"credentials: {user: bob, value: orange}",
            "credentials: {user: bob, value: [redacted]}"},
           {"{\"secrets\": [\"orange\", \"apple\"]}",
            "{\"secrets\": [\"[redacted]\", \"[redacted]\"]}"},
           {"{\"credentials\": {\"value\": \"orange\"}, \"lr\": 1}",
            "{\"credentials\": {\"value\": \"[redacted]\"}, \"lr\": 1}"},
           {"credentials=Credentials(user='bob', value='orange')",
            "credentials=Credentials(user='bob', value='[redacted]')"},
           {"cookies={'sid': 'orange1'}", "cookies={'sid': '[redacted]'}"},
           {"auth=('bob', 'orange')", "auth=('[redacted]', '[redacted]')"},
           {"credentials:\n  user: bob\n  value: orange\nlr: 1",
            "credentials:\n  user: bob\n  value: [redacted]\nlr: 1"},
           {"secrets:\n  - orange\n  - apple\nlr: 1",
            "secrets:\n  - [redacted]\n  - [redacted]\nlr: 1"},
       }) {
    CHECK(structure_shown(text) == shown);
    CHECK(structure_shown(shown) == shown);
  }
}

TEST_CASE("a Secret of Kubernetes loses all of its data, and keeps its metadata",
          "[redact][structures]") {
  const std::string head = "kind: Secret\nmetadata:\n  name: db\n  namespace: train\n";
  const std::string shown =
      head +
      "data:\n  user: [redacted]\n  url: [redacted]\nstringData:\n  a: [redacted]\ntype: Opaque\n";
  CHECK(structure_shown(
            head + "data:\n  user: Ym9i\n  url: aHR0\nstringData:\n  a: orange\ntype: Opaque\n") ==
        shown);
  CHECK(structure_shown(shown) == shown);
  // As kubectl prints it, in the order of the alphabet.
  CHECK(structure_shown("apiVersion: v1\ndata:\n  url: aHR0\nkind: Secret\n") ==
        "apiVersion: v1\ndata:\n  url: [redacted]\nkind: Secret\n");
  for (const char* text :
       {"kind: ConfigMap\ndata:\n  lr: 3\n", "kind: SecretList\ndata:\n  lr: 3\n",
        "kind: Secret\nmetadata:\n  name: db\n"})
    CHECK(structure_shown(text) == text);
}

TEST_CASE("a Secret of Kubernetes in JSON loses its data, on either side of its kind",
          "[redact][structures]") {
  for (const auto& [text, shown] : std::vector<std::pair<std::string, std::string>>{
           {R"({"kind":"Secret","data":{"conn":"c3dvcmRm","a":"Zmlz"},"type":"Opaque"})",
            R"({"kind":"Secret","data":{"conn":"[redacted]","a":"[redacted]"},"type":"Opaque"})"},
           {R"({"data": {"conn": "c3dvcmRm"}, "kind": "Secret"})",
            R"({"data": {"conn": "[redacted]"}, "kind": "Secret"})"},
           {R"({"kind": "Secret", "stringData": {"conn": "orange"}})",
            R"({"kind": "Secret", "stringData": {"conn": "[redacted]"}})"},
       }) {
    CHECK(structure_shown(text) == shown);
    CHECK(structure_shown(shown) == shown);
  }
  for (const char* text : {R"({"kind":"ConfigMap","data":{"conn":"c3dvcmRm"}})",
                           R"({"kind":"Secret","metadata":{"name":"db"}})", R"("kind":)"})
    CHECK(structure_shown(text) == text);
}

TEST_CASE("structures without secrets stay as they are", "[redact][structures]") {
  for (const char* text :
       {"{\"lr\": 0.1, \"tokens\": [1, 2, 3], \"key\": \"loss\"}", "keys=['input_ids', 'labels']",
        "tokens: ['<s>', 'hello', '</s>']", "imagePullSecrets: []", "secrets: inherit",
        "tokenizer:\n  name: gpt2\n  max_tokens: 128\n",
        "auth:\n  method: oidc\n  url: https://login.example.com\n",
        "metadata:\n  labels:\n    app: train\n", "key:\n  - a\n  - b\n"})
    CHECK(structure_shown(text) == text);
}

TEST_CASE("the data of a Kubernetes secret is read once, however often its kind is named",
          "[redact][structures]") {
  std::string json;
  for (int i = 0; i < 60; ++i) json += R"("kind": "Secret", )";
  std::string yaml;
  for (int i = 0; i < 100; ++i) yaml += "kind: Secret\n";
  for (const std::string& text :
       {json + R"("data": {"conn": "c3dvcmRm"}})", yaml + "data:\n  conn: c3dvcmRm\n"}) {
    const SecretPlaces places = secret_places(text);
    CHECK(places.size() >= 1);
    CHECK(places.size() <= 3);
  }
}

TEST_CASE("the private members of a JSON Web Key are taken out", "[redact][structures]") {
  CHECK(
      structure_shown(R"({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiM",)"
                      R"( "d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"})") ==
      R"({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiM",)"
      R"( "d": "[redacted]"})");
  CHECK(structure_shown(R"({"k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ","kty":"oct"})") ==
        R"({"k":"[redacted]","kty":"oct"})");
  CHECK(structure_shown(R"({"kty": "RSA", "d": "short"})") == R"({"kty": "RSA", "d": "short"})");
}
