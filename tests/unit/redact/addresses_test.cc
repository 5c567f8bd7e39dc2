#include "catch.h"
#include "safelaunch/redact/redactor.h"

using safelaunch::redact::Redactor;

namespace {

struct AddressCase {
  std::string text;
  std::string shown;
};

void check_addresses(const std::vector<AddressCase>& cases) {
  const Redactor redactor;
  for (const AddressCase& each : cases) {
    CHECK(redactor.redact(each.text) == each.shown);
    CHECK(redactor.redact(each.shown) == each.shown);
  }
}

void check_untouched_addresses(const std::vector<std::string>& texts) {
  const Redactor redactor;
  for (const std::string& text : texts) CHECK(redactor.redact(text) == text);
}

}  // namespace

TEST_CASE("the password of a login is taken out of an address, and its user stays",
          "[redact][addresses]") {
  check_addresses({
      {"https://bob:pw@host/x", "https://bob:[redacted]@host/x"},
      {"https://bob:pw@host", "https://bob:[redacted]@host"},
      {"https://bob:pw@host?x=1", "https://bob:[redacted]@host?x=1"},
      {"https://bob:pw@host#x", "https://bob:[redacted]@host#x"},
      {"https://bob:a@b@host/x", "https://bob:[redacted]@host/x"},
      {"https://bob:a:b@host/x", "https://bob:[redacted]@host/x"},
      {"https://bob:a/b@host/x", "https://bob:[redacted]@host/x"},
      {"https://bob:12/b@host/x", "https://bob:12/b@host/x"},
      {"redis://:pw@cache:6379/0", "redis://:[redacted]@cache:6379/0"},
      {"mysql+pymysql://root:pw@127.0.0.1/x", "mysql+pymysql://root:[redacted]@127.0.0.1/x"},
      {"tcp://bob:pw@[2001:db8::1]:80/x", "tcp://bob:[redacted]@[2001:db8::1]:80/x"},
      {"a https://u:p1@h1 b https://u:p2@h2 c",
       "a https://u:[redacted]@h1 b https://u:[redacted]@h2 c"},
      {"'https://u:p@h'", "'https://u:[redacted]@h'"},
      {"<https://u:p@h>", "<https://u:[redacted]@h>"},
      {"http://u:p@h|https://u:q@h", "http://u:[redacted]@h|https://u:[redacted]@h"},
  });
}

TEST_CASE("a login without a password is a token where it is long", "[redact][addresses]") {
  check_addresses({
      {"https://0123456789abcdef@sentry.io/1", "https://[redacted]@sentry.io/1"},
      {"https://a1b2c3d4e5f6a7b8:x@host/", "https://[redacted]:[redacted]@host/"},
  });
  check_untouched_addresses(
      {"https://0123456789abcde@host/1", "ssh://git@github.com/x/y", "https://bob:@host/x"});
}

TEST_CASE("an address without a login stays whole", "[redact][addresses]") {
  check_untouched_addresses({
      "http://host:8080/a@b",
      "http://host/a@b:c",
      "tcp://10.0.0.1:29500",
      "http://[2001:db8::1]:8443/x",
      "file:///home/bob/a:b@c",
      "://",
      "http://",
      "http://@",
      "http://:",
      "http:// bob:pw@host",
      "https://huggingface.co/meta-llama/Llama-3.1-8B/resolve/main/config.json?download=true",
      "https://pytorch.org/docs/stable/distributed.html#torch.distributed.Store",
  });
}

TEST_CASE("a parameter of an address is secret by its name and length", "[redact][addresses]") {
  const Redactor redactor;
  for (const char* name :
       {"sig",     "signature", "key",   "code", "auth",  "state",     "policy", "ticket",
        "session", "sid",       "sas",   "hash", "hdnea", "st",        "signed", "jwt",
        "pw",      "pass",      "nonce", "hmac", "SIG",   "Signature", "Key"}) {
    const std::string address = "https://h/x?a=1&" + std::string(name) + "=";
    CHECK(redactor.redact(address + "abcdefgh&b=2") == address + "[redacted]&b=2");
  }
  for (const char* name : {"sig", "key", "code", "state", "sid", "st", "hash"})
    CHECK(redactor.redact("https://h/x?" + std::string(name) + "=abcdefg").ends_with("=abcdefg"));
}

TEST_CASE("a parameter with a secret's name is taken out of any request", "[redact][addresses]") {
  check_addresses({
      {"https://h/x?api_key=abc&page=2", "https://h/x?api_key=[redacted]&page=2"},
      {"https://h/x?password=1", "https://h/x?password=[redacted]"},
      {"https://h/x?access_token=abc#top", "https://h/x?access_token=[redacted]"},
      {"https://h/cb#access_token=abc&token_type=bearer",
       "https://h/cb#access_token=[redacted]&token_type=bearer"},
      {"https://h/x?a=1;password=abc;b=2", "https://h/x?a=1;password=[redacted];b=2"},
      {"GET /x?step=1&sig=abcdefgh&y=2", "GET /x?step=1&sig=[redacted]&y=2"},
      {"\"GET /x?sig=abcdefgh HTTP/1.1\" 200", "\"GET /x?sig=[redacted] HTTP/1.1\" 200"},
      {"https://h/x?X-Amz-Signature=a&X-Amz-Credential=b&X-Amz-Security-Token=c&X-Amz-Date=d",
       "https://h/x?X-Amz-Signature=[redacted]&X-Amz-Credential=[redacted]"
       "&X-Amz-Security-Token=[redacted]&X-Amz-Date=d"},
      {"https://h/x?X-Goog-Signature=a&X-Goog-Algorithm=b",
       "https://h/x?X-Goog-Signature=[redacted]&X-Goog-Algorithm=b"},
  });
}

