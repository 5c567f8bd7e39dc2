#include <algorithm>
#include <array>

#include "command_line.h"
#include "safelaunch/base/strings.h"

namespace safelaunch::job {
namespace {

struct ServerName {
  std::string_view name;  ///< of a program, or of a module of Python's
  std::string_view subcommand{};
};

// vLLM 0.32, SGLang 0.5.
constexpr std::array kServers = {
    ServerName{"vllm", "serve"},
    ServerName{"vllm.entrypoints.cli.main", "serve"},
    ServerName{"vllm.entrypoints.openai.api_server"},
    ServerName{"vllm.entrypoints.api_server"},
    ServerName{"sglang", "serve"},
    ServerName{"sglang.launch_server"},
};

// Further nodes of vLLM's have engines alone, and by gRPC or HTTP/2 others answer than uvicorn,
// whose hook tells that it does.
constexpr std::array<std::string_view, 5> kNotTold = {"--headless", "--grpc", "--grpc-mode",
                                                      "--smg-grpc-mode", "--enable-http2"};

}  // namespace

bool is_server(std::string_view name, std::span<const std::string> arguments) {
  return std::ranges::any_of(kServers, [&](const ServerName& server) {
    if (name != server.name) return false;
    return server.subcommand.empty() ||
           (!arguments.empty() && arguments.front() == server.subcommand);
  });
}

bool tells_that_it_answers(std::span<const std::string> arguments) {
  return std::ranges::find_first_of(arguments, kNotTold) == arguments.end();
}

bool is_one_of_several_nodes(std::span<const std::string> arguments) {
  constexpr std::string_view kOption = "--nnodes";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view word = arguments[i];
    if (!word.starts_with(kOption)) continue;
    word.remove_prefix(kOption.size());
    if (word.empty() && i + 1 < arguments.size()) word = arguments[i + 1];
    if (to_number(word.substr(word.starts_with('='))).value_or(1) > 1) return true;
  }
  return false;
}

}  // namespace safelaunch::job
