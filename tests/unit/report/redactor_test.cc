#include "safelaunch/report/redactor.h"

#include "catch.h"
#include "scratch.h"

using namespace safelaunch;
using safelaunch::testing::contains;

namespace {

std::string redacted(std::string_view text) {
  return Redactor({}).redact(text);
}

}  // namespace

TEST_CASE("a secret behind its name is taken out in any notation", "[redactor]") {
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

TEST_CASE("what a language model says of tokens is no secret", "[redactor]") {
  for (const char* text :
       {"tokens_per_second=1234.5", "max_tokens: 128", "tokenizer: LlamaTokenizerFast",
        "Loading tokenizer=AutoTokenizer", "pad_token='<pad>' use_token=True", "key: value",
        "TOKENIZERS_PARALLELISM=false", "store key default_pg/0//cuda", "cache_key: 3f2a"})
    CHECK(redacted(text) == text);
}

TEST_CASE("only the secret is taken out", "[redactor]") {
  CHECK(redacted("run --hf-token abc --lr 3") == "run --hf-token [redacted] --lr 3");
  CHECK(redacted(R"(x(token="a b", seed=1))") == R"(x(token="[redacted]", seed=1))");
  CHECK(redacted("https://bob:pw@host/x ok") == "https://bob:[redacted]@host/x ok");
}

TEST_CASE("a known value is taken out wherever it stands, also encoded", "[redactor]") {
  const Redactor redactor({"p@ss w\"rd", "p@ss"});
  CHECK(redactor.redact("it is p@ss w\"rd!") == "it is [redacted]!");
  CHECK(redactor.redact("q=p%40ss%20w%22rd") == "q=[redacted]");
  CHECK(redactor.redact(R"("p@ss w\"rd")") == R"("[redacted]")");
}

TEST_CASE("the environment's secrets are those with a secret's name", "[redactor]") {
  CHECK(secrets_of({{"HF_TOKEN", "abcdefgh"}, {"HOME", "/home/ann"}, {"A_TOKEN", "1"}}) ==
        std::vector<std::string>{"abcdefgh"});
}

TEST_CASE("a hostile text takes linear time", "[redactor]") {
  for (const std::string& part :
       {std::string("@"), std::string("key="), std::string("://a:"), std::string("token=\""),
        std::string("password "), std::string("hf_"), std::string("-----BEGIN PRIVATE KEY-----"),
        std::string("a"), std::string("\\"), std::string("token='\\")}) {
    std::string text;
    while (text.size() < 1'000'000) text += part;
    CHECK(redacted(text).size() <= 20 * text.size());  // a quadratic one would not come to an end
  }
}
