#pragma once

#include <span>

#include "safelaunch/base/environment.h"
#include "safelaunch/profile/config.h"

/// The files that hold settings are layers: each key of a nearer one stands over the same key of
/// the ones below.
namespace safelaunch::profile {

/// A place at which a safelaunch.yaml is looked for.
struct ConfigPlace {
  enum class Whose {
    host,    ///< /etc/safelaunch/safelaunch.yaml
    user,    ///< $XDG_CONFIG_HOME/safelaunch/safelaunch.yaml
    folder,  ///< ./safelaunch.yaml, which nobody has named and which may be anybody's
    named,   ///< the file of --config or SAFELAUNCH_CONFIG, which must be there
  };
  Whose whose = Whose::named;
  std::string path;
  std::string named_by = {};  ///< "--config"; empty where nobody has named it
};

/// The places, the lowest first: the host's, the user's, and then the file that is named (`given`
/// of --config, else $SAFELAUNCH_CONFIG), or else ./safelaunch.yaml. A file that is two of these is
/// the lower one alone.
[[nodiscard]] std::vector<ConfigPlace> config_places(std::string_view given,
                                                     const Environment& environment);

/// A place, and what was found there: neither a config nor a refusal where there is no file.
struct ConfigLayer {
  ConfigPlace place;
  std::string text = {};                     ///< the text of a file that holds
  std::optional<Config> config = {};         ///< set: the file holds
  std::optional<std::string> passed_over{};  ///< why the file of the working directory does not
  std::optional<Error> refusal = {};         ///< why the file ends a run
};

/// Reads what is at these places. The first of them is the host's, or there is none of the host's;
/// its locks bind all others.
[[nodiscard]] std::vector<ConfigLayer> read_layers(std::span<const ConfigPlace> places);

/// What a file other than the host's says of the keys that the host's file locks, and a lock of its
/// own, which would hold nothing. Places and the locking file stand in the mistakes.
[[nodiscard]] Mistakes mistakes_under_locks(const YamlNode& root, std::span<const LockedKey> locks);

/// The layers as one config. A nearer file stands over one below key by key, and in each file its
/// cluster rule stands over the rest: so a rule of the result holds all that its cluster sets, in
/// whatever file. Rules of one name are one rule, whose `match` is that of the nearest file that
/// has one. The rules of a nearer file come first.
[[nodiscard]] Config combined(std::span<const ConfigLayer> layers);

/// The settings that hold here, and what is to be said of the files.
struct FoundConfig {
  Config config;
  std::vector<std::string> warnings;
  std::string unasked;  ///< the text of ./safelaunch.yaml where that holds and nobody has named it
};

/// Reads all layers. Errors: a file that is named is not there, or a file is refused; not that of
/// the working directory, which is passed over with a warning if it must not be trusted or says
/// more than a file may that nobody has named (trust.h).
[[nodiscard]] Result<FoundConfig> find_config(std::string_view given,
                                              const Environment& environment);

}  // namespace safelaunch::profile
