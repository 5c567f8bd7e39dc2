#include "launcher/redact/names.h"

#include <string>
#include <vector>

#include "catch.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/redact/redactor.h"

using namespace safelaunch::redact;

namespace {

std::vector<std::string> names_not_of(NameKind kind, const std::vector<std::string>& names) {
  std::vector<std::string> result;
  for (const std::string& name : names)
    if (kind_of_name(name) != kind) result.push_back(name);
  return result;
}

const std::vector<std::string> kNone;

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) words.emplace_back(safelaunch::take_word(text));
  return words;
}

}  // namespace

TEST_CASE("a name with a secret's word in it has a secret, however it is spelled",
          "[redact][names]") {
  CHECK(names_not_of(
            NameKind::secret,
            words_of(
                "password PASSWORD Password dbPassword db_password db-password db.password "
                "--password PGPASSWORD pgpassword passwd PASSWD passphrase pass_phrase pass-word "
                "passcode secret clientSecret client_secret clientsecret credential credentials "
                "SERVICE_CREDENTIAL apikey apiKey API_KEY X-Api-Key api.key accesskey "
                "AWSAccessKeyId privatekey PrivateKey accountkey AccountKey sharedkey "
                "SharedAccessKey encryptionkey authkey subscriptionkey presharedkey pwd "
                "MYSQL_PWD psk creds SSHPASS keypass storepass requirepass masterauth userPwd "
                "otp jwt dbpass authorization access_key_id private_key_id secret_id "
                "secret_access_key password2 password_value password_b64 secret_base64 "
                "new_password SECRET_SAUCE spring.datasource.password")) == kNone);
}

TEST_CASE("a key of a service or a login is a secret", "[redact][names]") {
  CHECK(names_not_of(
            NameKind::secret,
            words_of(
                "api_key access_key private_key account_key shared_key preshared_key auth_key "
                "secret_key signing_key encryption_key storage_key subscription_key wandb_key "
                "kaggle_key ssh_key license_key client_key unseal_key master_key consumer_key "
                "service_key integration_key hmac_key app_key openai_key anthropic_key azure_key "
                "application_key ingest_key deploy_key WANDB_KEY wandbKey --wandb-key "
                "client-key-data")) == kNone);
}

TEST_CASE("a key of a table, a cache or a store is none", "[redact][names]") {
  CHECK(names_not_of(
            NameKind::plain,
            words_of(
                "cache_key primary_key foreign_key sort_key group_key partition_key row_key "
                "hash_key dict_key store_key barrier_key map_key object_key public_key pub_key "
                "index_key query_key hot_key data_key input_key output_key lookup_key unique_key "
                "state_key worker_key rank_key config_key label_key idempotency_key dedup_key "
                "registry_key metric_key batch_key image_key text_key SORT_KEY cacheKey")) ==
        kNone);
}

TEST_CASE("a key of which nothing is known is judged by its value", "[redact][names]") {
  CHECK(names_not_of(NameKind::key, {"key", "--key", "Key", "session.key", "logger.key", "tokens",
                                     "api_tokens"}) == kNone);
  CHECK(names_not_of(NameKind::token, {"MY_KEY", "STRANGE_KEY", "A_B_KEY"}) == kNone);
}

TEST_CASE("a token is secret unless it is a model's", "[redact][names]") {
  CHECK(
      names_not_of(
          NameKind::token,
          words_of(
              "token TOKEN hf_token HF_TOKEN --token authToken _authToken refreshtoken "
              "accesstoken X-Auth-Token github_pat GITLAB_PAT auth _auth REDISCLI_AUTH cookie "
              "Set-Cookie session.cookies cred pass DB_PASS bind_pw ROOT_PW token2 token_value")) ==
      kNone);
  CHECK(
      names_not_of(
          NameKind::plain,
          words_of("pad_token eos_token bos_token unk_token mask_token cls_token sep_token "
                   "image_token next_token special_token start_token end_token stop_token "
                   "text_token video_token audio_token num_token max_token min_token prompt_token "
                   "class_token eot_token boi_token eoi_token patch_token per_token last_token "
                   "first_token use_token decoder_token begin_token continuation_token max_tokens "
                   "num_tokens prompt_tokens tokenizer tokenized pat")) == kNone);
}

