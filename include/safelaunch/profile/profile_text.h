#pragma once

#include <span>

#include "safelaunch/profile/apply.h"
#include "safelaunch/profile/config.h"
#include "safelaunch/profile/profile.h"
#include "safelaunch/redact/redactor.h"

namespace safelaunch::profile {

/// `profiles list`: one line a profile, with its cost, what it heals and what it is.
[[nodiscard]] std::string render_profile_list(std::span<const Profile> profiles);

/// `profiles show`: the profile with all that it inherits, as YAML that reads back as the same.
[[nodiscard]] std::string render_profile(const Profile& profile);

/// `profiles check`: that the file is good, and the warnings for its variables.
[[nodiscard]] std::string render_check(const Profile& profile);

/// `profiles env`: the lines that a shell evaluates to get the profile's variables. Settings that
/// only a run can make (backend, processes, arguments, timeouts) stand there as comments.
[[nodiscard]] std::string render_exports(const Profile& profile);

/// `profiles list --json` and `profiles show --json`.
[[nodiscard]] std::string profile_list_json(std::span<const Profile> profiles);
[[nodiscard]] std::string profile_json(const Profile& profile);
/// A profile as it may be shown: values whose names or forms make them secret are replaced.
[[nodiscard]] Profile without_secrets(Profile profile);

/// The differences of an attempt, for the screen and env.diff: '+' set, '-' taken away,
/// '~' changed, '=' kept although somebody wanted another. Values of secrets are not shown.
[[nodiscard]] std::string render_differences(std::span<const Difference> differences,
                                             const redact::Redactor& redactor = {});

/// The JSON schema (draft 07, which editors' YAML servers read) of a profile or of safelaunch.yaml:
/// every key with its type, words and meaning. The options in it come from the table of options. It
/// is a help while writing: a file that it lets through may still be refused, with file and line.
[[nodiscard]] std::string schema_of(FileKind kind);

}  // namespace safelaunch::profile
