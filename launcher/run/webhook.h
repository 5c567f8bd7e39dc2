#pragma once

#include <optional>
#include <string>
#include <vector>

#include "safelaunch/settings/receiver.h"

/// How a receiver of `--notify` is called: by a shell, or by curl with the news in the chat's form.
namespace safelaunch::run {

/// The program that hands the news over.
[[nodiscard]] std::vector<std::string> command_for(const settings::Receiver& receiver);

/// The text for its stdin. `news` is one line of JSON. The URL is in it too: it is a password, and
/// everybody on the host may read a command line.
[[nodiscard]] std::string input_for(const settings::Receiver& receiver, const std::string& news);

/// What a chat says that did not take the news; they answer 200 to all. nullopt: it took it.
[[nodiscard]] std::optional<std::string> refusal_in(std::string_view answer);

}  // namespace safelaunch::run