TEST_CASE("other parameters of an address stay", "[redact][addresses]") {
  check_untouched_addresses({
      "https://h/x?page=2&darkMode=true",
      "https://h/x?state=done&code=404&hash=1a2b",
      "https://h/x?max_tokens=128&token_type=bearer",
      "https://h/x?token=5",
      "https://h/x?token=",
      "https://h/x?=abc",
      "https://h/x?&&;;##",
      "https://h/x?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Expires=3600",
      "what? key=3; code=4",
      "is it ready?",
  });
}

TEST_CASE("a web hook's address is a key, and its service stays readable", "[redact][addresses]") {
  check_addresses({
      {"https://hooks.slack.com/services/T0/B0/xyz", "https://hooks.slack.com/services/[redacted]"},
      {"https://hooks.slack.com/workflows/T0/A0/1/x",
       "https://hooks.slack.com/workflows/[redacted]"},
      {"https://hooks.slack.com/triggers/T0/1/x", "https://hooks.slack.com/triggers/[redacted]"},
      {"https://api.telegram.org/bot1:AA/sendMessage",
       "https://api.telegram.org/bot[redacted]/sendMessage"},
      {"https://a.webhook.office.com/webhookb2/x/y",
       "https://a.webhook.office.com/webhookb2/[redacted]"},
      {"https://outlook.office.com/webhook/x", "https://outlook.office.com/webhook/[redacted]"},
      {"https://hooks.zapier.com/hooks/catch/1/a/",
       "https://hooks.zapier.com/hooks/catch/[redacted]"},
      {"https://maker.ifttt.com/trigger/x/with/key/k",
       "https://maker.ifttt.com/trigger/x/with/key/[redacted]"},
      {"https://open.feishu.cn/open-apis/bot/v2/hook/u",
       "https://open.feishu.cn/open-apis/bot/v2/hook/[redacted]"},
      {"https://events.pagerduty.com/integration/k/enqueue",
       "https://events.pagerduty.com/integration/[redacted]"},
      {"https://hc-ping.com/u", "https://hc-ping.com/[redacted]"},
      {"https://discord.com/api/webhooks/123/abc",
       "https://discord.com/api/webhooks/123/[redacted]"},
  });
  check_untouched_addresses({"https://hooks.slack.com/services/", "https://hc-ping.com/",
                             "https://discord.com/api/webhooks/123",
                             "https://api.telegram.org/bot/x"});
}

TEST_CASE("the token of a conda channel is taken out, and a topic of a forum stays",
          "[redact][addresses]") {
  check_addresses({
      {"https://conda.anaconda.org/t/ab-1f2e3d4c-5b6a-7988/private/linux-64",
       "https://conda.anaconda.org/t/[redacted]/private/linux-64"},
      {"https://h/conda/t/a1B2c3D4e5F6g7H8", "https://h/conda/t/[redacted]"},
  });
  check_untouched_addresses({
      "https://discuss.pytorch.org/t/nccl-timeout-error-on-multi-node/12345",
      "https://discuss.pytorch.org/t/how-to-solve-dist-init-process-group-from-hanging/103321",
      "https://h/t/short/x",
      "https://h/t/",
  });
}

TEST_CASE("the password of an Oracle login is taken out", "[redact][addresses]") {
  check_addresses({
      {"jdbc:oracle:thin:scott/tiger@//db:1521/orcl",
       "jdbc:oracle:thin:scott/[redacted]@//db:1521/orcl"},
      {"jdbc:oracle:oci:scott/a/b@db", "jdbc:oracle:oci:scott/[redacted]@db"},
      {"jdbc:oracle:thin:a/b@x jdbc:oracle:thin:c/d@y",
       "jdbc:oracle:thin:a/[redacted]@x jdbc:oracle:thin:c/[redacted]@y"},
  });
  check_untouched_addresses({"jdbc:oracle:thin:@//db:1521/orcl", "jdbc:oracle:thin:@db/x",
                             "jdbc:oracle:", "jdbc:oracle:thin"});
}

TEST_CASE("an address in another coat shows its password no more", "[redact][addresses]") {
  check_addresses({
      {R"("https:\/\/bob:pw1234@host\/x")", R"("https:\/\/bob:[redacted]@host\/x")"},
      {"to=https%3A%2F%2Fbob%3Apw1234%40host%2Fx", "to=https%3A%2F%2Fbob%3A[redacted]%40host%2Fx"},
      {"<a href=&quot;https://u:p@h&quot;>", "<a href=&quot;https://u:[redacted]@h&quot;>"},
  });
}
