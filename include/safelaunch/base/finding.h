#pragma once

#include <string>

namespace safelaunch {

/// What a finding means for the coming run.
enum class Severity {
  note,   ///< worth a word; nothing has to be done
  risk,   ///< may make the run fail or slow
  blocks  ///< the run cannot work before it is remedied
};

[[nodiscard]] const char* name(Severity severity);

/// One result of looking at the host before a run. A plain value for the screen and for JSON.
struct Finding {
  std::string cause;  ///< its row in the catalogue of causes ("nccl-two-libraries")
  Severity severity = Severity::note;
  std::string evidence;  ///< what was seen, with names and numbers
  std::string remedy;    ///< what to do, ready to be typed where that can be
  bool operator==(const Finding&) const = default;
};

}  // namespace safelaunch
