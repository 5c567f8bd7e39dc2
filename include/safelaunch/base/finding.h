#pragma once

#include <string>

namespace safelaunch {

/// The meaning of a finding for the coming run.
enum class Severity {
  note,   ///< it is worth a word; nothing has to be done
  risk,   ///< it may make the run fail or slow
  blocks  ///< the run cannot work until it is remedied
};

[[nodiscard]] inline const char* name(Severity severity) {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::risk: return "risk";
    case Severity::blocks: return "blocks";
  }
  return "";
}

/// One result of looking at the host before a run. A plain value for the screen and for JSON.
struct Finding {
  std::string cause;  ///< the id of a row in the catalogue of causes ("nccl-two-libraries")
  Severity severity = Severity::note;
  std::string evidence;  ///< the facts that were seen, with names and numbers
  std::string remedy;    ///< the advice, ready to be typed where possible
  bool operator==(const Finding&) const = default;
};

}  // namespace safelaunch