TEST_CASE("what belongs to a secret and is none has a plain name", "[redact][names]") {
  CHECK(names_not_of(
            NameKind::plain,
            words_of(
                "password_file token_path secret_name secretName credentials_dir key_type "
                "token_type_ids password_length api_key_env auth_url token_endpoint auth_policy "
                "auth_method auth_mode token_ttl password_expiry token_expires key_format "
                "api_key_version token_index token_dim token_position token_rate token_limit "
                "password_required auth_enabled auth_disabled auth_host auth_port auth_user "
                "credential_helper credential_provider password_hint token_mask keyring key_ring "
                "password_manager credential_store auth_backend token_parallelism tokens_seen "
                "tokens_per_second tokens_per_step tokens_per_sec auth_info SSH_AUTH_SOCK "
                "certificate_authority token_id key_id token_ids logged_in_at token_timeout "
                "token_loss token_embedding token_mixer GIT_ASKPASS key_algorithm key_digest "
                "password_age secret_ref secret_region secret_rotation PasswordAuthentication "
                "auth_service")) == kNone);
}

TEST_CASE("words that only sound like a secret's name have none", "[redact][names]") {
  CHECK(names_not_of(
            NameKind::plain,
            {"",           "-",        "__",         "author",      "authors",      "authority",
             "bypass",     "compass",  "passed",     "passes",      "passive",      "monkey",
             "keyboard",   "keyword",  "hotkeys",    "secretary",   "passwordless", "PATH",
             "PWDX",       "pattern",  "patch",      "path",        "section",      "create",
             "credit",     "autograd", "automatic",  "seconds",     "sequence",     "cookiecutter",
             "num_passes", "k_proj",   "pin_memory", "NCCL_IB_PKEY"}) == kNone);
}

TEST_CASE("the word in front of a name of one part counts as its first part", "[redact][names]") {
  CHECK(kind_of_name("key", "API") == NameKind::secret);
  CHECK(kind_of_name("key", "public") == NameKind::plain);
  CHECK(kind_of_name("token", "next") == NameKind::plain);
  CHECK(kind_of_name("token", "unexpected") == NameKind::plain);
  CHECK(kind_of_name("token", "your") == NameKind::token);
  CHECK(kind_of_name("sort_key", "API") == NameKind::plain);
}

