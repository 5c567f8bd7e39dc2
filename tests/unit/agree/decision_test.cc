#include "safelaunch/agree/decision.h"

#include "catch.h"
#include "safelaunch/agree/board.h"

namespace safelaunch::agree {
namespace {

using Catch::Matchers::ContainsSubstring;

Decision full_decision() {
  Decision decision;
  decision.order = Order::go;
  decision.attempt = 3;
  decision.gathered = 9'000'000'000'000'000'000U;
  decision.profile = "no-shm";
  decision.workers = {8, 4, 0};
  decision.master_addr = "10.0.0.1";
  decision.master_port = 29'501;
  decision.checkpoint = "ckpt/step40.pt";
  decision.interface = "eth1";
  decision.exit_code = 143;
  decision.signal = 15;
  decision.hurry = true;
  decision.why = "node 2 (gpu-17) \"ended\"\n";
  decision.doors = R"([{"seat": 0}])";
  decision.watch = true;
  decision.question = 4;
  decision.note = "groups";
  decision.count = 5;
  return decision;
}

NodeNews full_news() {
  NodeNews news;
  news.phase = NodePhase::stopped;
  news.attempt = 3;
  news.heard = 17;
  news.workers = 8;
  news.port = 40'001;
  news.facts = R"({"torch": "2.13.0"})";
  news.doors = R"({"doors": []})";
  news.ways = "[]";
  news.findings = {"risk: one", "blocks: zwö"};
  news.blocked = true;
  news.signal = 2;
  news.hurry = true;
  news.end = NodeEnd{3, 137, R"({"cause": "shm-small"})", true, "no such file"};
  news.ranks = "[]";
  news.answered = 4;
  news.answers = "{}";
  news.counts = "{}";
  return news;
}

/// The text with one piece of it exchanged.
std::string with(std::string text, const std::string& piece, const std::string& other) {
  const std::size_t at = text.find(piece);
  REQUIRE(at != std::string::npos);
  return text.replace(at, piece.size(), other);
}

std::string refusal_of_decision(const std::string& text) {
  const auto decision = decision_from(text);
  INFO(text.substr(0, 200));
  REQUIRE(decision.has_error());
  CHECK(decision.error().code == Errc::peer_lost);
  return decision.error().message;
}

std::string refusal_of_news(const std::string& text) {
  const auto news = news_from(text);
  INFO(text.substr(0, 200));
  REQUIRE(news.has_error());
  return news.error().message;
}

}  // namespace

TEST_CASE("a word and a node's news read back as they were written", "[agree]") {
  CHECK(*decision_from(to_text(full_decision())) == full_decision());
  CHECK(*decision_from(to_text(Decision{})) == Decision{});
  CHECK(*news_from(to_text(full_news())) == full_news());
  CHECK(*news_from(to_text(NodeNews{})) == NodeNews{});
}

TEST_CASE("every order and every phase reads back", "[agree]") {
  for (int i = 0; i <= static_cast<int>(Order::apart); ++i) {
    Decision decision;
    decision.order = static_cast<Order>(i);
    CHECK(decision_from(to_text(decision))->order == decision.order);
  }
  for (int i = 0; i <= static_cast<int>(NodePhase::leaving); ++i) {
    NodeNews news;
    news.phase = static_cast<NodePhase>(i);
    CHECK(news_from(to_text(news))->phase == news.phase);
  }
}

TEST_CASE("a field of a later version is passed over", "[agree]") {
  CHECK(*decision_from(with(to_text(full_decision()), "{", R"({"later": [1, {}],)")) ==
        full_decision());
}

TEST_CASE("a field that is missing or wrong is named", "[agree]") {
  const std::string go = to_text(full_decision());
  CHECK_THAT(refusal_of_decision("{}"), ContainsSubstring("'order'"));
  CHECK_THAT(refusal_of_decision(with(go, R"("go")", R"("explode")")),
             ContainsSubstring("'order'"));
  CHECK_THAT(refusal_of_decision(with(go, R"("go")", "1")), ContainsSubstring("'order'"));
  CHECK_THAT(refusal_of_decision(with(go, R"("attempt":3)", R"("attempt":"3")")),
             ContainsSubstring("'attempt'"));
  CHECK_THAT(refusal_of_decision(with(go, R"("attempt":3)", R"("attempt":-3)")),
             ContainsSubstring("'attempt'"));
  CHECK_THAT(refusal_of_decision(with(go, R"("attempt":3)", R"("attempt":4294967299)")),
             ContainsSubstring("'attempt'"));
  CHECK_THAT(refusal_of_decision(with(go, R"("attempt":3)", R"("attempt":3.5)")),
             ContainsSubstring("'attempt'"));
  CHECK_THAT(refusal_of_decision(with(go, "[8,4,0]", R"([8,"4",0])")),
             ContainsSubstring("'workers'"));
  CHECK_THAT(refusal_of_decision(with(go, "[8,4,0]", "[8,-4,0]")), ContainsSubstring("'workers'"));
  CHECK_THAT(refusal_of_decision(with(go, "[8,4,0]", "{}")), ContainsSubstring("'workers'"));
  CHECK_THAT(refusal_of_decision(with(go, "\"watch\":true", "\"watch\":1")),
             ContainsSubstring("'watch'"));
  CHECK_THAT(refusal_of_decision(with(go, R"("no-shm")", "null")), ContainsSubstring("'profile'"));

  const std::string news = to_text(full_news());
  CHECK_THAT(refusal_of_news("{}"), ContainsSubstring("'phase'"));
  CHECK_THAT(refusal_of_news(with(news, R"("heard":17)", R"("heard":-1)")),
             ContainsSubstring("'heard'"));
  CHECK_THAT(refusal_of_news(with(news, R"("risk: one")", "7")), ContainsSubstring("'findings'"));
  CHECK_THAT(refusal_of_news(with(news, R"("exit_code":137)", R"("exit_code":{})")),
             ContainsSubstring("'end'"));
  CHECK_THAT(refusal_of_news(with(news, R"("stopped")", R"("dancing")")),
             ContainsSubstring("'phase'"));
}

TEST_CASE("what is no JSON object is refused, however long and deep it is", "[agree]") {
  for (const std::string& text :
       {std::string(), std::string("null"), std::string("[]"), std::string("{"),
        std::string("{\"order\": \"go\""), std::string("\0\xff\xfe", 3), std::string(100'000, '['),
        std::string(kLongestText, '{')}) {
    CHECK_THAT(refusal_of_decision(text), ContainsSubstring("no JSON object"));
    CHECK_THAT(refusal_of_news(text), ContainsSubstring("no JSON object"));
  }
  const std::string deep = std::string(60'000, '[') + std::string(60'000, ']');
  CHECK_THAT(refusal_of_decision(with(to_text(full_decision()), "[8,4,0]", deep)),
             ContainsSubstring("'workers'"));
  CHECK_THAT(refusal_of_decision(std::string(kLongestText + 1, ' ')),
             ContainsSubstring("262145 bytes"));
}

TEST_CASE("bytes that are no UTF-8 do not stop an agent from telling the rest", "[agree]") {
  NodeNews news = full_news();
  news.findings = {"broken \xff name"};
  REQUIRE(news_from(to_text(news)).has_value());
  CHECK_THAT(news_from(to_text(news))->findings.front(), ContainsSubstring("broken"));
}

}  // namespace safelaunch::agree
