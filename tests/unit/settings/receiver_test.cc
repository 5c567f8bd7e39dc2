#include "safelaunch/settings/receiver.h"

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::settings;
using Form = Receiver::Form;

TEST_CASE("a webhook has its form before its URL; all else is a command", "[receiver]") {
  CHECK(parse_receiver("feishu:https://open.feishu.cn/hook/1").value() ==
        Receiver{Form::feishu, "https://open.feishu.cn/hook/1"});
  CHECK(parse_receiver("json:http://127.0.0.1:80/x").value() ==
        Receiver{Form::json, "http://127.0.0.1:80/x"});
  for (const char* command :
       {"~/bin/tell-me", "curl https://a.b/c", "FOO=1 x:https://a.b", "https://a.b/c", "a:b"})
    CHECK(parse_receiver(command).value() == Receiver{Form::command, command});
}

TEST_CASE("a form that is unknown is refused with the nearest one", "[receiver]") {
  const auto wrong = parse_receiver("feishuu:https://a.b/c");
  REQUIRE_FALSE(wrong.has_value());
  CHECK(wrong.error().message.find("did you mean 'feishu'") != std::string::npos);
  CHECK_FALSE(parse_receiver("command:https://a.b/c").has_value());
}
