#include "safelaunch/settings/receiver.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/settings/option.h"

// "FORM:https://…" with one word before the URL is a webhook, whatever the word: one that is
// mistyped would be a command that no shell finds. A URL alone has no form.
namespace safelaunch::settings {
namespace {

bool is_url(std::string_view text) {
  return text.starts_with("https://") || text.starts_with("http://");
}

bool is_word(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '-'; });
}

Result<Receiver> parse_receiver(std::string_view text) {
  const std::size_t colon = is_url(text) ? std::string_view::npos : text.find(':');
  const std::string_view form = colon == std::string_view::npos ? "" : text.substr(0, colon);
  const std::string_view where = colon == std::string_view::npos ? text : text.substr(colon + 1);
  std::vector<std::string_view> forms = words_of(kReceiverForms);
  const auto known = std::ranges::find(forms, form);
  const bool is_form = known != forms.end() && known != forms.begin();
  if (is_url(text) || (is_form && !is_url(where)))
    return Error{Errc::usage,  // without the URL, which is a password
                 fmt::format("{} is no receiver: write the form and the URL of a webhook, as in "
                             "slack:https://…, or a command",
                             is_form ? fmt::format("'{}:' without a URL", form) : "a URL alone")};
  if (!is_url(where) || form.empty() || !is_word(form))
    return Receiver{Receiver::Form::command, std::string(text)};
  if (is_form)
    return Receiver{static_cast<Receiver::Form>(known - forms.begin()), std::string(where)};
  forms.erase(forms.begin());
  return Error{
      Errc::usage,
      fmt::format("'{}' is not the form of a webhook (slack, feishu, dingtalk, wecom, json){}",
                  form, did_you_mean(form, forms))};
}

}  // namespace

Result<std::vector<Receiver>> parse_receivers(std::string_view text) {
  std::vector<std::string> texts{std::string(text)};
  const auto list = parse_json<nlohmann::json>(text);
  const auto is_text = [](const nlohmann::json& one) { return one.is_string(); };
  if (list.is_array() && std::ranges::all_of(list, is_text))
    texts = list.get<std::vector<std::string>>();
  std::vector<Receiver> receivers;
  for (const std::string& one : texts) {
    Result<Receiver> receiver = parse_receiver(one);
    if (!receiver) return receiver.error();
    receivers.push_back(*std::move(receiver));
  }
  return receivers;
}

}  // namespace safelaunch::settings
