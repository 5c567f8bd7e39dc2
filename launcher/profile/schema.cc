#include "safelaunch/profile/profile_text.h"

#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/settings/run_options.h"

// The fixed part of the schemas stands below as JSON. Only the keys of `options:` are made: from
// the table of options, one property a row, as far as the row may be given in such a file.
namespace safelaunch::profile {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kShared = R"json({
  "duration": {"anyOf": [{"type": "string", "pattern": "^(off|[0-9.]+(ms|s|sec|m|min|h|d)?)$"},
                         {"type": "number", "minimum": 0}, {"const": false}],
               "description": "a number and ms, s, min, h or d; 0 or off: no deadline"},
  "stall": {"anyOf": [{"const": "auto"}, {"$ref": "#/definitions/duration"}],
            "description": "auto: twice the longest pause of the job, 2min at least"},
  "variables": {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]},
                "description": "environment variables and their values"},
  "names": {"type": "array", "items": {"type": "string"}},
  "word": {"type": ["string", "number", "boolean"]},
  "receivers": {"anyOf": [{"$ref": "#/definitions/word"}, {"type": "array", "minItems": 1, "items": {"anyOf": [
    {"type": "object", "additionalProperties": false, "required": ["command"], "properties": {
       "command": {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/word"}}}},
    {"type": "object", "additionalProperties": false, "required": ["url", "form"], "properties": {
       "url": {"type": "string", "pattern": "^https?://"},
       "form": {"enum": ["slack", "feishu", "dingtalk", "wecom", "json"]}}}]}}]},
  "words": {"anyOf": [{"$ref": "#/definitions/word"}, {"type": "array", "items": {"$ref": "#/definitions/word"}}]},
  "chain": {"type": ["string", "number", "boolean", "array"], "items": {"$ref": "#/definitions/word"},
            "description": "the profiles to try, in order"}
})json";

constexpr const char* kProfile = R"json({
  "name": {"type": ["string", "number", "boolean"], "description": "as the file is called"},
  "description": {"type": ["string", "number", "boolean"], "description": "one line, shown where the profile is chosen"},
  "extends": {"type": ["string", "number", "boolean"], "description": "takes over everything but name, description and heals"},
  "heals": {"$ref": "#/definitions/words", "description": "causes for which this profile is tried first"},
  "worsens": {"$ref": "#/definitions/words", "description": "causes for which it is never tried"},
  "cost": {"enum": ["none", "small", "medium", "large"], "description": "in training speed; large is marked slow"},
  "nodes": {"enum": ["any", "one"], "description": "one: works on a single node only"},
  "env": {"$ref": "#/definitions/variables"},
  "unset": {"$ref": "#/definitions/names", "description": "variables that are taken away"},
  "force": {"type": ["boolean", "array"], "items": {"type": "string"},
            "description": "variables for which the profile beats your environment; true: all of them"},
  "backend": {"enum": ["keep", "gloo"], "description": "gloo: the hook turns nccl into gloo"},
  "verify": {"enum": ["observe", "inject"], "description": "inject: one all_reduce of ours before the script's first collective"},
  "ras": {"enum": ["off", "ask", false], "description": "ask: NCCL's RAS is asked when a job with complete communicators hangs"},
  "process_group_timeout": {"type": ["string", "number"], "description": "keep, or a duration such as 30min"},
  "timeouts": {"type": "object", "additionalProperties": false, "description": "how long ranks are waited for (docs/stages.md)",
    "properties": {"init": {"$ref": "#/definitions/duration"}, "collective": {"$ref": "#/definitions/duration"},
                   "quiet": {"$ref": "#/definitions/duration"}, "work": {"$ref": "#/definitions/duration"},
                   "start": {"$ref": "#/definitions/duration"}, "stall": {"$ref": "#/definitions/stall"}}},
  "on_stall": {"enum": ["report", "kill", "restart"], "description": "when training stalls for timeouts.stall; kill and restart need a time there"},
  "resume": {"description": "off, or how training that failed is started again from a checkpoint (docs/resume.md)",
    "anyOf": [{"enum": ["off", false]}, {"type": "object", "additionalProperties": false, "properties": {
                     "newer": {"type": "string", "description": "a pattern of the checkpoints, such as ckpt/*.pt"},
                     "marker": {"type": "string", "description": "in its place: of a file that is written once a checkpoint is whole"},
                     "append": {"$ref": "#/definitions/words"}}}]},
  "restarts": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "starts from one and the same checkpoint"},
  "retry": {"description": "off, or how training that failed is started again as it was (docs/resume.md)",
    "anyOf": [{"enum": ["off", false]}, {"type": "object", "additionalProperties": false, "properties": {
                     "times": {"type": "integer", "minimum": 1, "maximum": 1000},
                     "backoff": {"$ref": "#/definitions/duration"},
                     "factor": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "of each pause over the one before"}}}]},
  "processes": {"description": "keep, a number of processes on each node, or several to try in order",
    "anyOf": [{"const": "keep"}, {"type": "integer", "minimum": 1, "maximum": 4096},
              {"type": "array", "minItems": 1, "uniqueItems": true, "items": {"type": "integer", "minimum": 1, "maximum": 4096}}]},
  "args": {"type": "object", "additionalProperties": false, "description": "changes to the training script's own arguments",
    "properties": {"append": {"$ref": "#/definitions/words"},
                   "replace": {"type": "object", "propertyNames": {"pattern": "^-+[^=-][^=]*$"},
                               "additionalProperties": {"type": ["string", "number", "boolean", "null"]}}}},
  "python": {"type": "object", "additionalProperties": false, "properties": {"faulthandler": {"type": "boolean"}}},
  "options": {"$ref": "#/definitions/options"}
})json";

