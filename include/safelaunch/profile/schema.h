#pragma once

#include <string>

namespace safelaunch::profile {

/// The kinds of files that people write for safelaunch.
enum class FileKind { profile, config };

/// The JSON schema (draft 07, which editors' YAML servers read) of a profile or of safelaunch.yaml:
/// every key with its type, words and meaning. The options in it come from the table of options. It
/// is a help while writing: what it lets through may still be refused, with file and line.
[[nodiscard]] std::string schema_of(FileKind kind);

}  // namespace safelaunch::profile
