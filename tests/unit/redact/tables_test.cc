#include "catch.h"
#include "safelaunch/redact/redactor.h"

using namespace safelaunch::redact;

namespace {

std::string shown(const std::string& text) {
  return Redactor().redact(text);
}

}  // namespace

TEST_CASE("the column below a password's name is taken out, and no other", "[redact][tables]") {
  CHECK(shown("user,password,host\nann,hunter2x,db1\nbob,correcthorse,db2\n") ==
        "user,password,host\nann,[redacted],db1\nbob,[redacted],db2\n");
  CHECK(shown("\"user\",\"passwd\"\n\"a, b\",\"x\"\"y,z1\"\n") ==
        "\"user\",\"passwd\"\n\"a, b\",\"[redacted]\"\n");
}

TEST_CASE("a table ends with the first line that has another number of fields",
          "[redact][tables]") {
  CHECK(shown("user,password\nann,hunter2x\n3 ranks are up\nann,hunter3x\n") ==
        "user,password\nann,[redacted]\n3 ranks are up\nann,hunter3x\n");
}

TEST_CASE("tables of counts and of words stay", "[redact][tables]") {
  for (const std::string text :
       {"epoch,loss,tokens\n1,0.5,13300\n2,0.4,16400\n", "test,pass,fail\nunit,12,0\nhooks,140,1\n",
        "id,token,tag\n1,Paris,LOC\n2,apple,O\n", "loss, password\nis asked, twice\n",
        "password\nis asked for\n"}) {
    INFO(text);
    CHECK(shown(text) == text);
  }
}

TEST_CASE("a line of a password file is known by its fields", "[redact][tables]") {
  CHECK(shown("a\ndb.example.com:5432:train:bob:swordfish\nb") ==
        "a\ndb.example.com:5432:train:bob:[redacted]\nb");
  CHECK(shown("db:*:*:bob:a:b:c") == "db:*:*:bob:[redacted]");
  for (const std::string line :
       {"db:5432:train:bob:", "db:54:train:bob:pw", "db:543210:train:bob:pw",
        "db:port:train:bob:pw", "db:5432::bob:pw", "db:5432:train:7:pw", "db:5432:9:bob:pw",
        "db:543:train:bob:a b", "/db:5432:train:bob:pw", "db :5432:train:bob:pw",
        "fe80:5432:abcd:ef:pw", "12:30:45:123:x", "node3:4242:4310 [0] NCCL INFO x:y:z"})
    CHECK(shown(line) == line);
}

TEST_CASE("a line of .pgpass is known within a sentence, a place in a program is none",
          "[redact][tables]") {
  CHECK(shown("cannot parse 'localhost:5432:*:ann:hunter2x' of .pgpass") ==
        "cannot parse 'localhost:5432:*:ann:[redacted]' of .pgpass");
  for (const std::string text : {"train.py:123:INFO:root:done", "at train.py:1234:fit:model:done",
                                 "worker:123:step:loss:late in a line"})
    CHECK(shown(text) == text);
}
