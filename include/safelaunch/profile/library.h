#pragma once

#include <set>
#include <span>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/installed_files.h"
#include "safelaunch/profile/profile.h"

namespace safelaunch::profile {

/// A folder in which profiles are looked for.
struct SearchFolder {
  std::string path;
  /// How a file there is treated that must not be trusted. Where the user or root pointed us, it
  /// is an error. The working directory may be anybody's: there it is passed over with a warning,
  /// and so is one that takes a built-in profile's name or says what needs trust (trust.h).
  enum class Untrusted { refuse, pass_over } untrusted = Untrusted::refuse;
};

/// $SAFELAUNCH_PROFILE_PATH (folders with ':' between them), ./profiles,
/// $XDG_CONFIG_HOME/safelaunch/profiles (else ~/.config/…), /etc/safelaunch/profiles.
[[nodiscard]] std::vector<SearchFolder> profile_search_path(const Environment& environment);

/// $XDG_CONFIG_HOME/safelaunch, else ~/.config/safelaunch; empty where neither is set.
[[nodiscard]] std::string user_config_folder(const Environment& environment);

/// A file of profiles/ that is compiled in, so that one copied executable has it.
struct BuiltInProfile {
  std::string_view path;  ///< "profiles/basic.yaml"
  std::string_view text;
  /// The tree of the text; where it is empty, the text is read.
  std::span<const EmbeddedNode> tree{};
};

[[nodiscard]] std::span<const BuiltInProfile> builtin_profiles();

/// The origin of a built-in profile ends with this.
inline constexpr std::string_view kBuiltInMark = " (built in)";

/// The parts of "basic@4", a profile on that number of processes a node; a word without them is the
/// profile alone.
struct Rung {
  std::string_view profile;
  std::optional<int> processes;
};

[[nodiscard]] Rung rung_in(std::string_view word);

/// All profiles that can be named here: those of the search path, in its order, and then the
/// built-in ones. Reads a file only when its name is asked for. Not thread-safe.
class ProfileLibrary {
 public:
  ProfileLibrary(std::vector<SearchFolder> folders, std::span<const BuiltInProfile> built_in);

  /// The library that `safelaunch` uses: profile_search_path() and builtin_profiles().
  static ProfileLibrary standard(const Environment& environment);

  /// A profile by name, or by file where the word has a '/' or ends in ".yaml" or ".yml". "@N" at
  /// its end is the profile on N processes a node.
  [[nodiscard]] Result<Profile> load(std::string_view name_or_file);

  /// The chain with a rung in place of each profile that lists numbers of processes: "fewer" whose
  /// file says `processes: [4, 2]` becomes "fewer@4", "fewer@2". A word that cannot be read stays
  /// as it is: load_chain() tells why.
  [[nodiscard]] std::vector<std::string> with_rungs(std::span<const std::string> chain);

  /// Whether these and all that they may extend are built in: then they hold no mistake.
  [[nodiscard]] bool all_built_in(std::span<const std::string> chain) const;

  /// The profiles of a chain, in its order. `origin` says in errors who wrote the chain.
  [[nodiscard]] Result<std::vector<Profile>> load_chain(std::span<const std::string> chain,
                                                        std::string_view origin);

  /// Every profile there is, by name. One that cannot be read is left out with a warning, since a
  /// broken file that nobody asked for must not end a run.
  [[nodiscard]] std::vector<Profile> load_all();

  /// The names of all profiles, sorted; reads folders, no file.
  [[nodiscard]] std::vector<std::string> names() const;

  /// The files passed over and why, and those that load() took from the working directory, since
  /// the last call.
  [[nodiscard]] std::vector<std::string> take_warnings();

 private:
  [[nodiscard]] Result<ProfileText> find(std::string_view name);
  [[nodiscard]] Result<std::optional<ProfileText>> find_in(const SearchFolder& folder,
                                                           std::string_view name);
  [[nodiscard]] std::optional<std::string> why_passed_over(const SearchFolder& folder,
                                                           std::string_view name,
                                                           std::string_view text) const;
  [[nodiscard]] const BuiltInProfile* built_in(std::string_view name) const;
  [[nodiscard]] Error unknown(std::string_view name) const;
  void warn(std::string warning);

  std::vector<SearchFolder> folders_;
  std::span<const BuiltInProfile> built_in_;
  std::vector<std::string> warnings_;
  std::set<std::string> used_;  ///< files of the working directory
};

}  // namespace safelaunch::profile
