#include "safelaunch/redact/redactor.h"

#include "catch.h"
#include "safelaunch/base/format.h"

using namespace safelaunch;
using namespace safelaunch::redact;
using Words = std::vector<std::string>;

namespace {

std::string redacted(std::string_view text) {
  return Redactor().redact(text);
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

Words redacted_words(const Words& words) {
  return Redactor().redact(words);
}

}  // namespace

TEST_CASE("names that hold secrets are known in any spelling", "[redact]") {
  for (const char* name :
       {"HF_TOKEN", "--hf-token", "WANDB_API_KEY", "aws_secret_access_key", "AWS_ACCESS_KEY_ID",
        "db_password", "MY_SECRET", "DB_PASS", "MYSQL_PWD", "AccountKey", "--wandb-key",
        "--kaggle-key", "auth", "_auth", "client-key-data", "clientSecret", "PassWord"})
    CHECK(is_secret_name(name));
  for (const char* name : {"PATH", "NCCL_DEBUG", "TOKENIZERS_PARALLELISM", "--max-tokens", "--key",
                           "--tokenizer", "--keep", "key_padding_mask", "num_key_value_heads",
                           "token_path", "author", "SSH_AUTH_SOCK"})
    CHECK_FALSE(is_secret_name(name));
}

TEST_CASE("the working directory that a shell names is no secret, and a password behind PWD is one",
          "[redact]") {
  for (const char* path : {"/tmp/a b", "/tmp/项目 一", "/data/Exp3/lr=0.1,wd=0.01", "/home/ann"})
    for (const std::string name : {"PWD", "OLDPWD"}) {
      Redactor redactor;
      redactor.learn(Environment{{name, path}});
      const std::string file = fmt::format("File \"{}/t.py\", line 3", path);
      CHECK(redactor.redact(file) == file);
      CHECK(redactor.redact(name, path) == path);
      const std::string line = fmt::format("{}={}", name, path);
      CHECK(redactor.redact(line) == line);
    }
  CHECK(is_secret("DB_PWD", "/tmp/a b"));
  CHECK(redacted("PWD=hunter2 x") == "PWD=[redacted]");
  CHECK(redacted("DB_PWD=/s3cr3t,Value9") == "DB_PWD=[redacted]");
  CHECK(redacted("uid=sa;pwd=/s3cr3t,Value9") == "uid=sa;pwd=[redacted]");
  CHECK(redacted("UID=sa; PWD=/s3cr3t,Value9") == "UID=sa; PWD=[redacted]");
}

TEST_CASE("the value of a secret option is replaced, and nothing else", "[redact]") {
  const Words words{"accelerate",
                    "launch",
                    "--aws_access_key_id",
                    "AKIAABC",
                    "--lr",
                    "1e-4",
                    "--hf-token=hf_abcdefghijklmnop",
                    "train.py"};
  CHECK(redacted_words(words) == Words{"accelerate", "launch", "--aws_access_key_id", "[redacted]",
                                       "--lr", "1e-4", "--hf-token=[redacted]", "train.py"});
}

TEST_CASE("a word of a command line is one word, whatever is in it", "[redact]") {
  CHECK(redacted_words({"x", "--password", "a b,c", "--opts", "a=1,password=pw", "-H",
                        "Authorization: Digest u=\"x\", response=\"y\"", "--lr", "3"}) ==
        Words{"x", "--password", "[redacted]", "--opts", "a=1,password=[redacted]", "-H",
              "Authorization: [redacted]", "--lr", "3"});
  CHECK(redacted_words({"curl", "-u", "bob:pass word", "https://x/"}) ==
        Words{"curl", "-u", "bob:[redacted]", "https://x/"});
}

TEST_CASE("a flag with a secret name does not eat the option behind it", "[redact]") {
  CHECK(redacted_words({"--use-token", "--lr", "3"}) == Words{"--use-token", "--lr", "3"});
}

TEST_CASE("passwords in URLs and well-known tokens are replaced in any text", "[redact]") {
  CHECK(redacted("clone https://bob:hunter2@host/x ok") ==
        "clone https://bob:[redacted]@host/x ok");
  CHECK(redacted("https://bob:p@ss@host/x and http://h:80/a@b") ==
        "https://bob:[redacted]@host/x and http://h:80/a@b");
  CHECK(redacted("x.hf_ABCDEFGHIJKLMNOPQRST, SG.abcdefghij.klmnopqrST") ==
        "x.[redacted], [redacted]");
  CHECK(redacted("token hf_ABCDEFGHIJKLMNOPQRST end") == "token [redacted] end");
  CHECK(redacted("mail bob@host and hf_short stay") == "mail bob@host and hf_short stay");
}

TEST_CASE("a secret behind its name is taken out in any notation", "[redact]") {
  for (const char* text : {
           "HF_TOKEN=s3cr3tvalue",
           "export WANDB_API_KEY='s3cr3tvalue'",
           "+ DB_PASSWORD=first s3cr3tvalue",
           R"({"api_key": "s3cr3tvalue", "lr": 1})",
           R"({"text": "{\"hf_token\": \"s3cr3tvalue\"}"})",
           "password: s3cr3tvalue",
           "Namespace(lr=0.1, hf_token='s3cr3tvalue', seed=1)",
           "environ({'AWS_SECRET_ACCESS_KEY': 's3cr3tvalue'})",
           R"(os.environ["MY_SECRET"] = "s3cr3tvalue")",
           "run.py --auth-token s3cr3tvalue --lr 3",
           "run.py --auth-token=s3cr3tvalue",
           "['run.py', '--password', 's3cr3tvalue']",
           "('SSH_KEY', 's3cr3tvalue')",
           "<password>s3cr3tvalue</password>",
           "machine api.wandb.ai login user password s3cr3tvalue",
           "setenv HF_TOKEN s3cr3tvalue",
           "Authorization: Basic s3cr3tvalue",
           R"(headers={'authorization': 'Bearer s3cr3tvalue'})",
           "Cookie: session=s3cr3tvalue",
           "postgres://bob:s3cr3tvalue@db/x",
           "https://bob:a/b:s3cr3tvalue@host/",
           "https://0123456789s3cr3tvalue@sentry.io/1",
           "GET /x?step=1&X-Amz-Signature=s3cr3tvalue&y=2",
           "hf_s3cr3tvalue0123456789",
           "-----BEGIN RSA PRIVATE KEY-----\ns3cr3tvalue\n-----END RSA PRIVATE KEY-----",
           "s3cr3tvalue\n-----END PRIVATE KEY-----",
       }) {
    INFO(text);
    CHECK_FALSE(contains(redacted(text), "s3cr3tvalue"));
    CHECK(contains(redacted(text), "[redacted]"));
  }
}

