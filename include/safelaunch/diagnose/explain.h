#pragma once

#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/diagnose/diagnosis.h"

namespace safelaunch::diagnose {

/// One cause for a reader: title, remedy, what safelaunch does, and the patterns that show it.
[[nodiscard]] std::string explain(const Cause& cause);

/// The causes that a log shows, the reason before its victims; empty for a healthy log. An NCCL log
/// that ends before its communicator is complete shows `rank-missing`, as a guess.
[[nodiscard]] std::vector<Sighting> read_log(std::string_view log, const Catalogue& catalogue);

/// The causes that a log shows, for a reader: each with its line, then the traceback of the rank
/// that failed first.
[[nodiscard]] std::string explain_log(std::string_view log, const Catalogue& catalogue);

/// What was seen as JSON: {"causes": […]}, each with what `explain` tells of it. Texts are English.
[[nodiscard]] std::string causes_json(std::span<const Sighting> seen);

/// The cause that a person's words name: the message of an exception without its traceback, or the
/// name that people have for a cause ("NCCL timeout"). nullptr: none that we know.
[[nodiscard]] const Cause* cause_named_by(std::string_view words, const Catalogue& catalogue);

/// Whether a text has a Chinese character.
[[nodiscard]] bool has_chinese(std::string_view text);

/// The causes that Chinese words name ("端口被占用", "卡住"), whatever the language of this
/// process: those whose Chinese titles say most of it, the best first. Few, and empty for other
/// words.
[[nodiscard]] std::vector<const Cause*> causes_in_chinese(std::string_view words,
                                                          const Catalogue& catalogue);

}  // namespace safelaunch::diagnose
