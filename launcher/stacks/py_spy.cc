#include "py_spy.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/trusted_path.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/host/process_facts.h"
#include "safelaunch/launch/find_program.h"
#include "safelaunch/launch/helper.h"

namespace safelaunch::stacks {
namespace {

using Json = nlohmann::ordered_json;

// The kernel lets only an ancestor or root look into a process from 1 on; none at 3.
constexpr const char* kPtraceScope = "/proc/sys/kernel/yama/ptrace_scope";

// py-spy tells "Trainer.<locals>.run" from Python 3.11 on, and Python's own frames tell "run".
std::string function_in(const Json& frame) {
  const std::string name = text_of(frame, "name");
  return name.substr(name.rfind('.') + 1);
}

watch::PythonThread thread_from(const Json& json) {
  watch::PythonThread thread{text_of(json, "thread_name"), {}};
  if (thread.name.empty())
    thread.name = fmt::format("{}", number_of<std::int64_t>(json, "os_thread_id").value_or(0));
  const auto frames = json.find("frames");
  if (frames == json.end() || !frames->is_array()) return thread;
  for (const Json& frame : *frames)
    if (frame.is_object())
      thread.frames.push_back(fmt::format("{}:{} {}", text_of(frame, "filename"),
                                          number_of<std::int64_t>(frame, "line").value_or(0),
                                          function_in(frame)));
  std::ranges::reverse(thread.frames);  // py-spy tells the innermost first
  return thread;
}

std::string why_not(const launch::HelperOutput& told) {
  std::string why = describe(told.end);
  std::string_view errors = trimmed(told.end.errors);
  if (!errors.empty()) why = std::string(errors.substr(errors.rfind('\n') + 1));
  if (why.find("Permission") == std::string::npos) return why;
  const host::SmallFile scope(kPtraceScope);
  return fmt::format("the kernel does not let it look into another process{}; as root it may",
                     scope && scope.text() != "0"
                         ? fmt::format(" (kernel.yama.ptrace_scope is {})", scope.text())
                         : "");
}

}  // namespace

std::string find_py_spy(int pid) {
  const auto in_path = [](const Environment& environment) -> std::string {
    const auto found = launch::find_program("py-spy", environment);
    return found && found->starts_with('/') && !distrust_path(*found) ? *found : "";
  };
  if (std::string own = in_path(current_environment()); !own.empty()) return own;
  // Root runs nothing from where another user's process says.
  const auto facts = host::facts_of(pid);
  const auto environment = host::environment_of(pid);
  if (!facts || facts->uid != geteuid() || !environment) return {};
  if (std::string its = in_path(*environment); !its.empty()) return its;
  const std::vector<std::string> words = host::command_line_of(pid);
  if (words.empty() || !words.front().starts_with('/')) return {};
  const std::string beside = words.front().substr(0, words.front().rfind('/'));
  return in_path({{"PATH", beside}});
}

std::optional<std::vector<watch::PythonThread>> read_dump(std::string_view json, int pid) {
  const Json all = Json::parse(json, nullptr, false);
  if (!all.is_array()) return std::nullopt;
  std::vector<watch::PythonThread> threads;
  for (const Json& one : all) {
    if (!one.is_object()) continue;
    const bool main = number_of<std::int64_t>(one, "os_thread_id").value_or(0) == pid;
    threads.insert(main ? threads.begin() : threads.end(), thread_from(one));
  }
  return threads;
}

Dump dump(const std::string& py_spy, int pid, Duration limit) {
  const std::vector<std::string> argv{py_spy,   "dump",  "--nonblocking",
                                      "--json", "--pid", fmt::format("{}", pid)};
  const auto told = launch::run_helper({argv, current_environment(), limit});
  if (!told) return {{}, told.error().message};
  auto threads = read_dump(join(told->lines, "\n"), pid);
  if (threads && !threads->empty()) return {std::move(*threads), {}};
  return {{}, why_not(*told)};
}

}  // namespace safelaunch::stacks
