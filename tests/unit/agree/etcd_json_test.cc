#include "launcher/agree/etcd_json.h"

#include "catch.h"

namespace safelaunch::agree::etcd {
namespace {

TEST_CASE("base64 is that of RFC 4648", "[etcd_json]") {
  const std::pair<std::string, std::string> known[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : known) {
    CHECK(to_base64(bytes) == text);
    CHECK(from_base64(text) == bytes);
  }
}

TEST_CASE("every byte crosses in base64", "[etcd_json]") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  for (const std::size_t cut : {0U, 1U, 2U}) {
    const std::string bytes = all.substr(cut);
    CHECK(from_base64(to_base64(bytes)) == bytes);
  }
}

TEST_CASE("what is no base64 reads as nothing", "[etcd_json]") {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Zm9v=", "Z===", "====", "Zm=v", "Zm9-", "Zm 9", "\xff\xff\xff\xff"}) {
    INFO(text);
    CHECK_FALSE(from_base64(text));
  }
}

TEST_CASE("a transaction is written as etcd's gateway reads it", "[etcd_json]") {
  CHECK(Txn().text() == R"({"compare":[],"failure":[],"success":[]})");
  CHECK(Txn().if_created("a", 7).get("a").text() ==
        R"({"compare":[{"create_revision":"7","key":"YQ==","result":"EQUAL","target":"CREATE"}],)"
        R"("failure":[],"success":[{"request_range":{"key":"YQ=="}}]})");
  CHECK(Txn().if_changed("a", 0).put("a", "b", 9).else_get("a").text() ==
        R"({"compare":[{"key":"YQ==","mod_revision":"0","result":"EQUAL","target":"MOD"}],)"
        R"("failure":[{"request_range":{"key":"YQ=="}}],)"
        R"("success":[{"request_put":{"key":"YQ==","lease":"9","value":"Yg=="}}]})");
}

TEST_CASE("all keys under a prefix are those before the first that does not begin so",
          "[etcd_json]") {
  CHECK(Txn().if_none_under("a/").text() ==
        R"({"compare":[{"create_revision":"0","key":"YS8=","range_end":"YTA=","result":"EQUAL",)"
        R"("target":"CREATE"}],"failure":[],"success":[]})");
  CHECK(Txn().get_under("a/", 5).remove_under("a/").remove("b").text() ==
        R"({"compare":[],"failure":[],"success":[)"
        R"({"request_range":{"key":"YS8=","min_mod_revision":"5","range_end":"YTA="}},)"
        R"({"request_delete_range":{"key":"YS8=","range_end":"YTA="}},)"
        R"({"request_delete_range":{"key":"Yg=="}}]})");
}

TEST_CASE("an answer is read with its ranges in their order", "[etcd_json]") {
  const auto answer = txn_answer(R"({"header": {"revision": "12"}, "succeeded": true, "responses": [
      {"response_put": {}},
      {"response_range": {"count": "2", "kvs": [{"key": "YQ==", "value": "Yg==",
        "create_revision": "3", "mod_revision": 4, "lease": "18446744073709551615"}]}},
      {"response_range": {}}]})");
  REQUIRE(answer.has_value());
  CHECK(answer->succeeded);
  CHECK(answer->revision == 12);
  REQUIRE(answer->ranges.size() == 2);
  CHECK(answer->ranges[0].count == 2);
  const Key& key = answer->ranges[0].keys.at(0);
  CHECK(std::pair(key.name, key.value) == std::pair<std::string, std::string>("a", "b"));
  CHECK(key.created == 3);
  CHECK(key.changed == 4);
  CHECK(key.lease == 18'446'744'073'709'551'615U);
  CHECK(answer->ranges[1].keys.empty());
}

TEST_CASE("fields that a hostile etcd leaves out or writes wrongly read as nothing",
          "[etcd_json]") {
  const auto answer = txn_answer(R"({"header": {"revision": "x"}, "succeeded": "yes", "responses": [
      3, {"response_range": {"count": -1, "kvs": [7, {}, {"key": "!", "value": "Yg=="},
        {"key": "YQ==", "value": 9, "create_revision": "99999999999999999999"}]}}]})");
  REQUIRE(answer.has_value());
  CHECK_FALSE(answer->succeeded);
  CHECK(answer->revision == 0);
  REQUIRE(answer->ranges.size() == 1);
  CHECK(answer->ranges[0].count == 0);
  for (const Key& key : answer->ranges[0].keys) CHECK(key.created == 0);
}

TEST_CASE("what is no answer of etcd's is an error that shows its beginning", "[etcd_json]") {
  for (const char* text : {"", "<html>busy</html>", "3", "[]", "{}", R"({"header": 5})"}) {
    INFO(text);
    const auto answer = txn_answer(text);
    REQUIRE(answer.has_error());
    CHECK(answer.error().message ==
          "etcd sent an answer that is not the expected JSON: " + std::string(text));
    CHECK(lease_answer(text).has_error());
  }
  CHECK(txn_answer(std::string(1'000'000, '[')).error().message.size() < 300);
}

TEST_CASE("the questions about a lease name it", "[etcd_json]") {
  CHECK(grant_text(14) == R"({"TTL":"14"})");
  CHECK(lease_text(7'587'869'134) == R"({"ID":"7587869134"})");
}

TEST_CASE("the answer to a keep-alive is wrapped, and those of a grant and a look are not",
          "[etcd_json]") {
  const auto read = [](const char* text) { return lease_answer(text).value(); };
  const Lease granted = read(R"({"header": {"revision": "1"}, "ID": "70", "TTL": "14"})");
  CHECK(std::pair(granted.id, granted.seconds_left) ==
        std::pair<std::uint64_t, std::int64_t>(70, 14));
  const Lease kept = read(R"({"result": {"header": {"revision": "1"}, "ID": "70", "TTL": "9"}})");
  CHECK(std::pair(kept.id, kept.seconds_left) == std::pair<std::uint64_t, std::int64_t>(70, 9));
  const Lease gone = read(R"({"header": {"revision": "1"}, "ID": "70", "TTL": "-1"})");
  CHECK(gone.seconds_left == -1);
  CHECK(read(R"({"result": {"header": {"revision": "1"}, "ID": "70"}})").seconds_left == 0);
}

}  // namespace
}  // namespace safelaunch::agree::etcd
