#include "json.h"

#include <algorithm>

// A member is judged by its own name, or by the name of the object around it, or by the name that
// stands beside its value. After that all texts are redacted as texts, and a list of texts as the
// words of a command, in which an option and its value are neighbours.
namespace safelaunch::report {
namespace {

std::vector<std::string> words_of(const Json& list) {
  std::vector<std::string> words;
  for (const Json& word : list) words.push_back(word.is_string() ? word.get<std::string>() : "");
  return words;
}

std::string scalar_in_words(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// {"name": "DB_PASSWORD", "value": "x"}: the name that the object gives its value.
std::string name_given(const Json& object) {
  for (const char* key : {"name", "key", "variable"})
    if (std::string name = text_of(object, key); redact::is_secret_name(name)) return name;
  return {};
}

// The name by which a member's value is judged: its own name, or that of the object around it.
std::string judged_name(const std::string& member, const std::string& above,
                        const std::string& given) {
  if (member == "value" && !given.empty()) return given;
  return redact::is_secret_name(member) || above.empty() ? member : above;
}

// Calls `see` with each scalar that its name makes a secret, and with that name.
template <class AnyJson, class See>
void for_each_named_secret(AnyJson& json, const std::string& above, See see) {
  if (json.is_array())
    for (auto& inner : json) {
      if (inner.is_structured())
        for_each_named_secret(inner, above, see);
      else if (!above.empty() && redact::is_secret(above, scalar_in_words(inner)))
        see(inner);
    }
  if (!json.is_object()) return;
  const std::string given = name_given(json);
  for (auto& [member, value] : json.items()) {
    const std::string name = judged_name(member, above, given);
    if (value.is_structured())
      for_each_named_secret(value, redact::is_secret_name(name) ? name : std::string(), see);
    else if (redact::is_secret(name, scalar_in_words(value)) &&
             !redact::stands_beside_secrets(member))
      see(value);
  }
}

void redact_texts(Json& json, const redact::Redactor& redactor) {
  if (json.is_string()) {
    json = redactor.redact(std::string_view(json.get_ref<const std::string&>()));
  } else if (json.is_array()) {
    const std::vector<std::string> words =
        redactor.redact(std::span<const std::string>(words_of(json)));
    for (std::size_t i = 0; i < words.size(); ++i)
      if (json[i].is_string())
        json[i] = words[i];
      else
        redact_texts(json[i], redactor);
  } else if (json.is_object()) {
    for (auto& [member, value] : json.items()) redact_texts(value, redactor);
  }
}

}  // namespace

// The recursion is bounded, since parse_json() refuses deep documents.
void learn_from(const Json& json, redact::Redactor& redactor) {
  for_each_named_secret(
      json, {}, [&](const Json& value) { redactor.learn_seen_value(scalar_in_words(value)); });
  if (json.is_string()) redactor.learn(json.get_ref<const std::string&>());
  if (json.is_array()) redactor.learn(words_of(json));
  if (json.is_structured())
    for (const Json& inner : json)
      if (!inner.is_string() || json.is_object()) learn_from(inner, redactor);
}

void redact(Json& json, const redact::Redactor& redactor) {
  for_each_named_secret(json, {}, [](Json& value) { value = redact::kRedacted; });
  redact_texts(json, redactor);
}

}  // namespace safelaunch::report