TEST_CASE("what a language model says of tokens is no secret", "[redact]") {
  for (const char* text :
       {"tokens_per_second=1234.5", "max_tokens: 128", "tokenizer: LlamaTokenizerFast",
        "Loading tokenizer=AutoTokenizer", "pad_token='<pad>' use_token=True", "key: value",
        "TOKENIZERS_PARALLELISM=false", "store key default_pg/0//cuda", "cache_key: 3f2a"})
    CHECK(redacted(text) == text);
}

TEST_CASE("only the secret is taken out", "[redact]") {
  CHECK(redacted("run --hf-token abc --lr 3") == "run --hf-token [redacted] --lr 3");
  CHECK(redacted(R"(x(token="a b", seed=1))") == R"(x(token="[redacted]", seed=1))");
  CHECK(redacted("https://bob:pw@host/x ok") == "https://bob:[redacted]@host/x ok");
}

TEST_CASE("what was redacted once is not redacted again", "[redact]") {
  for (const char* text : {"password: [redacted]", "{\"token\": \"[redacted]\", \"x\": 1}",
                           "https://bob:[redacted]@host/x", "HF_TOKEN=[redacted]"})
    CHECK(redacted(text) == text);
}

TEST_CASE("a known value is taken out wherever it stands, in every coat", "[redact]") {
  const Redactor redactor({"p@ss/w\"rd+1"});
  CHECK(redactor.redact("it is p@ss/w\"rd+1!") == "it is [redacted]!");
  for (const char* coated :
       {"p%40ss%2Fw%22rd%2B1", "p%40ss%2fw%22rd%2b1", R"(p@ss/w\"rd+1)", R"(p@ss\/w\"rd+1)",
        R"(p\u0040ss\u002fw\u0022rd\u002b1)", R"(p@ss\x2fw\x22rd+1)", "p@ss/w&quot;rd+1",
        "p@ss&#47;w&#34;rd&#43;1", "p@ss&#x2f;w&quot;rd+1", R"(p@ss\\\/w\\\"rd+1)",
        "p%2540ss%252fw%2522rd%252b1",
        "cEBzcy93InJkKzE=", "eHBAc3MvdyJyZCsxeA==", "eHlwQHNzL3cicmQrMXh5"}) {
    INFO(coated);
    const std::string shown = redactor.redact("x " + std::string(coated) + " y");
    CHECK(contains(shown, "[redacted]"));
    CHECK(shown.size() <= 24);
  }
}

TEST_CASE("what one text shows with its name is taken out of another without it", "[redact]") {
  Redactor redactor;
  redactor.learn("api_key=abcd1234efgh");
  CHECK(redactor.redact("sent abcd1234efgh and YWJjZDEyMzRlZmdo") ==
        "sent [redacted] and [redacted]");
  redactor.learn(std::span<const std::string>(Words{"x", "--db-pass", "swordfish"}));
  CHECK(redactor.redact("they said swordfish") == "they said [redacted]");
}

