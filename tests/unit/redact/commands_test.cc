#include "catch.h"
#include "launcher/redact/places.h"
#include "safelaunch/redact/redactor.h"

using safelaunch::redact::Redactor;
namespace redact = safelaunch::redact;
using Words = std::vector<std::string>;

namespace {

struct CommandCase {
  std::string text;
  std::string shown;
};

void check_commands(const std::vector<CommandCase>& cases) {
  const Redactor redactor;
  for (const CommandCase& each : cases) {
    CHECK(redactor.redact(each.text) == each.shown);
    CHECK(redactor.redact(each.shown) == each.shown);
  }
}

Words shown_words(const Words& words) {
  return Redactor().redact(words);
}

}  // namespace

TEST_CASE("the password behind a program's own option is taken out", "[redact][commands]") {
  const Redactor redactor;
  for (const auto& [program, option] : std::vector<std::pair<std::string, std::string>>{
           {"sshpass", "-p"},    {"redis-cli", "-a"},    {"mongo", "-p"},
           {"mongosh", "-p"},    {"mongodump", "-p"},    {"mongorestore", "-p"},
           {"ldapsearch", "-w"}, {"ldapadd", "-w"},      {"ldapmodify", "-w"},
           {"ipmitool", "-P"},   {"docker login", "-p"}, {"podman login", "-p"},
           {"helm login", "-p"}, {"skopeo login", "-p"}, {"oras login", "-p"},
           {"az login", "-p"},   {"openssl enc", "-k"},  {"unzip", "-P"},
           {"zip", "-P"},        {"htpasswd", "-b"}}) {
    const std::string start = program + " " + option;
    INFO(start);
    CHECK(redactor.redact(start + " orange x") == start + " [redacted] x");
    CHECK(redactor.redact(start + " 'an orange' x") == start + " '[redacted]' x");
    CHECK(redactor.redact(start + "'orange' x") == start + "'[redacted]' x");
    CHECK(redactor.redact(start + "=orange x") == start + "=[redacted] x");
    CHECK(redactor.redact(start + " none x") == start + " none x");
    CHECK(redactor.redact(start + " --x y") == start + " --x y");
    CHECK(redactor.redact(start) == start);
  }
}

TEST_CASE("the password behind the colon of a login is taken out", "[redact][commands]") {
  check_commands({
      {"curl -u bob:orange https://h/", "curl -u bob:[redacted] https://h/"},
      {"curl -ubob:orange https://h/", "curl -ubob:[redacted] https://h/"},
      {"curl --user bob:orange https://h/", "curl --user bob:[redacted] https://h/"},
      {"curl --user=bob:orange https://h/", "curl --user=bob:[redacted] https://h/"},
      {"curl -U bob:orange https://h/", "curl -U bob:[redacted] https://h/"},
      {"curl --proxy-user bob:orange h", "curl --proxy-user bob:[redacted] h"},
      {"curl -u 'bob:an orange' h", "curl -u 'bob:[redacted]' h"},
      {"/usr/bin/curl -u bob:orange h", "/usr/bin/curl -u bob:[redacted] h"},
      {"openssl rsa -passin pass:orange -in x", "openssl rsa -passin pass:[redacted] -in x"},
      {"openssl x -passout env:orange", "openssl x -passout env:[redacted]"},
      {"smbclient //nas -U bob%orange", "smbclient //nas -U bob%[redacted]"},
      {"curl -u bob h", "curl -u bob h"},
      {"curl -u bob: h", "curl -u bob: h"},
      {"smbclient //nas -U bob", "smbclient //nas -U bob"},
  });
}

TEST_CASE("cookies of curl are taken out where they are pairs", "[redact][commands]") {
  check_commands({
      {"curl -b sid=orange h", "curl -b [redacted] h"},
      {"curl --cookie 'sid=an orange' h", "curl --cookie '[redacted]' h"},
      {"curl -b cookies.txt h", "curl -b cookies.txt h"},
  });
}

TEST_CASE("a password in the option's own word is taken out", "[redact][commands]") {
  const Redactor redactor;
  for (const char* program : {"mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb",
                              "mariadb-dump", "7z", "7za", "7zr"}) {
    const std::string start = program;
    CHECK(redactor.redact(start + " -u root -porange x") == start + " -u root -p[redacted] x");
    CHECK(redactor.redact(start + " -p'orange' x") == start + " -p'[redacted]' x");
    CHECK(redactor.redact(start + " -p train") == start + " -p train");
  }
}

