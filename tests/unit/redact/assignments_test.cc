#include "catch.h"
#include "safelaunch/redact/redactor.h"

using safelaunch::redact::Redactor;

namespace {

struct Assignment {
  std::string text;
  std::string shown;
};

void check_assignments(const std::vector<Assignment>& cases) {
  const Redactor redactor;
  for (const Assignment& each : cases) {
    CHECK(redactor.redact(each.text) == each.shown);
    CHECK(redactor.redact(each.shown) == each.shown);
  }
}

void check_plain(const std::vector<std::string>& texts) {
  const Redactor redactor;
  for (const std::string& text : texts) CHECK(redactor.redact(text) == text);
}

}  // namespace

TEST_CASE("a value is taken out of every notation, and the notation stays",
          "[redact][assignments]") {
  check_assignments({
      {"password=orange", "password=[redacted]"},
      {"password = orange", "password = [redacted]"},
      {"password: orange", "password: [redacted]"},
      {"password := orange", "password := [redacted]"},
      {"password == orange", "password == [redacted]"},
      {"password => orange", "password => [redacted]"},
      {"password|orange", "password|[redacted]"},
      {"x password=orange y", "x password=[redacted] y"},
      {"x password='orange' y", "x password='[redacted]' y"},
      {"x password=\"an orange\" y", "x password=\"[redacted]\" y"},
      {"x password=`orange` y", "x password=`[redacted]` y"},
      {"x password=b'orange' y", "x password=b'[redacted]' y"},
      {"x password=rb'orange' y", "x password=rb'[redacted]' y"},
      {"x password=$'orange' y", "x password=$'[redacted]' y"},
      {"x password=@\"orange\" y", "x password=@\"[redacted]\" y"},
      {"x password=SecretStr('orange') y", "x password=SecretStr('[redacted]') y"},
      {"x password=a.b.Secret('orange') y", "x password=a.b.Secret('[redacted]') y"},
      {"x password=('orange') y", "x password=('[redacted]') y"},
      {"x password=\"or\\\"ange\" y", "x password=\"[redacted]\" y"},
      {"'password': 'orange'", "'password': '[redacted]'"},
      {"\"password\":\"orange\"", "\"password\":\"[redacted]\""},
      {"d['password'] = 'orange'", "d['password'] = '[redacted]'"},
      {"('password', 'orange')", "('password', '[redacted]')"},
      {"password: str = 'orange'", "password: str = '[redacted]'"},
      {"password: Optional[str] = 'orange'", "password: Optional[str] = '[redacted]'"},
      {"password: str | None = 'orange'", "password: str | None = '[redacted]'"},
      {"x password=orange,", "x password=[redacted],"},
      {"(password=orange)", "(password=[redacted])"},
      {"(a password=orange).", "(a password=[redacted])."},
      {"<password>orange</password>", "<password>[redacted]</password>"},
      {"<x name=\"password\">orange</x>", "<x name=\"password\">[redacted]</x>"},
      {"<x name=\"password\" value=\"orange\"/>", "<x name=\"password\" value=\"[redacted]\"/>"},
      {"{\"name\": \"PASSWORD\", \"value\": \"orange\"}",
       "{\"name\": \"PASSWORD\", \"value\": \"[redacted]\"}"},
  });
}

TEST_CASE("a value ends where the next name begins", "[redact][assignments]") {
  check_assignments({
      {"x password=a,uid=1", "x password=[redacted],uid=1"},
      {"x password=a;uid=1", "x password=[redacted];uid=1"},
      {"x password=a&uid=1", "x password=[redacted]&uid=1"},
      {"x password=a&x-uid=1", "x password=[redacted]&x-uid=1"},
      {"x password=a,b uid=1", "x password=[redacted] uid=1"},
      {"x password=a,b", "x password=[redacted]"},
  });
}

TEST_CASE("the value of a name that begins its line goes to the line's end",
          "[redact][assignments]") {
  check_assignments({
      {"PASSWORD=an orange\nLR=1", "PASSWORD=[redacted]\nLR=1"},
      {"export PASSWORD=an orange", "export PASSWORD=[redacted]"},
      {"declare -x PASSWORD=an orange", "declare -x PASSWORD=[redacted]"},
      {"ENV PASSWORD=an orange", "ENV PASSWORD=[redacted]"},
      {"+ PASSWORD=an orange", "+ PASSWORD=[redacted]"},
      {"  - password: an orange", "  - password: [redacted]"},
      {"INFO password=orange step=3", "INFO password=[redacted] step=3"},
  });
}

