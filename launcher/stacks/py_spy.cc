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

// py-spy is looked for where it may be trusted, and asked once a process. Its frames are turned
// into the form of Python's own, so that a place reads the same whoever has told it.
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

void tell(RankPlace& place, const std::vector<watch::PythonThread>& threads, Teller teller) {
  place.where = watch::summarize(threads, watch::Detail::with_package);
  place.frames = watch::all_frames(threads);
  place.teller = teller;
}

}  // namespace

std::string find_py_spy(const Environment& own, const std::optional<PythonStart>& its) {
  const auto in_path = [](const Environment& environment) -> std::string {
    const auto found = launch::find_program("py-spy", environment);
    return found && found->starts_with('/') && !distrust_path(*found) ? *found : "";
  };
  if (std::string ours = in_path(own); !ours.empty() || !its) return ours;
  if (std::string found = in_path(its->environment); !found.empty()) return found;
  if (its->words.empty() || !its->words.front().starts_with('/')) return {};
  const std::string& python = its->words.front();
  return in_path({{"PATH", python.substr(0, python.rfind('/'))}});
}

std::string find_py_spy(int pid) {
  std::optional<PythonStart> its;
  const auto facts = host::facts_of(pid);
  if (facts && facts->uid == geteuid())
    if (auto environment = host::environment_of(pid))
      its = {*std::move(environment), host::command_line_of(pid)};
  return find_py_spy(current_environment(), its);
}

std::optional<std::vector<watch::PythonThread>> read_dump(std::string_view json, int pid) {
  const Json all = parse_json<Json>(json);
  if (!all.is_array()) return std::nullopt;
  std::vector<watch::PythonThread> threads;
  for (const Json& one : all) {
    if (!one.is_object()) continue;
    const bool main = number_of<std::int64_t>(one, "os_thread_id").value_or(0) == pid;
    threads.insert(main ? threads.begin() : threads.end(), thread_from(one));
  }
  return threads;
}

std::string why_not(const launch::HelperEnd& end, std::string_view ptrace_scope) {
  std::string why = describe(end);
  const std::string_view errors = trimmed(end.errors);
  if (!errors.empty()) why = std::string(errors.substr(errors.rfind('\n') + 1));
  if (why.find("Permission") == std::string::npos) return why;
  const bool forbids = !ptrace_scope.empty() && ptrace_scope != "0";
  return fmt::format("the kernel does not let it look into another process{}; as root it may",
                     forbids ? fmt::format(" (kernel.yama.ptrace_scope is {})", ptrace_scope) : "");
}

Dump dump(const std::string& py_spy, int pid, Duration limit) {
  const std::vector<std::string> argv{py_spy,   "dump",  "--nonblocking",
                                      "--json", "--pid", fmt::format("{}", pid)};
  const auto told = launch::run_helper({argv, current_environment(), limit});
  if (!told) return {{}, told.error().message};
  auto threads = read_dump(join(told->lines, "\n"), pid);
  if (threads && !threads->empty()) return {std::move(*threads), {}};
  return {{}, why_not(told->end, host::SmallFile(kPtraceScope).text())};
}

void PythonReader::read(RankPlace& place) {
  const auto is_there = [&] { return means_.is_python(place.process); };
  if (place.teller != Teller::nobody || !is_there()) return;
  const std::string program = means_.find(place.process.pid);
  if (program.empty()) {
    std::vector<std::string> frames = means_.frames(place.process.pid);
    return frames.empty() ? static_cast<void>(++missing_)
                          : tell(place, {{"MainThread", std::move(frames)}}, Teller::safelaunch);
  }
  if (!trouble_.empty()) return;
  if (means_.is_time_up()) {
    ++late_;
    return;
  }
  const Dump seen = means_.dump(program, place.process.pid);
  if (seen.threads.empty()) {
    // py-spy fails on a process that has just ended, and that says nothing about the others.
    if (is_there())
      trouble_ = fmt::format("py-spy cannot read pid {}: {}", place.process.pid, seen.trouble);
    return;
  }
  tell(place, seen.threads, Teller::py_spy);
}

std::string PythonReader::note() const {
  if (!trouble_.empty()) return trouble_;
  if (missing_ > 0)
    return fmt::format(
        "the Python frames of {} of the processes are not known: no hook of safelaunch answers "
        "there, safelaunch cannot read them from outside, and py-spy is not installed (pip install "
        "py-spy)",
        missing_);
  if (late_ > 0)
    return fmt::format(
        "py-spy was too slow here: the Python frames of {} of the processes are not known", late_);
  return {};
}

}  // namespace safelaunch::stacks
