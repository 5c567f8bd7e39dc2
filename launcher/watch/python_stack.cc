#include "safelaunch/watch/python_stack.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "safelaunch/base/strings.h"

// Frames are cut from the right, where the line and the function have no blanks. The innermost
// frame outside every library is the user's; where a package is the program (vllm serve), the
// package's innermost one. Of the frames below it the first that is neither
// ours nor a wrapper is the call that people know.
namespace safelaunch::watch {
namespace {

struct Frame {
  std::string_view path;
  std::string_view line;
  std::string_view function;
  bool is_generated = false;
};

std::string_view after_last(std::string_view text, char separator) {
  const std::size_t at = text.rfind(separator);
  return at == std::string_view::npos ? text : text.substr(at + 1);
}

// "file:line function"; a path may hold blanks and colons, a function's name none. The hook adds
// the file to the name of a function that waits for a lock: "wait(lock=/data/lock)".
Frame parse(std::string_view text) {
  Frame frame;
  const std::size_t blank = text.rfind(' ');
  if (blank != std::string_view::npos) frame.function = text.substr(blank + 1);
  const std::string_view place = text.substr(0, std::min(blank, text.size()));
  frame.line = after_last(place, ':');
  frame.path = place.substr(0, place.size() - std::min(place.size(), frame.line.size() + 1));
  return frame;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_hook(const Frame& frame) {
  return contains(frame.path, "/_safelaunch_hook/");
}

// Python's own library lies under lib/python3.11 or lib64/python3.11, packages below that.
bool is_library(const Frame& frame) {
  constexpr std::array<std::string_view, 5> kMarks{"/site-packages/", "/dist-packages/",
                                                   "/lib/python3", "/lib64/python3", "<frozen "};
  return std::any_of(kMarks.begin(), kMarks.end(),
                     [&](std::string_view mark) { return contains(frame.path, mark); });
}

// A wrapper of a library's own function says nothing: the function does.
bool is_wrapper(const Frame& frame) {
  constexpr std::array<std::string_view, 5> kNames{"wrapper", "__call__", "__enter__", "inner",
                                                   "decorate_context"};
  return std::find(kNames.begin(), kNames.end(), frame.function) != kNames.end();
}

std::string shown(const Frame& frame) {
  std::string text(after_last(frame.path, '/'));
  text += ':';
  text += frame.line;
  text += ' ';
  text += frame.function;
  return printable(text);
}

// The words with which multiprocessing starts a child that it has not forked.
bool is_bootstrap(const Frame& frame) {
  return frame.path == "<string>" && frame.line == "1" && frame.function == "<module>";
}

// Made at run time: the __init__ of a dataclass, or the text that defines it. Of a child, and of
// python -c, a module of this name is the program.
bool is_generated(const Frame& frame, std::span<const Frame> callers) {
  return frame.path == "<string>" &&
         (frame.function != "<module>" || (!callers.empty() && is_library(callers.back())));
}

bool is_of_user(const Frame& frame) {
  return !is_library(frame) && !is_hook(frame) && !frame.is_generated;
}

bool is_of_package(const Frame& frame) {
  const bool installed =
      contains(frame.path, "/site-packages/") || contains(frame.path, "/dist-packages/");
  return installed && !contains(frame.path, "-packages/torch/");
}

std::optional<std::size_t> innermost(std::span<const Frame> frames, bool (*is)(const Frame&)) {
  const bool is_child =
      frames.size() > 1 && is_bootstrap(frames.front()) && frames[1].function == "spawn_main";
  for (std::size_t i = frames.size(); i-- > (is_child ? 1 : 0);)
    if (is(frames[i])) return i;
  return std::nullopt;
}

// The user called this; of torch's frames the outermost is the one that people know by name. What
// waits for a lock file says more than what the user called.
std::string_view called(std::span<const Frame> deeper) {
  const auto waits = std::ranges::find_if(
      deeper, [](const Frame& frame) { return contains(frame.function, "(lock="); });
  if (waits != deeper.end()) return waits->function;
  for (const Frame& frame : deeper)
    if (!is_hook(frame) && !is_wrapper(frame)) return frame.function;
  return {};
}

std::vector<Frame> frames_of(const PythonThread& thread) {
  std::vector<Frame> frames;
  for (const std::string& text : thread.frames) {
    Frame frame = parse(text);
    frame.is_generated = is_generated(frame, frames);
    frames.push_back(frame);
  }
  return frames;
}

}  // namespace

std::string summarize(const std::vector<PythonThread>& threads, Detail detail) {
  for (const auto is : {is_of_user, is_of_package})
    for (const PythonThread& thread : threads) {
      const std::vector<Frame> frames = frames_of(thread);
      const auto place = innermost(frames, is);
      if (!place) continue;
      const auto deeper = std::span(frames).subspan(*place + 1);
      const std::string_view next = called(deeper);
      std::string text = shown(frames[*place]);
      if (!next.empty()) text += " → " + printable(next);
      const auto inner = innermost(deeper, is_of_package);
      if (detail == Detail::with_package && inner && deeper[*inner].function != next &&
          next.find("(lock=") == std::string_view::npos)
        text += " → " + shown(deeper[*inner]);
      return text;
    }
  for (const PythonThread& thread : threads) {
    const std::vector<Frame> frames = frames_of(thread);
    const auto last = std::find_if_not(frames.rbegin(), frames.rend(), is_hook);
    if (last != frames.rend()) return shown(*last);
  }
  return {};
}

std::string all_frames(const std::vector<PythonThread>& threads) {
  std::string text;
  for (const PythonThread& thread : threads) {
    text += "thread " + printable(thread.name) + " (innermost last)\n";
    for (const std::string& frame : thread.frames)
      if (!is_hook(parse(frame))) text += "  " + printable(frame) + "\n";
  }
  return text;
}

}  // namespace safelaunch::watch
