#pragma once

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"

namespace safelaunch::agree {

/// The variable that holds the token. It is for agents only: no worker gets it.
inline constexpr std::string_view kTokenVariable = "SAFELAUNCH_TOKEN";

/// The secret that all agents of a job share. The caller keeps it out of argv, records and the
/// environment of workers.
struct Token {
  std::string secret;
  /// The file or variable it comes from, for messages: "/home/me/.config/safelaunch/token".
  std::string from;
};

/// SAFELAUNCH_TOKEN; else the file that --token-file names; else $XDG_CONFIG_HOME/safelaunch/token,
/// which is made with 256 random bits where it is missing. Errors: others can read or change the
/// file, it is not ours, or the secret is shorter than 16 characters.
[[nodiscard]] Result<Token> find_token(const std::string& token_file,
                                       const Environment& environment);

}  // namespace safelaunch::agree
