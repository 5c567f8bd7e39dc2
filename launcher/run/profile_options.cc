#include "profile_options.h"

namespace safelaunch::run {

settings::RunOptions options_under(settings::RunOptions options, const profile::Profile& profile) {
  for (const auto& [name, setting] : profile.options) {
    if (options.given.contains(name)) continue;
    const settings::Option& option =
        *settings::find_run_option(name);  // else the profile was not read
    option.put(option, &options, setting.value);
  }
  return options;
}

}  // namespace safelaunch::run
