#pragma once

#include <string_view>

namespace safelaunch::diagnose {

/// What a job was doing as its log came to an end, in a sentence: DeepSpeed starts, an extension is
/// built. Empty where the last lines show nothing of the kind. It is no cause: a log also ends so
/// where the job was ended, or where it runs on.
[[nodiscard]] std::string_view at_the_end_of(std::string_view log);

}  // namespace safelaunch::diagnose