TEST_CASE("of a very long name its end counts", "[redact][names]") {
  CHECK(kind_of_name(std::string(10'000, 'a') + "_password") == NameKind::secret);
  CHECK(kind_of_name("password_" + std::string(10'000, 'a')) == NameKind::plain);
}

TEST_CASE("the quick look at a name never misses a secret's", "[redact][names]") {
  for (const char* stem :
       {"password", "secret", "credential", "apikey", "token", "auth", "cookie", "pass", "x_pw",
        "pat", "otp", "jwt", "psk", "pwd", "creds", "key", "X-PW", "bind.pw"}) {
    CHECK(may_name_a_secret(stem));
    CHECK(may_name_a_secret("a_" + std::string(stem) + "_b"));
  }
  CHECK_FALSE(may_name_a_secret("learning_rate"));
  CHECK_FALSE(may_name_a_secret("NCCL_SOCKET_IFNAME"));
}

// ---- values

namespace {

std::vector<std::string> values_shown_as(bool secret, NameKind kind, std::string_view name,
                                         const std::vector<std::string>& values) {
  std::vector<std::string> result;
  for (const std::string& value : values)
    if (is_secret_value(kind, name, value) == secret) result.push_back(value);
  return result;
}

}  // namespace

TEST_CASE("a value that says that there is no secret is none", "[redact][names]") {
  const std::vector<std::string> none{
      "",        "none",     "None",     "null",      "nil",       "true",    "False",
      "yes",     "no",       "on",       "off",       "undefined", "empty",   "unset",
      "n/a",     "required", "optional", "disabled",  "enabled",   "inherit", "default",
      "auto",    "str",      "string",   "bytes",     "int",       "bool",    "object",
      "is",      "not",      "was",      "must",      "nan",       "invalid", "missing",
      "expired", "ok",       "set",      "hidden",    "basic",     "bearer",  "oauth",
      "oauth2",  "oidc",     "kerberos", "anonymous", "negotiate", "digest",  "ldap",
      "local",   "munge",    "password", "token",     "key",       "secret",  "value",
      "text",    "lambda"};
  for (const NameKind kind : {NameKind::secret, NameKind::token, NameKind::key})
    CHECK(values_shown_as(true, kind, "x", none) == kNone);
}

TEST_CASE("a place for a secret is none", "[redact][names]") {
  const std::vector<std::string> places{
      "***",         "...",        "xxxx",         "XXXXXX",     "----",
      "____",        "<token>",    "<your key>",   "${TOKEN}",   "$(cat /x)",
      "{{ token }}", "%(token)s",  "%s",           "{}",         "[]",
      "()",          "{token}",    "{self.token}", "[MY_TOKEN]", "$MY_TOKEN",
      "$TOKEN2",     "[redacted]", "[x-redacted]", "HF_TOKEN",   "DB_PASSWORD"};
  CHECK(values_shown_as(true, NameKind::secret, "x", places) == kNone);
  const std::vector<std::string> secrets{"$ecret", "%secret",      "{a b}",    "[small]",
                                         "<half",  "half>",        "*a*",      "xxy",
                                         "$",      "A_PLAIN_NAME", "$mixedPW1"};
  CHECK(values_shown_as(false, NameKind::secret, "x", secrets) == kNone);
}

TEST_CASE("code that fetches a secret is none", "[redact][names]") {
  CHECK(values_shown_as(true, NameKind::secret, "x",
                        {"os.environ[\"TOKEN\"]", "getpass.getpass()", "get_token()", "self.token",
                         "args.password", "config.auth.token", "cfg.key", "load(\"/run/x\")",
                         "secrets[0]"}) == kNone);
  CHECK(values_shown_as(false, NameKind::secret, "x",
                        {"1abc(x", "pass word(1)", "self.tok-en!", "other.token", "(abc)"}) ==
        kNone);
}

TEST_CASE("a path to a secret is none, and base64 that begins with / is one", "[redact][names]") {
  CHECK(values_shown_as(true, NameKind::secret, "x",
                        {"/run/secrets/db", "~/.netrc", "./token.txt", "../key.pem",
                         "/var/run/secrets/kubernetes.io/serviceaccount/token",
                         "/data/run_17/key_3.pem"}) == kNone);
  CHECK(values_shown_as(
            false, NameKind::secret, "x",
            {"/aB3dE5fG7hI9jK1l", "/run/aB3dE5fG7/x", "/etc/x=", "~a b", "/", "//x!"}) == kNone);
}

TEST_CASE("a line of source is no secret", "[redact][names]") {
  CHECK(values_shown_as(true, NameKind::secret, "x", {"train.py:17", "a/b.py", "train.py"}) ==
        kNone);
  CHECK(values_shown_as(false, NameKind::secret, "x",
                        {".py", "train.py:", "train.py:1x", "train.pyc", "a.py:1:2"}) == kNone);
}

TEST_CASE("a token that is a number counts tokens", "[redact][names]") {
  const std::vector<std::string> counts{"0",    "17",    "-100",   "1234.5", "1e-4",
                                        "300B", "4,096", "12k",    "7M",     ".5",
                                        "10%",  "<pad>", "<|eot|", "[PAD]",  "[PAD0]"};
  CHECK(values_shown_as(true, NameKind::token, "token", counts) == kNone);
  CHECK(values_shown_as(false, NameKind::secret, "password",
                        {"0", "17", "1234.5", "300B", "12k"}) == kNone);
  CHECK(values_shown_as(false, NameKind::token, "token", {"1234567890123", "12x", "abc", "7MM!"}) ==
        kNone);
}

TEST_CASE("a short value of auth, cookie or pass is a setting", "[redact][names]") {
  for (const char* name : {"auth", "AUTH", "my_cookie", "db_pass"}) {
    CHECK_FALSE(is_secret_value(NameKind::token, name, "tls12"));
    CHECK(is_secret_value(NameKind::token, name, "tls123"));
  }
  CHECK(is_secret_value(NameKind::token, "token", "tls12"));
}

TEST_CASE("a value that repeats its name is none", "[redact][names]") {
  CHECK_FALSE(is_secret_value(NameKind::token, "hf_token", "hf_token"));
  CHECK_FALSE(is_secret_value(NameKind::secret, "db_password", "db_password"));
  CHECK(is_secret_value(NameKind::secret, "db_password", "db_password1"));
}

TEST_CASE("a plain name has no secret, whatever its value", "[redact][names]") {
  CHECK_FALSE(is_secret_value(NameKind::plain, "lr", "aB3dE5fG7hI9jK1lM3nO5p"));
  CHECK_FALSE(is_secret("cache_key", "8f14e45fceea167a5a36dedd4bea2543"));
  CHECK(is_secret("max_tokens", "128") == false);
  CHECK(is_secret("api_key", "abc"));
}

TEST_CASE("keys, hashes and tokens look random", "[redact][names]") {
  for (const char* value :
       {"8f14e45fceea167a5a36dedd4bea2543", "aB3dE5fG7hI9jK1l", "4bf92f3577b34da6a3ce929d0e0e4736",
        "8f6a2c1d-4b3e-4d5f-9a8b-7c6d5e4f3a2b", "a1b2c3d4-e5f6a7b8",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCY7", "ABCD1234-EFGH5678-IJ"})
    CHECK(looks_random(value));
}

TEST_CASE("names of stores, models, checkpoints and addresses in memory do not look random",
          "[redact][names]") {
  for (const char* value : {"c10d/0/worker/12345/rank/17", "layers.17.self_attn.q_proj.weight.0123",
                            "epoch_0017_step_00012345", "/default_pg/0//cuda//0",
                            "0x7f8a1c000b20ab", "worker/rank_17/node_3", "aB3dE5fG7hI9jK1",
                            "transformerlayer12345678", "model-00001-of-00030",
                            "key with a blank 12", "ABCDEFGHIJKLMNOPQRST", "12345678901234567890"})
    CHECK_FALSE(looks_random(value));
}

TEST_CASE("a long random value looks random although seven of its letters in a row could be a word",
          "[redact][names]") {
  CHECK(looks_random("3aNLF7ilyalbqx60XnAQmZpA5QLmAKyckL1a0Ong"));
  CHECK(looks_random("7xtOZsA17ttimhwc0RWb9gNWATQfuw"));            // a word has two vowels
  CHECK(looks_random("1yqitWJweczvsehZZTSsN09J5WnSH5"));            // 13 changes of kind in 30
  CHECK(looks_random("3eeeebdc9cacf8096bad420fb2715ac322f909d4"));  // no word is hexadecimal
  for (const char* value :
       {"MyLongCheckpointName2OfModel3Trained", "Transformer2Block3Attention4Weight5",
        "l1.b2.c3.d4.transformer5.w6.b7.x8"})
    CHECK_FALSE(looks_random(value));
}

TEST_CASE("a password of a sentence has letters and digits, and eight bytes", "[redact][names]") {
  for (const char* value : {"hunter22", "Tr0ub4dor&3", "abcdefg1"})
    CHECK(looks_like_password(value));
  for (const char* value : {"hunter2", "swordfish", "12345678", "https://host1/x", "/run/x1/abc",
                            "${PASSWORD1}", "os.environ[1]"})
    CHECK_FALSE(looks_like_password(value));
}

TEST_CASE("only a value that can be nothing else is looked for everywhere", "[redact][names]") {
  for (const char* value : {"abcd1234", "correcthorsebattery", "a1!@#$%^"})
    CHECK(is_worth_learning(value));
  for (const char* value : {"abc1234", "swordfish", "12345678", "none", "https://h1.example.com/x",
                            "http://h1.example.com/xyz", "/home/bob/key.pem", "[redacted]"})
    CHECK_FALSE(is_worth_learning(value));
}

TEST_CASE("names of users, hosts and places stand beside secrets", "[redact][names]") {
  for (const char* name : {"user", "User", "USERNAME", "host", "hostname", "port", "type", "name",
                           "region", "url", "kind", "email"})
    CHECK(stands_beside_secrets(name));
  for (const char* name : {"", "users", "pw", "value", "id", "hostnamehostnamehost"})
    CHECK_FALSE(stands_beside_secrets(name));
}

TEST_CASE("the session of a store of passwords is a secret, another session is none",
          "[redact][names]") {
  const std::string value = "5PBYGU+5yt3RHcCjoeJKx/wByU34vokGRZjXpSH7Ylo8w5==";
  CHECK(is_secret("BW_SESSION", value));
  CHECK(is_secret("OP_SESSION_my", value));
  CHECK_FALSE(is_secret("DESKTOP_SESSION", "ubuntu"));
  CHECK_FALSE(is_secret("HYDRA_SESSION", "20261122-153012-a1b2c3"));
}