constexpr const char* kConfig = R"json({
  "chain": {"$ref": "#/definitions/chain"},
  "env": {"$ref": "#/definitions/variables"},
  "unset": {"$ref": "#/definitions/names"},
  "options": {"$ref": "#/definitions/options"},
  "lock": {"$ref": "#/definitions/names",
           "description": "in /etc alone: keys that no other file may set, such as chain, options.clean, env.NCCL_IB_HCA"},
  "clusters": {"type": "array", "description": "the first rule whose conditions hold stands over the rest",
    "items": {"type": "object", "additionalProperties": false, "required": ["name"],
      "properties": {
        "name": {"$ref": "#/definitions/word"},
        "match": {"type": "object", "additionalProperties": false, "minProperties": 1,
          "properties": {"hostname": {"type": ["string", "number", "boolean"], "description": "a regular expression for the whole name"},
                         "gpu": {"type": ["string", "number", "boolean"], "description": "a regular expression for a part of a GPU's name"},
                         "env": {"type": "object", "additionalProperties": {"$ref": "#/definitions/word"}},
                         "network": {"type": "string", "description": "such as 10.8.0.0/16"}}},
        "chain": {"$ref": "#/definitions/chain"},
        "env": {"$ref": "#/definitions/variables"},
        "unset": {"$ref": "#/definitions/names"},
        "options": {"$ref": "#/definitions/options"}}}}
})json";

Json values_of(const settings::Option& option) {
  using enum settings::OptionKind;
  switch (option.kind) {
    case flag:  // one with a placeholder also takes what that stands for
      if (!option.value.empty()) break;
      return {{"enum", {true, false, "on", "off", "yes", "no", 1, 0}}};
    case count:
      return {{"type", "integer"}, {"minimum", option.range.first}, {"maximum", option.range.last}};
    case stall: return {{"$ref", "#/definitions/stall"}};
    case duration: return {{"$ref", "#/definitions/duration"}};
    case choice: {
      Json words = settings::words_of(option.choices);
      if (std::ranges::find(words, "off") != words.end()) words.push_back(false);  // YAML's off
      return {{"enum", words}};
    }
    case port: return {{"type", {"string", "integer"}}};
    case text:
    case texts:
    case list: break;
    case receiver: return {{"$ref", "#/definitions/receivers"}};
  }
  return {{"$ref", "#/definitions/word"}};
}

Json options_for(settings::OptionScope scope) {
  Json properties = Json::object();
  for (const settings::Option& option : settings::run_options()) {
    if (option.scope < scope) continue;
    Json& property = properties[std::string(option.name)] = values_of(option);
    property["description"] = option.help;
  }
  return {{"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
}

}  // namespace

std::string schema_of(FileKind kind) {
  const bool profile = kind == FileKind::profile;
  Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
              {"title", profile ? "a profile of safelaunch" : "safelaunch.yaml"},
              {"type", "object"},
              {"additionalProperties", false},
              {"properties", Json::parse(profile ? kProfile : kConfig)},
              {"definitions", Json::parse(kShared)}};
  schema["definitions"]["options"] =
      options_for(profile ? settings::OptionScope::profile : settings::OptionScope::config);
  return schema.dump(2) + "\n";
}

}  // namespace safelaunch::profile
