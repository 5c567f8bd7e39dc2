#include "launcher/cli/mcp.h"

#include <nlohmann/json.hpp>

#include "catch.h"

using namespace safelaunch::cli;
using AgentJson = nlohmann::json;

namespace {

using Words = std::vector<std::string>;

/// What the agent is answered, and the words with which a verb was run.
struct Exchange {
  AgentJson reply;
  Words words{};
};

Exchange ask_agent(const AgentJson& message, const VerbAnswer& says = {"said", false}) {
  Exchange exchange;
  const auto reply = mcp_answer(message.dump(), [&](const Words& words) {
    exchange.words = words;
    return says;
  });
  REQUIRE(reply);
  exchange.reply = AgentJson::parse(*reply);
  CHECK(exchange.reply["jsonrpc"] == "2.0");
  return exchange;
}

Exchange call_tool(const std::string& tool, const AgentJson& arguments) {
  return ask_agent({{"jsonrpc", "2.0"},
                    {"id", 7},
                    {"method", "tools/call"},
                    {"params", {{"name", tool}, {"arguments", arguments}}}});
}

int code_of(const Exchange& exchange) {
  CHECK(exchange.words.empty());
  return exchange.reply["error"]["code"];
}

}  // namespace

TEST_CASE("an agent is told who answers, in its own version where that is known", "[mcp]") {
  const auto version = [](const char* wanted) {
    const Exchange exchange =
        ask_agent({{"id", 0}, {"method", "initialize"}, {"params", {{"protocolVersion", wanted}}}});
    CHECK(exchange.reply["id"] == 0);
    CHECK(exchange.reply["result"]["serverInfo"]["name"] == "safelaunch");
    CHECK(exchange.reply["result"]["capabilities"].contains("tools"));
    return exchange.reply["result"]["protocolVersion"];
  };
  CHECK(version("2024-11-05") == "2024-11-05");
  CHECK(version("2031-01-01") == "2025-06-18");
  CHECK(ask_agent({{"id", "a"}, {"method", "ping"}}).reply["result"] == AgentJson::object());
}

TEST_CASE("the tools are the verbs that only read", "[mcp]") {
  const AgentJson tools = ask_agent({{"id", 1}, {"method", "tools/list"}}).reply["result"]["tools"];
  std::string names;
  for (const AgentJson& tool : tools) {
    names += tool["name"].get<std::string>() + " ";
    CHECK_FALSE(tool["description"].get<std::string>().empty());
    CHECK(tool["inputSchema"]["type"] == "object");
    CHECK(tool["annotations"]["readOnlyHint"] == true);
  }
  CHECK(names == "status stacks report explain doctor ");
  CHECK(tools[3]["inputSchema"]["required"] == AgentJson{"what"});
  CHECK(tools[4]["inputSchema"]["properties"]["command"]["items"]["type"] == "string");
}

TEST_CASE("a tool runs its verb, and no argument becomes an option", "[mcp]") {
  const Exchange status = call_tool("status", AgentJson::object());
  CHECK(status.words == Words{"status", "--json", "--"});
  CHECK(status.reply["id"] == 7);
  CHECK(status.reply["result"]["content"] == AgentJson{{{"type", "text"}, {"text", "said"}}});
  CHECK(status.reply["result"]["isError"] == false);
  CHECK(call_tool("report", {{"run", "--bundle=/x"}}).words ==
        Words{"report", "--", "--bundle=/x"});
  CHECK(call_tool("stacks", {{"run", "4711"}}).words == Words{"stacks", "--json", "--", "4711"});
  CHECK(call_tool("explain", {{"what", "--help"}}).words == Words{"explain", "--", "--help"});
  CHECK(call_tool("doctor", {{"command", {"torchrun", "--fix"}}}).words ==
        Words{"doctor", "--json", "--", "torchrun", "--fix"});
  const AgentJson message{{"id", 1}, {"method", "tools/call"}, {"params", {{"name", "status"}}}};
  CHECK(ask_agent(message, {"no such run", true}).reply["result"]["isError"] == true);
}

TEST_CASE("a tool or an argument that there is not is refused, and nothing runs", "[mcp]") {
  for (const char* verb : {"stop", "clean", "run", "init", ""})
    CHECK(code_of(call_tool(verb, AgentJson::object())) == -32602);
  CHECK(code_of(call_tool("explain", AgentJson::object())) == -32602);
  CHECK(code_of(call_tool("explain", {{"what", "-"}})) == -32602);  // it would wait for its stdin
  CHECK(code_of(call_tool("report", {{"run", {"a", "b"}}})) == -32602);
  CHECK(code_of(call_tool("doctor", {{"command", "torchrun"}})) == -32602);
  CHECK(code_of(call_tool("status", AgentJson::array())) == -32602);
  CHECK(code_of(call_tool("explain", {{"what", std::string(150'000, 'x')}})) == -32602);
  CHECK(code_of(ask_agent({{"id", 1}, {"method", "resources/list"}})) == -32601);
}

TEST_CASE("only a request is answered", "[mcp]") {
  const auto nobody = [](const Words&) { return VerbAnswer{}; };
  CHECK_FALSE(mcp_answer(R"({"method": "notifications/initialized"})", nobody));
  CHECK_FALSE(mcp_answer(R"({"id": 1, "result": {}})", nobody));
  CHECK(AgentJson::parse(*mcp_answer("{", nobody))["error"]["code"] == -32700);
  CHECK(AgentJson::parse(*mcp_answer("", nobody))["error"]["code"] == -32700);
  CHECK(AgentJson::parse(*mcp_answer("1", nobody))["error"]["code"] == -32600);
  CHECK(AgentJson::parse(*mcp_answer("1", nobody))["id"].is_null());
  CHECK(AgentJson::parse(*mcp_answer(R"({"id": 3})", nobody))["error"]["code"] == -32600);
}

TEST_CASE("a batch is answered with a batch", "[mcp]") {
  const auto nobody = [](const Words&) { return VerbAnswer{}; };
  const auto replies = AgentJson::parse(
      *mcp_answer(R"([{"id": 1, "method": "ping"}, {"method": "notifications/x"}, 1])", nobody));
  REQUIRE(replies.size() == 2);
  CHECK(replies[0]["id"] == 1);
  CHECK(replies[1]["error"]["code"] == -32600);
  CHECK_FALSE(mcp_answer(R"([{"method": "notifications/x"}])", nobody));
  CHECK(AgentJson::parse(*mcp_answer("[]", nobody))["error"]["code"] == -32600);
}