TEST_CASE("the environment's secrets are those with a secret's name", "[redact]") {
  Redactor redactor;
  redactor.learn(Environment{{"HF_TOKEN", "abcdefgh"}, {"HOME", "/home/ann"}, {"A_TOKEN", "1"}});
  CHECK(redactor.redact("abcdefgh in /home/ann 1") == "[redacted] in /home/ann 1");
}

TEST_CASE("a long known value is taken out to its end", "[redact]") {
  std::string value;
  for (int i = 0; i < 30; ++i) value += "x" + std::to_string(100 + i);
  for (const std::size_t size : {64U, 65U, 90U, 119U}) {
    const std::string known = value.substr(0, size);
    CHECK(Redactor({known}).redact("a " + known + " b") == "a [redacted] b");
  }
}

TEST_CASE("a word that holds a header hides none of the words behind it", "[redact]") {
  CHECK(redacted_words({"x", "Authorization: Digest a=\"b\"", "--key-file", "/k", "--db-pass",
                        "swordfish", "secrets: [", "--password", "orange"}) ==
        Words{"x", "Authorization: [redacted]", "--key-file", "/k", "--db-pass", "[redacted]",
              "secrets: [", "--password", "[redacted]"});
}

TEST_CASE("a short known value is a word of its own, or none", "[redact]") {
  const Redactor redactor({"orange"});
  CHECK(redactor.redact("orange, oranges") == "[redacted], oranges");
}

TEST_CASE("no known value is forgotten, however many there are", "[redact]") {
  Redactor redactor;
  const auto value = [](int i) {
    return "v" + std::to_string(1'000'000 + i) + "-abcdefghijklmnop";
  };
  constexpr int kMany = 60'000;
  for (int i = 0; i < kMany; ++i) redactor.learn_value(value(i));
  for (const int i : {0, 2'001, 30'000, kMany - 1}) {
    INFO(value(i));
    CHECK_FALSE(contains(redactor.redact("a line with " + value(i) + " in it"), value(i)));
  }
  CHECK(redactor.redact("a line with no value") == "a line with no value");
}

TEST_CASE("a hostile text takes linear time", "[redact]") {
  const Redactor redactor({"token='secret1", "aaaaaaaaaaaaaaab", "aaaaaaaaaaaaaaaaaaac"});
  for (const std::string& part : {std::string("@"),
                                  std::string("key="),
                                  std::string("://a:"),
                                  std::string("token=\""),
                                  std::string("password "),
                                  std::string("hf_"),
                                  std::string("-----BEGIN PRIVATE KEY-----"),
                                  std::string("-----END PRIVATE KEY-----"),
                                  std::string("a"),
                                  std::string("\\"),
                                  std::string("token='\\"),
                                  std::string("password:\n"),
                                  std::string("password: |\n"),
                                  std::string("password: |\n password: |\n  password: |\n   x\n"),
                                  std::string("password,\n"),
                                  std::string("a,password\n"),
                                  std::string("\"\"\","),
                                  std::string("secrets: ["),
                                  std::string("curl -u "),
                                  std::string("kind: Secret\ndata:\n"),
                                  std::string("?a="),
                                  std::string("%25"),
                                  std::string("eyJaaaaaaaa."),
                                  std::string("password is: "),
                                  std::string("$6$a"),
                                  std::string("Private-Lines: 9\n"),
                                  std::string("login(\""),
                                  std::string("?"),
                                  std::string("?a"),
                                  std::string("jdbc:oracle:a:"),
                                  std::string("ghs_a."),
                                  std::string("sk-a-"),
                                  std::string("eyJ-"),
                                  std::string("eyJa."),
                                  std::string("[redacted]"),
                                  std::string("secrets: [${"),
                                  std::string("password x: "),
                                  std::string("token=,;"),
                                  std::string("host:5432:a:b:"),
                                  std::string("jdbc:oracle:thin:a/"),
                                  std::string("login('x',"),
                                  std::string("密码 "),
                                  std::string("\ndata:\n"),
                                  std::string("\"data\":{"),
                                  std::string("\"k\":\"abcdefghijklmnop"),
                                  std::string("$ANSIBLE_VAULT;\n0123456789abcdef\n"),
                                  std::string("$ANSIBLE_VAULT;curl "),
                                  std::string("token: -----BEGIN PRIVATE KEY-----\n"),
                                  std::string("Private-Lines: 1\nabc\n"),
                                  std::string("abcdefghijklmnop\n-----END PRIVATE KEY")}) {
    INFO(part);
    std::string text;
    while (text.size() < 60'000) text += part;
    CHECK(redactor.redact(text).size() <= 20 * text.size());  // a quadratic one would not end
  }
}
