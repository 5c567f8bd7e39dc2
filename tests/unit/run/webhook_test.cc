#include "launcher/run/webhook.h"

#include <nlohmann/json.hpp>

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::run;
using Form = settings::Receiver::Form;

namespace {

const std::string kNews =
    R"({"event":"hung","text":"rank 1 says \"no\"","places":["a.py:1 in f"],"help":"Look.","run":"r1","host":"gpu-3"})";
const std::string kText =
    "safelaunch: hung on gpu-3: rank 1 says \"no\"\n--> a.py:1 in f\nhelp: Look.\nsafelaunch "
    "report r1";

/// The data in a configuration of curl, as curl reads it.
nlohmann::json sent(Form form, const std::string& news = kNews) {
  const std::string input = input_for({form, "https://a.b/c"}, news);
  const std::string begin = "data-raw = \"";
  std::string data;
  for (std::size_t at = input.find(begin) + begin.size(); input[at] != '"'; ++at)
    data += input[at] == '\\' ? input[++at] : input[at];
  return nlohmann::json::parse(data);
}

}  // namespace

TEST_CASE("each chat gets the text in its own form", "[webhook]") {
  CHECK(sent(Form::slack) == nlohmann::json{{"text", kText}});
  CHECK(sent(Form::feishu) == nlohmann::json{{"msg_type", "text"}, {"content", {{"text", kText}}}});
  for (const Form form : {Form::dingtalk, Form::wecom})
    CHECK(sent(form) == nlohmann::json{{"msgtype", "text"}, {"text", {{"content", kText}}}});
  CHECK(sent(Form::json) == nlohmann::json::parse(kNews));
}

TEST_CASE("news that are no JSON any more, since a secret was taken out, are sent as they are",
          "[webhook]") {
  for (const std::string torn : {"{\"event\": [redacted]}", "[1]", "", "{\"text\": \"\xff"})
    CHECK(sent(Form::slack, torn)["text"].get<std::string>().starts_with("safelaunch: "));
  CHECK(sent(Form::slack, R"({"places": 1, "help": ["no text"]})")["text"] ==
        "safelaunch:  on : \nsafelaunch report ");
}

TEST_CASE("the URL of a webhook, which is a password, stands on no command line", "[webhook]") {
  const settings::Receiver chat{Form::feishu, "https://a.b/secret"};
  for (const std::string& word : command_for(chat)) CHECK(word.find("secret") == std::string::npos);
  CHECK(input_for(chat, kNews).starts_with("url = \"https://a.b/secret\"\n"));
  CHECK(command_for({Form::command, "tell"}) == std::vector<std::string>{"/bin/sh", "-c", "tell"});
  CHECK(input_for({Form::command, "tell"}, kNews) == kNews);
}

TEST_CASE("a chat that answers well and means no has refused", "[webhook]") {
  CHECK(refusal_in(R"({"errcode":300001,"errmsg":"token is not exist"})"));
  CHECK(refusal_in(R"({"code":19001,"msg":"param invalid"})"));
  for (const char* well : {R"({"StatusCode":0,"code":0,"msg":"success"})", "ok", "", "{}", "[1]",
                           R"({"code": "1"})", R"({"errcode":0,"errmsg":"ok"})"})
    CHECK_FALSE(refusal_in(well));
}
