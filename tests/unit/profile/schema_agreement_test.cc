#include <nlohmann/json.hpp>

#include "catch.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/profile/config.h"
#include "safelaunch/profile/profile.h"
#include "safelaunch/profile/profile_text.h"
#include "safelaunch/settings/run_options.h"

// An editor checks a file by the schema, safelaunch by its reader. The schema must let through
// every file that the reader takes, or an editor marks right files. The schema should refuse a file
// that the reader refuses, where a schema can say so: each exception stands in the tables, marked
// as `reader_alone`.

using namespace safelaunch;

using namespace safelaunch::profile;
using nlohmann::json;

namespace {

// A plain scalar means to an editor what YAML 1.2 says.
json schema_value(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  if (const auto whole = to_number<std::int64_t>(text)) return *whole;
  if (!text.empty() && text.find_first_not_of("0123456789.") == std::string::npos) {
    const json number = json::parse(text, nullptr, false);
    if (number.is_number()) return number;
  }
  return text;
}

json schema_document(const YamlNode& node) {
  json result;
  switch (node.kind) {
    case YamlNode::Kind::null: break;
    case YamlNode::Kind::scalar: return schema_value(node.text);
    case YamlNode::Kind::list:
      result = json::array();
      for (const YamlNode& item : node.items) result.push_back(schema_document(item));
      break;
    case YamlNode::Kind::map:
      result = json::object();
      for (const YamlEntry& entry : node.entries) result[entry.key] = schema_document(entry.value);
      break;
  }
  return result;
}

// As much of JSON schema, draft 07, as the two schemas use; any other keyword fails the test.
class SchemaCheck {
 public:
  explicit SchemaCheck(FileKind kind) : root_(json::parse(schema_of(kind))) {}

  [[nodiscard]] bool accepts(std::string_view text) const {
    return holds(root_, schema_document(parse_yaml(text, "f").value()));
  }

 private:
  static bool has_type(const json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "boolean") return value.is_boolean();
    return type == "null" && value.is_null();
  }

  static bool has_one_type(const json& value, const json& types) {
    if (types.is_string()) return has_type(value, types);
    return std::any_of(types.begin(), types.end(),
                       [&](const json& type) { return has_type(value, type); });
  }

  [[nodiscard]] bool properties_hold(const json& schema, const json& value) const {
    const json known = schema.value("properties", json::object());
    const json more = schema.value("additionalProperties", json(true));
    const json names = schema.value("propertyNames", json::object());
    for (const auto& [key, inner] : value.items()) {
      if (!holds(names, key)) return false;
      if (known.contains(key) ? !holds(known[key], inner)
                              : !(more.is_boolean() ? more.get<bool>() : holds(more, inner)))
        return false;
    }
    for (const json& key : schema.value("required", json::array()))
      if (!value.contains(key.get<std::string>())) return false;
    return value.size() >= schema.value("minProperties", 0U);
  }

  [[nodiscard]] bool items_hold(const json& schema, const json& value) const {
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (schema.contains("items") && !holds(schema["items"], value[i])) return false;
      const bool again = std::find(value.begin(), value.begin() + static_cast<std::ptrdiff_t>(i),
                                   value[i]) != value.begin() + static_cast<std::ptrdiff_t>(i);
      if (schema.value("uniqueItems", false) && again) return false;
    }
    return value.size() >= schema.value("minItems", 0U);
  }

  [[nodiscard]] bool holds(const json& schema, const json& value) const {
    for (const auto& [keyword, argument] : schema.items()) {
      if (keyword == "$ref") {
        if (!holds(root_.at(json::json_pointer(argument.get<std::string>().substr(1))), value))
          return false;
      } else if (keyword == "anyOf") {
        if (std::none_of(argument.begin(), argument.end(),
                         [&](const json& one) { return holds(one, value); }))
          return false;
      } else if (keyword == "type") {
        if (!has_one_type(value, argument)) return false;
      } else if (keyword == "enum") {
        if (std::find(argument.begin(), argument.end(), value) == argument.end()) return false;
      } else if (keyword == "const") {
        if (argument != value) return false;
      } else if (keyword == "pattern") {
        if (value.is_string() && !occurs_in(argument.get<std::string>(), value.get<std::string>()))
          return false;
      } else if (keyword == "minimum") {
        if (value.is_number() && value < argument) return false;
      } else if (keyword == "maximum") {
        if (value.is_number() && value > argument) return false;
      } else {
        CHECK(kOthers.find(" " + keyword + " ") != std::string::npos);
      }
    }
    if (value.is_object()) return properties_hold(schema, value);
    return !value.is_array() || items_hold(schema, value);
  }

  // Said elsewhere, or nothing to hold.
  inline static const std::string kOthers =
      " $schema title description definitions properties additionalProperties propertyNames "
      "required minProperties items minItems uniqueItems ";

  json root_;
};

