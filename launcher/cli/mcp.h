#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

/// `safelaunch mcp`: coding agents ask, by the Model Context Protocol, what a person would type.
/// The verbs that only read are its tools.
namespace safelaunch::cli {

/// What a verb has said.
struct VerbAnswer {
  std::string text;
  bool failed = false;
};

/// Runs `safelaunch WORD …`.
using RunVerb = std::function<VerbAnswer(const std::vector<std::string>& words)>;

/// The answer to one line of JSON-RPC; nullopt: it wants none. No word of the agent's becomes an
/// option of a verb.
[[nodiscard]] std::optional<std::string> mcp_answer(std::string_view line, const RunVerb& run);

}  // namespace safelaunch::cli
