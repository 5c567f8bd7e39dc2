#include "safelaunch/settings/receiver.h"

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::settings;
using Form = Receiver::Form;

TEST_CASE("a webhook has its form before its URL; all else is a command", "[receiver]") {
  CHECK(parse_receivers("feishu:https://open.feishu.cn/hook/1").value().front() ==
        Receiver{Form::feishu, "https://open.feishu.cn/hook/1"});
  CHECK(parse_receivers("json:http://127.0.0.1:80/x").value().front() ==
        Receiver{Form::json, "http://127.0.0.1:80/x"});
  for (const char* command :
       {"~/bin/tell-me", "curl https://a.b/c", "FOO=1 x:https://a.b", "a:b", "slack-me"})
    CHECK(parse_receivers(command).value() == std::vector{Receiver{Form::command, command}});
}

TEST_CASE("a form that is unknown is refused with the nearest one", "[receiver]") {
  const auto wrong = parse_receivers("feishuu:https://a.b/c");
  REQUIRE_FALSE(wrong.has_value());
  CHECK(wrong.error().message.find("did you mean 'feishu'") != std::string::npos);
  CHECK_FALSE(parse_receivers("command:https://a.b/c").has_value());
}

TEST_CASE("what is meant as a webhook is no command", "[receiver]") {
  for (const char* webhook : {"https://a.b/sesame", "slack: https://a.b/sesame",
                              "slack:", "feishu:ftp://a.b/sesame", "json:file:/sesame"}) {
    const std::string why = parse_receivers(webhook).error().message;
    CHECK(why.find("write the form and the URL") != std::string::npos);
    CHECK(why.find("sesame") == std::string::npos);  // it is a password
  }
}

TEST_CASE("several receivers stand in a list; what is no list of texts is a command",
          "[receiver]") {
  CHECK(
      parse_receivers(R"(["exec 'a' 'b'", "slack:https://a.b/c"])").value() ==
      std::vector{Receiver{Form::command, "exec 'a' 'b'"}, Receiver{Form::slack, "https://a.b/c"}});
  CHECK_FALSE(parse_receivers(R"(["a", "slak:https://a.b/c"])").has_value());
  for (const char* command : {"[ -e x ] && tell", "[1]", "[\"a\", 1]", "{}"})
    CHECK(parse_receivers(command).value() == std::vector{Receiver{Form::command, command}});
}