TEST_CASE("YAML's signs before a value stay", "[redact][assignments]") {
  check_assignments({
      {"password: !vault abcd", "password: !vault [redacted]"},
      {"password: &anchor abcd", "password: &anchor [redacted]"},
      {"password: !secret &a abcd", "password: !secret &a [redacted]"},
      {"password: |\n  abcd\nport: 1", "password: |\n  [redacted]\nport: 1"},
      {"password: >-\n  abcd\n  efgh\nport: 1",
       "password: >-\n  [redacted]\n  [redacted]\nport: 1"},
      {"password:\n  abcd\nport: 1", "password:\n  [redacted]\nport: 1"},
      {"password:\n\n  abcd\nport: 1", "password:\n\n  [redacted]\nport: 1"},
      {"password = \"\"\"\nabcd\n\"\"\"\nport = 1", "password = \"\"\"[redacted]\"\"\"\nport = 1"},
      {"\"password\":\n  \"abcd\",\n\"port\": 1", "\"password\":\n  \"[redacted]\",\n\"port\": 1"},
      {"- name: DB_PASSWORD\n  value: abcd\n- name: LR\n  value: 3",
       "- name: DB_PASSWORD\n  value: [redacted]\n- name: LR\n  value: 3"},
  });
}

TEST_CASE("the next word is a value where a program says so", "[redact][assignments]") {
  check_assignments({
      {"x --password orange y", "x --password [redacted] y"},
      {"x --password \"an orange\" y", "x --password \"[redacted]\" y"},
      {"x --passphrase 'correct horse battery' y", "x --passphrase '[redacted]' y"},
      {"x --password \"torn", "x --password \"[redacted]"},
      {"x --token orange, y", "x --token [redacted], y"},
      {"setenv HF_TOKEN orange", "setenv HF_TOKEN [redacted]"},
      {"set -gx HF_TOKEN orange", "set -gx HF_TOKEN [redacted]"},
      {"set -x HF_TOKEN orange", "set -x HF_TOKEN [redacted]"},
      {"ENV HF_TOKEN orange", "ENV HF_TOKEN [redacted]"},
      {"requirepass orange", "requirepass [redacted]"},
      {"masterauth orange", "masterauth [redacted]"},
      {"machine h login bob password orange account x",
       "machine h login bob password [redacted] account x"},
      {"machine h\n  login bob\n  password orange\n",
       "machine h\n  login bob\n  password [redacted]\n"},
      {"passwd orange", "passwd [redacted]"},
  });
  check_plain({"x --password --lr 3", "x --use-token --lr 3", "x --key orange", "x --password",
               "x --password\norange", "the password orange is old", "set HF_TOKEN to log in"});
}

TEST_CASE("a sentence shows a password that looks like one", "[redact][assignments]") {
  check_assignments({
      {"your password is hunter22", "your password is [redacted]"},
      {"your password was: hunter22", "your password was: [redacted]"},
      {"using password 'hunter' now", "using password '[redacted]' now"},
      {"bad token \"hunter22\"", "bad token \"[redacted]\""},
      {"Incorrect API key provided: hunter22.", "Incorrect API key provided: [redacted]."},
      {"password of bob is wrong: hunter22", "password of bob is wrong: [redacted]"},
      {"API key hunter22", "API key [redacted]"},
      {"with password hunter22, retry", "with password [redacted], retry"},
  });
}

TEST_CASE("a sentence about a password stays", "[redact][assignments]") {
  check_plain({
      "your password is too short",
      "using password 'a b' now",
      "bad token 'rank3'",
      "token 17 of 4096",
      "password authentication failed for user \"bob\"",
      "password authentication failed on host: node17-gpu-3",
      "token was refused by url: cluster17/api",
      "secret not found in kind: deployment7",
      "the password prompt timed out: rank 3 is waiting at 10.0.0.1:29500",
      "password: ",
      "password:",
      "x.token hunter22",
      "no password, no cry",
      "KeyError: 'token_embedding.weight'",
      "auth: connection refused by node17",
      "pam_unix(sshd:auth): authentication failure; rhost=node17",
      "invalid token: unexpected end of input at line12",
      "JSONDecodeError: unexpected token: line12x column5",
      "SyntaxError: invalid token: train.py:17",
      "secret \"db-credentials17\" not found",
      "MountVolume.SetUp failed for volume \"v17\" : secret 'creds17x' not found",
      "TypeError: unexpected keyword argument 'use_auth_token'",
  });
}

TEST_CASE("names of the rank's own stores and weights stay readable", "[redact][assignments]") {
  check_plain({
      "(key 'c10d/0/worker/12345/rank/17')",
      "key: layers.17.self_attn.q_proj.weight.0123",
      "key=epoch_0017_step_00012345",
      "key=0x7f8a1c000b20ab",
      "waiting for key=worker/rank_17/node_3",
      "wait timeout after 300000ms, keys: /default_pg/0//worker/1",
  });
}

TEST_CASE("a key that can be nothing else is taken out of any assignment",
          "[redact][assignments]") {
  const std::string key = "a1b2c3d4e5f6a7b8c9d0";
  for (const char* start : {"key=", "key: ", "key='", "\"key\": \"", "session.key = ", "tokens=['"})
    CHECK(Redactor().redact(start + key) == std::string(start) + "[redacted]");
  CHECK(Redactor().redact("key " + std::string(300, 'a')) == "key " + std::string(300, 'a'));
}

