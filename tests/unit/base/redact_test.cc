#include "safelaunch/base/redact.h"

#include "catch.h"

using namespace safelaunch;
using Words = std::vector<std::string>;

TEST_CASE("names that hold secrets are known in any spelling", "[redact]") {
  for (const char* name : {"HF_TOKEN", "--hf-token", "WANDB_API_KEY", "aws_secret_access_key",
                           "AWS_ACCESS_KEY_ID", "db_password", "MY_SECRET"})
    CHECK(is_secret_name(name));
  for (const char* name : {"PATH", "NCCL_DEBUG", "TOKENIZERS_PARALLELISM", "--max-tokens", "--key"})
    CHECK_FALSE(is_secret_name(name));
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
  CHECK(redact(words) == Words{"accelerate", "launch", "--aws_access_key_id", "[redacted]", "--lr",
                               "1e-4", "--hf-token=[redacted]", "train.py"});
}

TEST_CASE("a flag with a secret name does not eat the option behind it", "[redact]") {
  CHECK(redact(Words{"--use-token", "--lr", "3"}) == Words{"--use-token", "--lr", "3"});
}

TEST_CASE("passwords in URLs and well-known tokens are replaced in any text", "[redact]") {
  CHECK(redact_text("clone https://bob:hunter2@host/x ok") ==
        "clone https://bob:[redacted]@host/x ok");
  CHECK(redact_text("https://bob:p@ss@host/x and http://h:80/a@b") ==
        "https://bob:[redacted]@host/x and http://h:80/a@b");
  CHECK(redact_text("x.hf_ABCDEFGHIJKLMNOPQRST, SG.abcdefghij.klmnopqrst") ==
        "x.[redacted], [redacted]");
  CHECK(redact_text("token hf_ABCDEFGHIJKLMNOPQRST end") == "token [redacted] end");
  CHECK(redact_text("mail bob@host and hf_short stay") == "mail bob@host and hf_short stay");
}