TEST_CASE("the last word of a login is a key", "[redact][commands]") {
  const std::string key(40, 'k');
  check_commands({
      {"wandb login " + key, "wandb login [redacted]"},
      {"wandb login --relogin " + key, "wandb login --relogin [redacted]"},
      {"wandb login --host=https://wandb.example.com",
       "wandb login --host=https://wandb.example.com"},
      {"wandb login short", "wandb login short"},
      {"wandb sync " + std::string(40, 'r'), "wandb sync " + std::string(40, 'r')},
      {"gcloud auth activate-refresh-token bob orange",
       "gcloud auth activate-refresh-token bob [redacted]"},
      {"gcloud auth list", "gcloud auth list"},
      {"mc alias set minio https://h ID orange", "mc alias set minio https://h ID [redacted]"},
      {"mc alias set minio https://h", "mc alias set minio https://h"},
      {"mc alias list", "mc alias list"},
      {"dvc remote modify o password orange", "dvc remote modify o password [redacted]"},
      {"dvc remote modify o url s3://b/x", "dvc remote modify o url s3://b/x"},
      {"sqlplus scott/orange@db", "sqlplus scott/[redacted]@db"},
      {"sqlplus scott/orange", "sqlplus scott/[redacted]"},
      {"sqlplus /nolog", "sqlplus /nolog"},
      {"sqlplus scott@db/x", "sqlplus scott@db/x"},
      {"wandb", "wandb"},
  });
}

TEST_CASE("a word that is piped into a program that asks for a password is one",
          "[redact][commands]") {
  check_commands({
      {"echo orange | sudo -S true", "echo [redacted] | sudo -S true"},
      {"printf orange | docker login --password-stdin",
       "printf [redacted] | docker login --password-stdin"},
      {"echo orange | passwd --stdin bob", "echo [redacted] | passwd --stdin bob"},
      {"echo orange | gh auth login --with-token", "echo [redacted] | gh auth login --with-token"},
      {"echo bob:orange | chpasswd -e x", "echo [redacted] | chpasswd -e x"},
      {"echo 'an orange' | sudo -S true", "echo '[redacted]' | sudo -S true"},
      {"echo orange | tee x", "echo orange | tee x"},
      {"echo an orange | sudo -S true", "echo an orange | sudo -S true"},
      {"echo", "echo"},
  });
}

TEST_CASE("the same letters are a port, a folder or a user elsewhere", "[redact][commands]") {
  check_commands({
      {"docker run -p 8080:80 img", "docker run -p 8080:80 img"},
      {"podman run -p 8080:80 img", "podman run -p 8080:80 img"},
      {"helm install -p x", "helm install -p x"},
      {"ssh -p 2222 -u x", "ssh -p 2222 -u x"},
      {"scp -P 2222 x y", "scp -P 2222 x y"},
      {"mkdir -p /data/out", "mkdir -p /data/out"},
      {"python -u train.py -k 3", "python -u train.py -k 3"},
      {"mycurl -u a:b", "mycurl -u a:b"},
      {"curly -u a:b", "curly -u a:b"},
      {"curl.py -u a:b", "curl.py -u a:b"},
      {"zip: -P x", "zip: -P x"},
  });
}

TEST_CASE("a command as Python and JSON list it is one too", "[redact][commands]") {
  check_commands({
      {"['curl', '-u', 'bob:orange', 'h']", "['curl', '-u', 'bob:[redacted]', 'h']"},
      {R"(["sshpass", "-p", "orange", "ssh"])", R"(["sshpass", "-p", "[redacted]", "ssh"])"},
      {"['mysql', '-porange']", "['mysql', '-p[redacted]']"},
      {"[sshpass, -p, orange, ssh]", "[sshpass, -p, orange, ssh]"},
  });
}

TEST_CASE("a command ends with its line", "[redact][commands]") {
  check_commands({
      {"sshpass\n-p orange", "sshpass\n-p orange"},
      {"sshpass -p\norange", "sshpass -p\norange"},
      {"sshpass -p orange\n-p apple", "sshpass -p [redacted]\n-p apple"},
  });
}

