#include "mcp.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"
#include "safelaunch/base/version.h"
#include "safelaunch/launch/helper.h"
#include "verbs.h"

// JSON-RPC, a line a message. Each tool is a verb in a process of its own, behind a "--": it cannot
// read the agent's words from our stdin, and what it says has gone through the verb's own filters.
namespace safelaunch::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr Duration kVerbTakes{120'000};        // doctor looks at a slow disk
constexpr std::size_t kLongestWord = 100'000;  // bytes; the kernel takes 128 KiB
constexpr std::size_t kMostInBatch = 16;       // each may take two minutes
constexpr std::array<std::string_view, 3> kProtocols{"2025-06-18", "2025-03-26", "2024-11-05"};

struct Tool {
  const Verb& verb;
  std::string_view argument;
  std::string_view meaning;
  std::string_view option = {};  ///< stands before the argument
  bool needs_it = false;
};

constexpr std::array kTools{
    Tool{kStatusVerb, "run", "the id of one run; without it all that run now", "--json"},
    Tool{kStacksVerb, "run", "the id of a run, or the pid of a launcher", "--json"},
    Tool{kReportVerb, "run", "the id of a run; without it the newest"},
    Tool{kExplainVerb, "what", "a cause, a variable, the path of a log, or words of an error", "",
         true},
    Tool{kDoctorVerb, "command", "the command that would be launched, word by word", "--json"},
};

Json described(const Tool& tool) {
  Json argument{{"description", tool.meaning}};
  if (&tool.verb == &kDoctorVerb)
    argument.update({{"type", "array"}, {"items", {{"type", "string"}}}});
  else
    argument["type"] = "string";
  Json schema{{"type", "object"}, {"properties", {{std::string(tool.argument), argument}}}};
  if (tool.needs_it) schema["required"] = {tool.argument};
  return {{"name", tool.verb.name},
          {"description", tool.verb.purpose},
          {"inputSchema", schema},
          {"annotations", {{"readOnlyHint", true}}}};
}

Json list_of_tools() {
  Json tools = Json::array();
  for (const Tool& tool : kTools) tools.push_back(described(tool));
  return {{"tools", tools}};
}

Json introduced(const Json& params) {
  const std::string wanted = text_of(params, "protocolVersion");
  const bool known = std::ranges::find(kProtocols, wanted) != kProtocols.end();
  return {{"protocolVersion", known ? wanted : kProtocols.front()},
          {"capabilities", {{"tools", Json::object()}}},
          {"serverInfo", {{"name", "safelaunch"}, {"version", version()}}}};
}

/// The words of the verb; nullopt where its argument is not what it must be.
std::optional<std::vector<std::string>> words_for(const Tool& tool, const Json& arguments) {
  std::vector<std::string> words{std::string(tool.verb.name)};
  if (!tool.option.empty()) words.emplace_back(tool.option);
  words.emplace_back("--");
  const std::string key(tool.argument);
  const Json* given = field_of(arguments, key.c_str());
  if (given == nullptr) return tool.needs_it ? std::nullopt : std::optional(words);
  std::vector<std::string> told;
  if (&tool.verb == &kDoctorVerb)
    told = texts_if(arguments, key.c_str()).value_or(told);
  else if (given->is_string() && *given != "-")  // explain would wait for a log on its stdin
    told.push_back(given->get<std::string>());
  if (told.empty()) return std::nullopt;
  words.insert(words.end(), told.begin(), told.end());
  return words;
}

Json failure(int code, const std::string& message) {
  return {{"error", {{"code", code}, {"message", message}}}};
}

Json called(const Json& params, const RunVerb& run) {
  const std::string name = text_of(params, "name");
  const auto* tool = std::ranges::find(kTools, name, [](const Tool& one) { return one.verb.name; });
  if (tool == kTools.end()) return failure(-32602, fmt::format("there is no tool '{}'", name));
  const Json* arguments = field_of(params, "arguments");
  if (arguments != nullptr && !arguments->is_object() && !arguments->is_null())
    return failure(-32602, "the arguments are no object");
  const auto words = words_for(*tool, object_of(params, "arguments"));
  if (!words)
    return failure(-32602, fmt::format("{} takes {}: {}", name, tool->argument, tool->meaning));
  if (std::ranges::max(*words, {}, &std::string::size).size() > kLongestWord)
    return failure(-32602,
                   fmt::format("{} is too long: 100 KB at most{}", tool->argument,
                               &tool->verb == &kExplainVerb ? ", or the path of a log" : ""));
  const VerbAnswer said = run(*words);
  const Json content{{{"type", "text"}, {"text", said.text}}};
  return {{"result", {{"content", content}, {"isError", said.failed}}}};
}

Json answered(const Json& message, const RunVerb& run) {
  const std::string method = text_of(message, "method");
  const Json& params = object_of(message, "params");
  if (method == "initialize") return {{"result", introduced(params)}};
  if (method == "ping") return {{"result", Json::object()}};
  if (method == "tools/list") return {{"result", list_of_tools()}};
  if (method == "tools/call") return called(params, run);
  return failure(-32601, fmt::format("there is no method '{}'", method));
}

// Nothing for a notification, nor for what answers a question that we never ask.
std::optional<Json> reply_to(const Json& message, const RunVerb& run) {
  const auto has = [&](const char* key) { return field_of(message, key) != nullptr; };
  if (message.is_object() && (!has("id") || has("result") || has("error"))) return std::nullopt;
  Json reply{{"jsonrpc", "2.0"}, {"id", has("id") ? *field_of(message, "id") : Json()}};
  reply.update(has("method")            ? answered(message, run)
               : message.is_discarded() ? failure(-32700, "this is no JSON")
                                        : failure(-32600, "this is no request"));
  return reply;
}

std::string in_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

VerbAnswer run_verb(const std::vector<std::string>& words) {
  std::error_code none;
  std::vector<std::string> argv{std::filesystem::read_symlink("/proc/self/exe", none)};
  argv.insert(argv.end(), words.begin(), words.end());
  const auto output = launch::run_helper({argv, current_environment(), kVerbTakes});
  if (!output) return {output.error().message, true};
  if (output->lines.empty())
    return {output->end.errors.empty() ? describe(output->end) : output->end.errors, true};
  return {join(output->lines, "\n"), false};
}

int serve(NoOptions /*given*/, const std::vector<std::string>& /*rest*/) {
  for (std::string line; answers_are_taken() && std::getline(std::cin, line);)
    if (const auto reply = mcp_answer(line, run_verb)) answer(*reply + "\n");
  return 0;
}

}  // namespace

std::optional<std::string> mcp_answer(std::string_view line, const RunVerb& run) {
  const Json message = parse_json<Json>(line);
  if (!message.is_array() || message.empty() || message.size() > kMostInBatch) {
    const auto reply = reply_to(message, run);
    return reply ? std::optional(in_line(*reply)) : std::nullopt;
  }
  Json replies = Json::array();
  for (const Json& one : message)
    if (auto reply = reply_to(one, run)) replies.push_back(*std::move(reply));
  return replies.empty() ? std::nullopt : std::optional(in_line(replies));
}

const Verb kMcpVerb{
    .name = "mcp",
    .function = reads<NoOptions, serve>,
    .help = "for coding agents: status, stacks, report, explain, doctor",
    .purpose =
        "Answers a coding agent by the Model Context Protocol on stdin and stdout. Its tools are "
        "the verbs status, stacks, report, explain and doctor, which only read.",
    .example = "safelaunch mcp"};

}  // namespace safelaunch::cli
