#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/result.h"

namespace safelaunch::settings {

/// Who is told by `--notify`: a command of the user's, or the webhook of a chat.
struct Receiver {
  /// The form in which the webhook wants the news, in the order of kReceiverForms.
  enum class Form { command, slack, feishu, dingtalk, wecom, json };
  Form form = Form::command;
  std::string where;  ///< the command for a shell, or the URL
  bool operator==(const Receiver&) const = default;
};

inline constexpr std::string_view kReceiverForms = "command|slack|feishu|dingtalk|wecom|json";

/// Reads "feishu:https://…", else a command; several stand in a list of JSON, as the list of a file
/// becomes one. Errors (Errc::usage): a form that is unknown.
[[nodiscard]] Result<std::vector<Receiver>> parse_receivers(std::string_view text);

}  // namespace safelaunch::settings
