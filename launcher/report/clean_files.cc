#include "json_fields.h"
#include "safelaunch/base/redact.h"
#include "safelaunch/report/plain_text.h"
#include "safelaunch/report/redactor.h"
#include "safelaunch/report/run_files.h"

namespace safelaunch {
namespace {

std::vector<std::string> words_of(const Json& list) {
  std::vector<std::string> words;
  for (const Json& word : list) words.push_back(word.is_string() ? word.get<std::string>() : "");
  return words;
}

// `--password`, `hunter2`: a command line gives away what its options hold.
void learn_from_words(const Json& list, std::vector<std::string>& secrets) {
  const std::vector<std::string> words = words_of(list);
  const std::vector<std::string> safe = redact(words);
  for (std::size_t i = 0; i < words.size(); ++i)
    if (safe[i] == kRedacted && is_strong_secret(words[i])) secrets.push_back(words[i]);
}

// Depth is bounded by parse_json().
void learn_from(const Json& json, std::vector<std::string>& secrets) {
  if (json.is_string())
    for (std::string& secret : secrets_shown_in(plain_text(json.get_ref<const std::string&>())))
      secrets.push_back(std::move(secret));
  if (json.is_array()) learn_from_words(json, secrets);
  if (json.is_object())
    for (const auto& [name, value] : json.items())
      if (value.is_string() && is_secret(name, value.get_ref<const std::string&>()) &&
          is_strong_secret(value.get_ref<const std::string&>()))
        secrets.push_back(value);
  if (json.is_structured())
    for (const Json& inner : json) learn_from(inner, secrets);
}

void clean_words(Json& list, const Redactor& redactor) {
  const std::vector<std::string> safe = redact(words_of(list));
  for (std::size_t i = 0; i < safe.size(); ++i)
    if (list[i].is_string()) list[i] = redactor.redact(plain_text(safe[i]));
}

void clean(Json& json, const Redactor& redactor);

void clean_member(const std::string& name, Json& value, const Redactor& redactor) {
  const std::string shown = value.is_string() ? value.get<std::string>() : value.dump();
  if (!value.is_structured() && is_secret(name, shown))
    value = kRedacted;
  else
    clean(value, redactor);
}

void clean(Json& json, const Redactor& redactor) {
  if (json.is_string()) {
    json = redactor.redact(plain_text(json.get_ref<const std::string&>()));
  } else if (json.is_array()) {
    for (Json& inner : json)
      if (!inner.is_string()) clean(inner, redactor);
    clean_words(json, redactor);
  } else if (json.is_object()) {
    for (auto& [name, value] : json.items()) clean_member(name, value, redactor);
  }
}

// The documents of a file: one, or one a line.
template <class OnText>
void for_each_document(const RecordedFile& file, OnText on_text) {
  if (!file.name.ends_with(".jsonl")) return on_text(std::string_view(file.text));
  std::string_view rest = file.text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    on_text(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

bool is_json(const RecordedFile& file) {
  return file.name.ends_with(".json") || file.name.ends_with(".jsonl");
}

std::vector<std::string> secrets_in(const RunFiles& files, const Environment& environment) {
  std::vector<std::string> secrets = secrets_of(environment);
  for (const RecordedFile& file : files.files) {
    for_each_document(file, [&](std::string_view text) {
      const Json json = is_json(file) ? parse_json(text) : Json();
      if (is_json(file) && !json.is_discarded()) return learn_from(json, secrets);
      for (std::string& secret : secrets_shown_in(plain_text(text)))
        secrets.push_back(std::move(secret));
    });
  }
  return secrets;
}

std::string cleaned_document(std::string_view text, int indent, const Redactor& redactor) {
  Json json = parse_json(text);
  // A torn line, or no JSON at all: it is a text like any other.
  if (json.is_discarded()) return redactor.redact(plain_text(text));
  clean(json, redactor);
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string cleaned_text(const RecordedFile& file, const Redactor& redactor) {
  if (!is_json(file)) return redactor.redact(plain_text(file.text));
  const bool lines = file.name.ends_with(".jsonl");
  std::string result;
  for_each_document(file, [&](std::string_view text) {
    result += cleaned_document(text, lines ? -1 : 2, redactor) + "\n";
  });
  return result;
}

}  // namespace

RunFiles cleaned(RunFiles files, const Environment& environment) {
  const Redactor redactor(secrets_in(files, environment));
  for (RecordedFile& file : files.files) {
    file.text = cleaned_text(file, redactor);
    file.name = redactor.redact(plain_text(file.name));
  }
  return files;
}

}  // namespace safelaunch