enum class Taken { by_both, by_schema, by_nobody };

constexpr Taken kRight = Taken::by_both;
constexpr Taken kReaderAlone = Taken::by_schema;  ///< it alone can tell what is wrong
constexpr Taken kWrong = Taken::by_nobody;

struct FileCase {
  const char* text;
  Taken taken;
};

Taken taken(bool by_reader, bool by_schema) {
  if (by_reader) {
    CHECK(by_schema);  // or an editor marks a right file
    return Taken::by_both;
  }
  return by_schema ? Taken::by_schema : Taken::by_nobody;
}

Taken profile_taken(const std::string& text) {
  static const SchemaCheck schema(FileKind::profile);
  const ProfileSource basic = [](std::string_view) -> Result<ProfileText> {
    return ProfileText{"basic", "basic.yaml", "{}"};
  };
  return taken(read_profile({"p", "p.yaml", text}, basic).has_value(), schema.accepts(text));
}

Taken config_taken(const std::string& text) {
  static const SchemaCheck schema(FileKind::config);
  return taken(read_config(text, "s.yaml").has_value(), schema.accepts(text));
}

}  // namespace

TEST_CASE("reader and schema agree on every key of a profile", "[schema]") {
  const FileCase cases[] = {
      {"{}", kRight},
      {"[]", kWrong},
      {"word", kWrong},
      {"dscription: x", kWrong},
      {"name: p", kRight},
      {"name: 4", kRight},
      {"name: a b", kReaderAlone},
      {"name: [p]", kWrong},
      {"name: {p: q}", kWrong},
      {"name: ~", kWrong},
      {"description: some words", kRight},
      {"description: 5", kRight},
      {"description: true", kRight},
      {"description: ~", kWrong},
      {"description: [a]", kWrong},
      {"extends: basic", kRight},
      {"extends: [basic]", kWrong},
      {"heals: [shm-small, no-gpu]", kRight},
      {"heals: shm-small", kRight},
      {"heals: []", kRight},
      {"heals: [Shm]", kReaderAlone},
      {"heals: {a: b}", kWrong},
      {"heals: [[a]]", kWrong},
      {"heals: ~", kWrong},
      {"worsens: shm-small", kRight},
      {"worsens: [a, b]", kRight},
      {"worsens: [{a: b}]", kWrong},
      {"cost: none", kRight},
      {"cost: small", kRight},
      {"cost: medium", kRight},
      {"cost: large", kRight},
      {"cost: huge", kWrong},
      {"cost: 1", kWrong},
      {"nodes: any", kRight},
      {"nodes: one", kRight},
      {"nodes: 1", kWrong},
      {"env: {A: x, B: 1, C: 1.5, D: true, E: ''}", kRight},
      {"env: {}", kRight},
      {"env: {A: ~}", kWrong},
      {"env: {A: [1]}", kWrong},
      {"env: {A: {b: c}}", kWrong},
      {"env: [A=1]", kWrong},
      {"env: {1A: x}", kReaderAlone},
      {"env: {RANK: 1}", kReaderAlone},
      {"unset: [A]", kRight},
      {"unset: []", kRight},
      {"unset: A", kWrong},
      {"unset: [[A]]", kWrong},
      {"unset: [A=1]", kReaderAlone},
      {"force: true", kRight},
      {"force: false", kRight},
      {"{env: {A: x}, force: [A]}", kRight},
      {"force: [A]", kReaderAlone},
      {"force: A", kWrong},
      {"force: 1", kWrong},
      {"backend: keep", kRight},
      {"backend: gloo", kRight},
      {"backend: nccl", kWrong},
      {"verify: observe", kRight},
      {"verify: inject", kRight},
      {"verify: true", kWrong},
      {"ras: ask", kRight},
      {"ras: off", kRight},
      {"ras: on", kWrong},
      {"on_stall: report", kRight},
      {"on_stall: kill", kRight},
      {"on_stall: stop", kWrong},
      {"retry: {}", kRight},
      {"retry: off", kRight},
      {"retry: {times: 5, backoff: 10s, factor: 2}", kRight},
      {"retry: {times: 0}", kWrong},
      {"retry: {factor: 1.5}", kWrong},
      {"retry: {backoff: soon}", kWrong},
      {"retry: {delay: 1s}", kWrong},
      {"retry: 5", kWrong},
      {"{retry: {}, resume: {newer: a}}", kReaderAlone},
      {"process_group_timeout: keep", kRight},
      {"process_group_timeout: 30min", kRight},
      {"process_group_timeout: 90", kRight},
      {"process_group_timeout: 0", kReaderAlone},
      {"process_group_timeout: soon", kReaderAlone},
      {"process_group_timeout: [5s]", kWrong},
      {"process_group_timeout: ~", kWrong},
      {"processes: keep", kRight},
      {"processes: 1", kRight},
      {"processes: 4096", kRight},
      {"processes: [8, 4]", kRight},
      {"processes: 0", kWrong},
      {"processes: 4097", kWrong},
      {"processes: 1.5", kWrong},
      {"processes: some", kWrong},
      {"processes: []", kWrong},
      {"processes: [4, 4]", kWrong},
      {"processes: [keep]", kWrong},
      {"processes: {a: 1}", kWrong},
      {"args: {}", kRight},
      {"args: {append: [--a, 1, 1.5, true]}", kRight},
      {"args: {append: --a}", kRight},
      {"args: {append: {a: b}}", kWrong},
      {"args: {append: [[a]]}", kWrong},
      {"args: {replace: {--a: 1, -b: x, --c: true, --d: ~}}", kRight},
      {"args: {replace: {a: 1}}", kWrong},
      {"args: {replace: {--a-b: 1, -1: 2, ---c: 3}}", kRight},
      {"args: {replace: {--a=3: 1}}", kWrong},
      {"args: {replace: {--: 1}}", kWrong},
      {"args: {replace: {\"-\": 1}}", kWrong},
      {"args: {replace: {--a: [1]}}", kWrong},
      {"args: {replace: [--a]}", kWrong},
      {"args: {prepend: [a]}", kWrong},
      {"args: [--a]", kWrong},
      {"python: {faulthandler: true}", kRight},
      {"python: {faulthandler: false}", kRight},
      {"python: {}", kRight},
      {"python: {faulthandler: 1}", kWrong},
      {"python: {faulthandler: on}", kWrong},
      {"python: {debug: true}", kWrong},
      {"python: true", kWrong},
      {"options: {}", kRight},
      {"options: {nonsense: 1}", kWrong},
      {"options: {run-dir: x}", kWrong},
      {"options: {grace: [5s]}", kWrong},
      {"options: [grace]", kWrong},
  };
  for (const FileCase& each : cases) {
    INFO(each.text);
    CHECK(profile_taken(each.text) == each.taken);
  }
}

