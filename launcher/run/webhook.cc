#include "webhook.h"

#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"
#include "safelaunch/base/strings.h"

// The forms: Slack's incoming webhooks, Feishu's custom bots ("msg_type", "content"), DingTalk's
// and WeCom's robots ("msgtype", "text"). They answer with "StatusCode", "code" or "errcode", 0 for
// well.
namespace safelaunch::run {
namespace {

using Form = settings::Receiver::Form;
using Json = nlohmann::ordered_json;

/// "hung on gpu-3: rank 1 never joined … --> train.py:50 in load  help: See …  run 20261126-…"
/// The line itself where secrets were taken out of it so that it is no JSON any more.
std::string message_of(const std::string& line) {
  const Json news = parse_json<Json>(line);
  if (!news.is_object()) return "safelaunch: " + line;
  std::string text = fmt::format("safelaunch: {} on {}: {}", text_of(news, "event"),
                                 text_of(news, "host"), text_of(news, "text"));
  for (const std::string& place : texts_of(news, "places")) text += "\n--> " + place;
  if (const std::string help = text_of(news, "help"); !help.empty()) text += "\nhelp: " + help;
  return text + "\nsafelaunch report " + text_of(news, "run");
}

std::string in_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string body_of(Form form, const std::string& news) {
  if (form == Form::json) return news;
  const std::string text = message_of(news);
  if (form == Form::slack) return in_text({{"text", text}});
  if (form == Form::feishu) return in_text({{"msg_type", "text"}, {"content", {{"text", text}}}});
  return in_text({{"msgtype", "text"}, {"text", {{"content", text}}}});
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
  // A redirection is followed to nowhere: who is told must be who was named.
  return {"curl",         "--silent", "--show-error", "--fail", "--location",
          "--max-redirs", "0",        "--config",     "-"};
}

std::string input_for(const settings::Receiver& receiver, const std::string& news) {
  if (receiver.form == Form::command) return news;
  return fmt::format("url = {}\nheader = \"Content-Type: application/json\"\ndata-raw = {}",
                     curl_quoted(receiver.where), curl_quoted(body_of(receiver.form, news)));
}

std::optional<std::string> refusal_in(std::string_view answer) {
  constexpr std::size_t kLongest = 200;
  const Json json = parse_json<Json>(answer);
  for (const char* name : {"errcode", "code", "StatusCode"})
    if (number_of<std::int64_t>(json, name).value_or(0) != 0)
      return printable(cut(answer, kLongest));
  return std::nullopt;
}

}  // namespace safelaunch::run
