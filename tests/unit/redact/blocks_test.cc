#include "catch.h"
#include "safelaunch/redact/redactor.h"

using safelaunch::redact::Redactor;

namespace {

const std::string kKeyLine = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n";

std::string without_blocks(const std::string& text) {
  return Redactor().redact(text);
}

}  // namespace

TEST_CASE("a private key is taken out between its markers, of whatever kind", "[redact][blocks]") {
  for (const char* kind :
       {"", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ", "SSH2 ENCRYPTED "}) {
    const std::string begin = "-----BEGIN " + std::string(kind) + "PRIVATE KEY";
    const std::string end = "-----END " + std::string(kind) + "PRIVATE KEY-----";
    CHECK(without_blocks("a\n" + begin + "-----\n" + kKeyLine + kKeyLine + end + "\nb") ==
          "a\n" + begin + "[redacted]" + end + "\nb");
  }
  CHECK(without_blocks("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n" + kKeyLine +
                       "=abcd\n-----END PGP PRIVATE KEY BLOCK-----") ==
        "-----BEGIN PGP PRIVATE KEY[redacted]-----END PGP PRIVATE KEY BLOCK-----");
}

TEST_CASE("two keys in one text leave what stands between them", "[redact][blocks]") {
  const std::string key = "-----BEGIN PRIVATE KEY-----\n" + kKeyLine + "-----END PRIVATE KEY-----";
  const std::string shown = "-----BEGIN PRIVATE KEY[redacted]-----END PRIVATE KEY-----";
  CHECK(without_blocks(key + "\nloaded\n" + key) == shown + "\nloaded\n" + shown);
}

TEST_CASE("a key without its end is taken out as far as base64 goes", "[redact][blocks]") {
  CHECK(without_blocks("-----BEGIN PRIVATE KEY-----\n" + kKeyLine + kKeyLine + "rank 3 failed\n") ==
        "-----BEGIN PRIVATE KEY[redacted]\nrank 3 failed\n");
  CHECK(without_blocks("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n" + kKeyLine +
                       "abcd==\nrank 3 failed") ==
        "-----BEGIN RSA PRIVATE KEY[redacted]\nrank 3 failed");
  CHECK(without_blocks("-----BEGIN PRIVATE KEY-----\n[rank0] " + kKeyLine + "abcd\ndone") ==
        "-----BEGIN PRIVATE KEY[redacted]\ndone");
}

TEST_CASE("a marker without a key leaves the lines below it", "[redact][blocks]") {
  CHECK(without_blocks("cannot read -----BEGIN PRIVATE KEY-----\nERROR: no route to host\n\n"
                       "rank 3: exit status 1\n") ==
        "cannot read -----BEGIN PRIVATE KEY[redacted]\nERROR: no route to host\n\n"
        "rank 3: exit status 1\n");
}

TEST_CASE("a key without its begin is taken out backwards as far as base64 goes",
          "[redact][blocks]") {
  CHECK(without_blocks("rank 3 failed\n" + kKeyLine + kKeyLine +
                       "abcd\n-----END PRIVATE KEY-----\n") ==
        "rank 3 failed\n[redacted]-----END PRIVATE KEY-----\n");
  CHECK(without_blocks(kKeyLine + "-----END PRIVATE KEY-----") ==
        "[redacted]-----END PRIVATE KEY-----");
  CHECK(without_blocks("rank 3 failed\n-----END PRIVATE KEY-----\n") ==
        "rank 3 failed\n-----END PRIVATE KEY-----\n");
}

TEST_CASE("words about a private key are none", "[redact][blocks]") {
  for (const char* text :
       {"PRIVATE KEY", "no PRIVATE KEY in /etc/ssl", "----- PRIVATE KEY -----",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC "
        "KEY-----",
        "-----BEGIN CERTIFICATE-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END "
        "CERTIFICATE-----"})
    CHECK(without_blocks(text) == text);
}

TEST_CASE("a marker far behind its begin does not hide what lies between", "[redact][blocks]") {
  std::string log;
  while (log.size() < 70'000) log += "rank 3 waits in all_reduce\n";
  const std::string shown = without_blocks("-----BEGIN PRIVATE KEY-----\n" + kKeyLine + log +
                                           "-----END PRIVATE KEY-----");
  CHECK(shown == "-----BEGIN PRIVATE KEY[redacted]\n" + log + "-----END PRIVATE KEY-----");
}

TEST_CASE("a key within JSON is taken out with the signs of its lines", "[redact][blocks]") {
  CHECK(without_blocks(R"({"k": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\n)"
                       R"(-----END PRIVATE KEY-----\n", "lr": 1})") ==
        R"({"k": "-----BEGIN PRIVATE KEY[redacted]-----END PRIVATE KEY-----\n", "lr": 1})");
}

TEST_CASE("a key of PuTTY loses its private lines and its checksum", "[redact][blocks]") {
  const std::string head = "Public-Lines: 1\nAAAAC3NzaC1lZDI1NTE5AAAAIJUo\nPrivate-Lines: 2\n";
  CHECK(without_blocks(head + "abc\ndef\nPrivate-MAC: 0746\nrank 3\n") ==
        head + "[redacted]\nPrivate-MAC: [redacted]\nrank 3\n");
  CHECK(without_blocks(head + "abc") == head + "[redacted]");
  CHECK(without_blocks(head) == head);
  for (const char* count : {"0", "x", "-1", ""}) {
    const std::string text = "Private-Lines: " + std::string(count) + "\nrank 3\n";
    CHECK(without_blocks(text) == text);
  }
}

TEST_CASE("a hostile number of PuTTY's lines takes at most 200 of them", "[redact][blocks]") {
  std::string lines;
  for (int i = 0; i < 300; ++i) lines += "rank 3 waits\n";
  const std::string shown = without_blocks("Private-Lines: 18446744073709551615\n" + lines);
  CHECK(shown.size() >= 100 * std::string("rank 3 waits\n").size());
}

TEST_CASE("a key of PuTTY that was redacted leaves the lines below it", "[redact][blocks]") {
  const std::string text = "Private-Lines: 3\n[redacted]\nPrivate-MAC: [redacted]\nrank 3 failed\n";
  CHECK(without_blocks(text) == text);
}

TEST_CASE("the hash of a password is taken out and its scheme stays", "[redact][blocks]") {
  for (const char* scheme :
       {"$1$", "$5$", "$6$", "$y$", "$2y$", "$2a$", "$2b$", "$apr1$", "$argon2id$"})
    CHECK(without_blocks("root:" + std::string(scheme) + "abcdefgh$0123456789abcdefghijkl:1:") ==
          "root:" + std::string(scheme) + "[redacted]:1:");
}

TEST_CASE("a dollar in a script is no hash", "[redact][blocks]") {
  for (const char* text : {"awk '{print $1, $2, $6}'", "$1 and $6", "cost: $1.50", "$HOME/x",
                           "$7$abcdefgh$0123456789abcdefghijkl", "$", "$$", "$6$short"})
    CHECK(without_blocks(text) == text);
}

TEST_CASE("an encrypted vault of Ansible is taken out below its head", "[redact][blocks]") {
  const std::string digits(80, '7');
  CHECK(without_blocks("x: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  " + digits + "\n  " + digits +
                       "\nport: 1") ==
        "x: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n[redacted]\nport: 1");
  CHECK(without_blocks("$ANSIBLE_VAULT;1.1;AES256\nrank 3 failed") ==
        "$ANSIBLE_VAULT;1.1;AES256\nrank 3 failed");
  CHECK(without_blocks("$ANSIBLE_VAULT;1.1;AES256") == "$ANSIBLE_VAULT;1.1;AES256");
}
