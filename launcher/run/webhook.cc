#include "webhook.h"

#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

// The forms: Slack's incoming webhooks, Feishu's custom bots ("msg_type", "content"), DingTalk's
// and WeCom's robots ("msgtype", "text"). They answer with "StatusCode", "code" or "errcode", 0 for
// well.
namespace safelaunch::run {
namespace {

using Form = settings::Receiver::Form;
using Json = nlohmann::ordered_json;

/// "hung on gpu-3: rank 1 never joined … --> train.py:50 in load  help: See …  run 20261126-…"
std::string message_of(const Json& news) {
  std::string text = fmt::format("safelaunch: {} on {}: {}", news.value("event", ""),
                                 news.value("host", ""), news.value("text", ""));
  for (const Json& place : news.value("places", Json::array()))
    text += "\n--> " + place.get<std::string>();
  if (const std::string help = news.value("help", ""); !help.empty()) text += "\nhelp: " + help;
  return text + "\nsafelaunch report " + news.value("run", "");
}

std::string body_of(Form form, const std::string& news) {
  if (form == Form::json) return news;
  const std::string text = message_of(Json::parse(news));
  if (form == Form::slack) return Json{{"text", text}}.dump();
  if (form == Form::feishu) return Json{{"msg_type", "text"}, {"content", {{"text", text}}}}.dump();
  return Json{{"msgtype", "text"}, {"text", {{"content", text}}}}.dump();
}

/// A value in a configuration of curl.
std::string curl_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::vector<std::string> command_for(const settings::Receiver& receiver) {
  if (receiver.form == Form::command) return {"/bin/sh", "-c", receiver.where};
  return {"curl", "--silent", "--show-error", "--fail", "--config", "-"};
}

std::string input_for(const settings::Receiver& receiver, const std::string& news) {
  if (receiver.form == Form::command) return news;
  return fmt::format("url = {}\nheader = \"Content-Type: application/json\"\ndata-raw = {}",
                     curl_quoted(receiver.where), curl_quoted(body_of(receiver.form, news)));
}

std::optional<std::string> refusal_in(std::string_view answer) {
  constexpr std::size_t kLongest = 200;
  const Json json = Json::parse(answer, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  for (const char* name : {"errcode", "code", "StatusCode"})
    if (const auto code = json.find(name);
        code != json.end() && code->is_number_integer() && *code != 0)
      return printable(cut(answer, kLongest));
  return std::nullopt;
}

}  // namespace safelaunch::run
