// Secrets are taken out in two passes. The first learns from all files, since a secret that the
// command line gives away may stand bare in a log. The second cleans each file: JSON by its
// members, so that it stays JSON, all else as text. A document that should be JSON and is not, such
// as a torn line, is cleaned as text.
#include "json.h"
#include "plain_text.h"
#include "safelaunch/report/run_files.h"

namespace safelaunch::report {
namespace {

void make_plain(Json& json) {
  if (json.is_string()) json = plain_text(json.get_ref<const std::string&>());
  if (json.is_structured())
    for (Json& inner : json) make_plain(inner);
}

// Calls `on_text` for each document of a file: for the whole file, or for each line of a .jsonl.
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

redact::Redactor redactor_for(const RunFiles& files, const Environment& environment) {
  redact::Redactor redactor;
  redactor.learn(environment);
  for (const RecordedFile& file : files.files) {
    for_each_document(file, [&](std::string_view text) {
      const Json json = is_json(file) ? parse_json(text) : Json();
      if (is_json(file) && !json.is_discarded()) return learn_from(json, redactor);
      redactor.learn(plain_text(text));
    });
  }
  return redactor;
}

std::string cleaned_document(std::string_view text, int indent, const redact::Redactor& redactor) {
  Json json = parse_json(text);
  // A torn line is a text like any other.
  if (json.is_discarded()) return redactor.redact(plain_text(text));
  make_plain(json);
  redact(json, redactor);
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string cleaned_text(const RecordedFile& file, const redact::Redactor& redactor) {
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
  const redact::Redactor redactor = redactor_for(files, environment);
  for (RecordedFile& file : files.files) {
    file.text = cleaned_text(file, redactor);
    file.name = redactor.redact(plain_text(file.name));
  }
  return files;
}

}  // namespace safelaunch::report