TEST_CASE("reader and schema agree on every form of a time, under every deadline", "[schema]") {
  const FileCase times[] = {
      {"90s", kRight},  {"90", kRight},       {"1.5", kRight},     {"0", kRight},
      {"off", kRight},  {"500ms", kRight},    {"30min", kRight},   {"30m", kRight},
      {"2h", kRight},   {"7d", kRight},       {"1.5h", kRight},    {"30sec", kRight},
      {".5s", kRight},  {"8d", kReaderAlone}, {"soon", kWrong},    {"5x", kWrong},
      {"-5s", kWrong},  {"-5", kWrong},       {"5 s", kWrong},     {"1.2.3s", kReaderAlone},
      {"true", kWrong}, {"[5s]", kWrong},     {"{a: 5s}", kWrong}, {"~", kWrong},
      {"min", kWrong},  {"on", kWrong},       {"keep", kWrong},    {"99999999999", kReaderAlone},
  };
  for (const char* key : {"init", "collective", "quiet", "work", "start", "stall"})
    for (const FileCase& time : times) {
      const std::string text = std::string("timeouts: {") + key + ": " + time.text + "}";
      INFO(text);
      CHECK(profile_taken(text) == time.taken);
    }
  CHECK(profile_taken("timeouts: {stall: auto}") == kRight);
  CHECK(profile_taken("timeouts: {init: auto}") == kWrong);
  CHECK(profile_taken("timeouts: 5s") == kWrong);
  CHECK(profile_taken("timeouts: {inti: 5s}") == kWrong);
}