TEST_CASE("headers that log in lose all of their value", "[redact][assignments]") {
  check_assignments({
      {"Authorization: Basic YWJj", "Authorization: [redacted]"},
      {"authorization: Digest a=\"b\", response=\"c\"", "authorization: [redacted]"},
      {"Proxy-Authorization: Basic YWJj\nHost: x", "Proxy-Authorization: [redacted]\nHost: x"},
      {"Cookie: a=b; c=d", "Cookie: [redacted]"},
      {"Set-Cookie: a=b; Path=/", "Set-Cookie: [redacted]"},
      {"-H 'Authorization: Bearer x' https://h", "-H 'Authorization: [redacted]' https://h"},
      {"{'Authorization': 'Bearer x', 'Accept': 'y'}",
       "{'Authorization': '[redacted]', 'Accept': 'y'}"},
      {"{\"authorization\": \"Token x\"}", "{\"authorization\": \"[redacted]\"}"},
  });
  check_plain({"Cookie: chocolate or not", "Authorization required",
               "Authorization:", "authorization failed for bob"});
}

TEST_CASE("Bearer and Basic give their token away at any place", "[redact][assignments]") {
  check_assignments({
      {"sent Bearer a1b2c3d4 to h", "sent Bearer [redacted] to h"},
      {"sent BASIC YWJjOmRlZjEy to h", "sent BASIC [redacted] to h"},
      {"Basic dXNlcjpwdw==", "Basic [redacted]"},
      {"bearer  a1b2c3d4e5f6a7b8.x-y~z=", "bearer  [redacted]"},
  });
  check_plain({"bearer of bad news", "Basic authentication is off", "basic training of networks",
               "Bearer", "Basic ", "Bearer abc1", "Basic LayerNorm", "Basic LayerNormal",
               "Basic Conv=="});
}

TEST_CASE("a call that logs in shows its key", "[redact][assignments]") {
  check_assignments({
      {"login(\"orange\")", "login(\"[redacted]\")"},
      {"wandb.login('orange')", "wandb.login('[redacted]')"},
      {"HTTPBasicAuth('bob', 'orange')", "HTTPBasicAuth('bob', '[redacted]')"},
      {"requests.auth.HTTPBasicAuth('bob', 'orange')",
       "requests.auth.HTTPBasicAuth('bob', '[redacted]')"},
      {"Fernet(b'orange')", "Fernet(b'[redacted]')"},
  });
  check_plain({"login()", "login(host='orange')", "login(None)", "relogin('orange')", "login('",
               "login", "catalogin('x')"});
}

TEST_CASE("code that names a secret and shows none stays", "[redact][assignments]") {
  check_plain({
      "password = getpass.getpass()",
      "token = os.environ.get('HF_TOKEN')",
      "token = os.environ[\"HF_TOKEN\"]",
      "password=${DB_PASSWORD}",
      "password=$DB_PASSWORD",
      "token=token",
      "self.token = args.token",
      "token = tokens[0]",
      "tokens = torch.tensor([1, 2, 3])",
      "password::check(x)",
      "if (password == nullptr)",
      "auth: true",
      "token: null",
      "password=",
      "password=,",
      "password=''",
      "password: \"\"",
      "password=[]",
      "password={}",
      "password=()",
      "password=***",
  });
}

TEST_CASE("a token of small letters alone on its line is one", "[redact][assignments]") {
  check_assignments({
      {"auth: swordfish", "auth: [redacted]"},
      {"x token: swordfish, lr: 3", "x token: [redacted], lr: 3"},
      {"password: swordfish and chips", "password: [redacted]"},
      {"token=swordfish and chips", "token=[redacted]"},
  });
}

TEST_CASE("the name of the next member is no value of the one before", "[redact][assignments]") {
  check_plain({"{\"a\": \"secret\", \"data17xx\": 3}", "['password', 'lr17xxxx': 3]"});
}

TEST_CASE("the gap between a name and its value is limited", "[redact][assignments]") {
  CHECK(Redactor().redact("password =" + std::string(100, ' ') + "orange") ==
        "password =" + std::string(100, ' ') + "[redacted]");
  const std::string far = "password" + std::string(300, ' ') + "= orange";
  CHECK(Redactor().redact(far) == far);
}

TEST_CASE("a torn text loses its secret up to its end", "[redact][assignments]") {
  check_assignments({
      {"password=\"oran", "password=\"[redacted]"},
      {"password='oran\\", "password='[redacted]"},
      {"{\"password\": \"oran", "{\"password\": \"[redacted]"},
      {"<password>oran", "<password>[redacted]"},
      {"password=\"\"\"oran\nge", "password=\"\"\"[redacted]"},
      {"Authorization: Bearer oran", "Authorization: [redacted]"},
      {"secrets: [\"oran", "secrets: [\"[redacted]"},
  });
}

TEST_CASE("all secrets of one line are taken out", "[redact][assignments]") {
  check_assignments({
      {"a password=x1 token=y2 https://u:z3@h hf_" + std::string("a1B2c3D4e5F6g7H8"),
       "a password=[redacted] token=[redacted] https://u:[redacted]@h [redacted]"},
      {"{\"a\": {\"password\": \"p\", \"lr\": 1, \"token\": \"y\"}, \"b\": 2}",
       "{\"a\": {\"password\": \"[redacted]\", \"lr\": 1, \"token\": \"[redacted]\"}, \"b\": 2}"},
  });
}