TEST_CASE("a very long command is read to its limits", "[redact][commands]") {
  std::string many = "sshpass";
  for (int i = 0; i < 62; ++i) many += " x";
  CHECK(Redactor().redact(many + " -porange y") == many + " -p[redacted] y");
  std::string more = "sshpass " + std::string(5'000, 'x') + " -porange";
  CHECK(Redactor().redact(more) == more);
}

// ---- words of a command line

TEST_CASE("each spelling of a secret option is understood in the words of a command",
          "[redact][words]") {
  CHECK(shown_words({"x", "--password", "orange"}) == Words{"x", "--password", "[redacted]"});
  CHECK(shown_words({"x", "--password=orange"}) == Words{"x", "--password=[redacted]"});
  CHECK(shown_words({"x", "-password", "orange"}) == Words{"x", "-password", "[redacted]"});
  CHECK(shown_words({"x", "password=orange"}) == Words{"x", "password=[redacted]"});
  CHECK(shown_words({"x", "+db.password=orange"}) == Words{"x", "+db.password=[redacted]"});
  CHECK(shown_words({"x", "--db.password", "orange"}) == Words{"x", "--db.password", "[redacted]"});
  CHECK(shown_words({"x", "--set", "a=1,password=orange,b=2"}) ==
        Words{"x", "--set", "a=1,password=[redacted],b=2"});
  CHECK(shown_words({"env", "HF_TOKEN=orange", "python"}) ==
        Words{"env", "HF_TOKEN=[redacted]", "python"});
  CHECK(shown_words({"bash", "-c", "curl -u bob:orange h"}) ==
        Words{"bash", "-c", "curl -u bob:[redacted] h"});
}

TEST_CASE("a password with blanks, quotes or line ends is one word of a command",
          "[redact][words]") {
  for (const char* password : {"an orange", "or\"ange", "or'ange", "or\nange", "or\\ange",
                               "or|ange", "[orange", "(orange)", "a\tb", "or`ange"})
    CHECK(shown_words({"x", "--password", password, "--lr", "3"}) ==
          Words{"x", "--password", "[redacted]", "--lr", "3"});
}

TEST_CASE("as many words come back as were given, empty ones too", "[redact][words]") {
  CHECK(shown_words({}) == Words{});
  CHECK(shown_words({""}) == Words{""});
  CHECK(shown_words({"", "--password", "", "x"}).size() == 4);
  CHECK(shown_words({"--password"}) == Words{"--password"});
}

TEST_CASE("the words of a training command stay as they are", "[redact][words]") {
  const Words words{"torchrun",
                    "--nproc-per-node",
                    "8",
                    "--rdzv-endpoint",
                    "10.0.0.1:29400",
                    "--rdzv-id",
                    "456",
                    "train.py",
                    "--tokenizer",
                    "gpt2",
                    "--max-tokens",
                    "512",
                    "--token-file",
                    "/run/token",
                    "--keys",
                    "a",
                    "b",
                    "-k",
                    "3",
                    "-p",
                    "4",
                    "--save",
                    "a b c",
                    "--json",
                    "{\"lr\": 0.1, \"key\": 3}"};
  CHECK(shown_words(words) == words);
}

TEST_CASE("words that were redacted once stay", "[redact][words]") {
  for (const Words& words :
       {Words{"x", "--password", "orange", "--lr", "3"}, Words{"curl", "-u", "bob:orange", "h"},
        Words{"x", "--opts", "a=1,password=pw"}, Words{"wandb", "login", std::string(40, 'k')},
        Words{"x", "Authorization: Bearer abcd1234"}, Words{"sshpass", "-porange"}}) {
    const Words once = shown_words(words);
    CHECK(once != words);
    CHECK(shown_words(once) == once);
  }
}

TEST_CASE("the secrets of a command are learned from its words", "[redact][words]") {
  Redactor redactor;
  const Words words{"sshpass", "-p", "swordfish", "x", "--api-key=abcd1234", "--lr", "0.001234"};
  redactor.learn(std::span<const std::string>(words));
  CHECK(redactor.redact("swordfish, abcd1234 and 0.001234 of sshpass") ==
        "[redacted], [redacted] and 0.001234 of sshpass");
}

TEST_CASE("a line that names one program again and again is not read again for each",
          "[redact][commands]") {
  std::string line;
  for (int i = 0; i < 500; ++i) line += "curl -u joe:orange ";
  CHECK(redact::secret_places(line).size() < 5 * 500);
  CHECK(Redactor().redact(line).find("orange") == std::string::npos);
}

TEST_CASE("a program that is named twice in a line is read as far behind its second name",
          "[redact][commands]") {
  std::string line = "curl";
  for (int i = 0; i < 60; ++i) line += " x";
  line += " curl a b c d e f -u joe:orange";
  CHECK(Redactor().redact(line).ends_with("-u joe:[redacted]"));
}

TEST_CASE("the password of an ldap.conf and of HTTPie is taken out", "[redact][commands]") {
  check_commands({{"bindpw hunter2orange", "bindpw [redacted]"},
                  {"rootpw hunter2orange", "rootpw [redacted]"},
                  {"bindpw must be set", "bindpw must be set"},
                  {"http -a joe:orange example.org", "http -a joe:[redacted] example.org"}});
}