TEST_CASE("reader and schema agree on every key of safelaunch.yaml", "[schema]") {
  const FileCase cases[] = {
      {"{}", kRight},
      {"[]", kWrong},
      {"cain: basic", kWrong},
      {"chain: basic", kRight},
      {"chain: basic,no-shm", kRight},
      {"chain: [basic, ./x.yaml]", kRight},
      {"chain: [4]", kRight},
      {"chain: []", kReaderAlone},
      {"chain: 'a,,b'", kReaderAlone},
      {"chain: [[a]]", kWrong},
      {"chain: {a: b}", kWrong},
      {"chain: ~", kWrong},
      {"env: {A: 1}", kRight},
      {"env: {MASTER_PORT: 1}", kReaderAlone},
      {"unset: [A]", kRight},
      {"unset: A", kWrong},
      {"clusters: []", kRight},
      {"clusters: [{name: a}]", kRight},
      {"clusters: [{name: 7}]", kRight},
      {"clusters: [{}]", kWrong},
      {"clusters: [{chain: basic}]", kWrong},
      {"clusters: [{name: ''}]", kReaderAlone},
      {"clusters: [{name: a}, {name: a}]", kReaderAlone},
      {"clusters: [a]", kWrong},
      {"clusters: {name: a}", kWrong},
      {"clusters: [{name: a, nodes: 1}]", kWrong},
      {"clusters: [{name: a, match: {hostname: 'gpu-[0-9]+'}}]", kRight},
      {"clusters: [{name: a, match: {hostname: 12}}]", kRight},
      {"clusters: [{name: a, match: {gpu: 4090}}]", kRight},
      {"clusters: [{name: a, match: {gpu: H100, network: 10.0.0.0/8}}]", kRight},
      {"clusters: [{name: a, match: {env: {A: x, B: 1, C: true}}}]", kRight},
      {"clusters: [{name: a, match: {}}]", kWrong},
      {"clusters: [{name: a, match: {host: x}}]", kWrong},
      {"clusters: [{name: a, match: {hostname: [x]}}]", kWrong},
      {"clusters: [{name: a, match: {hostname: '['}}]", kReaderAlone},
      {"clusters: [{name: a, match: {network: 10.0.0.0}}]", kReaderAlone},
      {"clusters: [{name: a, match: {network: [10.0.0.0/8]}}]", kWrong},
      {"clusters: [{name: a, match: {env: {A: [x]}}}]", kWrong},
      {"clusters: [{name: a, match: {env: {A: ~}}}]", kWrong},
      {"clusters: [{name: a, match: {env: [A]}}]", kWrong},
      {"clusters: [{name: a, match: x}]", kWrong},
      {"clusters: [{name: a, chain: b, env: {A: 1}, unset: [B], options: {port: keep}}]", kRight},
      {"clusters: [{name: a, options: {nonsense: 1}}]", kWrong},
      {"options: {config: x}", kWrong},
      {"options: {notify: tell-me}", kRight},
      {"options: {notify: [{command: [tell-me, -v]}, {url: 'https://a.b/c', form: slack}]}",
       kRight},
      {"options: {notify: []}", kWrong},
      {"options: {notify: [tell-me]}", kWrong},
      {"options: {notify: [{command: tell-me}]}", kWrong},
      {"options: {notify: [{command: []}]}", kWrong},
      {"options: {notify: [{command: ['']}]}", kReaderAlone},
      {"options: {notify: [{url: 'https://a.b/c'}]}", kWrong},
      {"options: {notify: [{url: 'ftp://a.b/c', form: json}]}", kWrong},
      {"options: {notify: [{url: 'https://a.b/c', form: teams}]}", kWrong},
      {"options: {notify: [{command: [a], form: json}]}", kWrong},
      {"options: {notify: {command: [a]}}", kWrong},
      {"options: {set: A=1}", kWrong},
  };
  for (const FileCase& each : cases) {
    INFO(each.text);
    CHECK(config_taken(each.text) == each.taken);
  }
}

namespace {

// Values of every kind; the option's own words come on top.
std::vector<std::string> values_for(const settings::Option& option) {
  std::vector<std::string> values{
      "true", "false", "on",       "off",  "yes",  "no",  "1",   "0",       "-1",          "2.5",
      "5s",   "soon",  "a/b.json", "keep", "auto", "0,3", "1-2", "1-70000", "99999999999", "x y"};
  for (const std::string_view word : settings::words_of(option.choices)) values.emplace_back(word);
  values.push_back(std::to_string(option.range.first));
  values.push_back(std::to_string(option.range.last));
  return values;
}

}  // namespace

TEST_CASE("what a file may give to an option the schema of the file lets through", "[schema]") {
  for (const settings::Option& option : settings::run_options()) {
    for (const std::string& value : values_for(option)) {
      const std::string text = "options: {" + std::string(option.name) + ": \"" + value + "\"}";
      INFO(text);
      if (option.scope >= settings::OptionScope::config) (void)config_taken(text);
      if (option.scope >= settings::OptionScope::profile) (void)profile_taken(text);
    }
  }
}

TEST_CASE("an option of the wrong form is refused by reader and schema alike", "[schema]") {
  for (const char* text :
       {"{only: maybe}", "{only: 2}", "{max-attempts: 0}", "{max-attempts: many}",
        "{max-attempts: 1.5}", "{grace: soon}", "{clean: all}", "{probe: maybe}", "{port: 1.5}",
        "{port: [1]}", "{log-dir: [x]}", "{log-dir: ~}", "{master-port: 70000}",
        "{binding: sockets}"}) {
    INFO(text);
    CHECK(config_taken(std::string("options: ") + text) == kWrong);
  }
  CHECK(config_taken("options: {port: 99999}") == kReaderAlone);
  CHECK(config_taken("options: {port: sometimes}") == kReaderAlone);
  CHECK(config_taken("options: {log-dir: ''}") == kReaderAlone);
}
