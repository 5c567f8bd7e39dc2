#pragma once

#include <functional>
#include <map>
#include <span>

#include "safelaunch/base/result.h"
#include "safelaunch/base/time.h"
#include "safelaunch/profile/shared_keys.h"

namespace safelaunch::profile {

/// The price of a profile in training speed, on a host where its setting matters. `large` is marked
/// slow wherever it is shown, and --fail-on-slow refuses it.
enum class Cost { none, small, medium, large };

enum class Backend {
  keep,  ///< the script's own choice
  gloo,  ///< the hook turns nccl into gloo
};

/// The first collective that is seen: the job's own, or also one that the hook puts in before it.
enum class Verify { observe, inject };

/// Whether NCCL's RAS is asked when a job with complete communicators hangs (docs/nccl.md). The
/// query itself has crashed jobs on some versions, so it is off unless a profile wants it.
enum class Ras { off, ask };

/// The answer to training that stalls for longer than timeouts.stall.
enum class OnStall {
  report,
  kill,
  restart,  ///< from a checkpoint, see Resume
};

/// On how many nodes the profile can work.
enum class Nodes { any, one };

[[nodiscard]] std::string_view name(Cost cost);
[[nodiscard]] std::string_view name(Backend backend);
[[nodiscard]] std::string_view name(Verify verify);
[[nodiscard]] std::string_view name(Ras ras);
[[nodiscard]] std::string_view name(OnStall on_stall);
[[nodiscard]] std::string_view name(Nodes nodes);

/// The deadlines of an attempt (docs/stages.md); zero is off. A standstill is told at the job's own
/// pace, unless a time is given.
struct Timeouts {
  Duration init = std::chrono::seconds(180);
  Duration collective = std::chrono::seconds(180);
  Duration quiet = std::chrono::seconds(30);
  Duration work = std::chrono::minutes(30);
  Duration start = Duration::zero();
  StallTimeout stall{};
  bool operator==(const Timeouts&) const = default;
};

/// Changes to the training script's own arguments.
struct ArgumentChanges {
  std::vector<std::string> append;
  /// Option → its new value; none takes the option away. Acts only where the option is there.
  std::map<std::string, std::optional<std::string>, std::less<>> replace;
  bool operator==(const ArgumentChanges&) const = default;
};

/// How the job goes on from a checkpoint of its own when training has failed.
struct Resume {
  /// A pattern (`ckpt/*`) of the checkpoints, each a file or a folder, from the working directory.
  std::string newer;
  /// In its place: of files that are there, or are written anew, only once a checkpoint is whole.
  std::string marker;
  std::vector<std::string> append;  ///< arguments with which the script goes on from the newest
  bool operator==(const Resume&) const = default;
};

/// How often training that has failed is started again as it was started first, and after which
/// pauses. Starts from a checkpoint have the pauses of a default one.
struct Retry {
  int times = 5;
  Duration backoff = std::chrono::seconds(10);
  int factor = 2;  ///< of each pause over the one before
  bool operator==(const Retry&) const = default;
};

/// An id in `heals` or `worsens`, and where it stands.
struct CauseAt {
  std::string key;  ///< "heals" or "worsens"
  std::string id;
  Place place;
};

/// One set of settings to try a job with, completely resolved, with all that it inherits. Written
/// as a YAML file (docs/profiles.md). `heals` and `worsens` name rows of the failure catalogue.
struct Profile {
  std::string name;
  std::string description;
  std::string extends;
  std::vector<std::string> heals;
  std::vector<std::string> worsens;
  std::vector<CauseAt> causes;  ///< all ids of `heals` and `worsens`, for unknown_causes()
  Cost cost = Cost::none;
  Nodes nodes = Nodes::any;
  VariableSettings env;
  std::vector<std::string> unset;
  /// Variables for which the profile beats the user's environment; all of them where force_all.
  std::vector<std::string> force;
  bool force_all = false;
  Backend backend = Backend::keep;
  Verify verify = Verify::observe;
  Ras ras = Ras::off;
  /// The timeout of torch's process group; none: the script's own.
  std::optional<Duration> process_group_timeout;
  Timeouts timeouts;
  OnStall on_stall = OnStall::report;
  std::optional<Resume> resume;  ///< how training that has failed goes on from a checkpoint
  std::optional<Retry> retry;    ///< in its place; neither: it is never started again
  int restarts = 3;              ///< starts from one and the same checkpoint
  std::optional<int> processes;  ///< processes a node; none: as many as without the profile
  /// All numbers of processes that the profile lists, to be tried in this order; `processes` is the
  /// first. Empty where it gives one number, or none.
  std::vector<int> ladder;
  ArgumentChanges args;
  bool faulthandler = false;
  settings::Settings options;  ///< those run options that may differ between profiles
  std::string origin;          ///< the file, or "built in"

  [[nodiscard]] bool forces(std::string_view variable) const;
};

/// The text of a profile and where it came from, before it is understood.
struct ProfileText {
  std::string name;    ///< the file's name without .yaml: the profile's, unless it says another
  std::string origin;  ///< the file, as errors show it
  std::string text;
  /// The tree of the text, read when safelaunch was built; empty: the text is read.
  std::span<const EmbeddedNode> tree{};
};

/// Whether a profile may have this key at its top.
[[nodiscard]] bool is_key(std::string_view word);

/// Finds the text of a profile by name, for `extends`.
using ProfileSource = std::function<Result<ProfileText>(std::string_view name)>;

/// Reads a profile and, through `find`, what it extends. A profile inherits everything from the one
/// it extends but name, description and heals. Errors: FILE:LINE:COLUMN and the nearest right word;
/// a profile that extends itself, straight or in a circle.
[[nodiscard]] Result<Profile> read_profile(const ProfileText& text, const ProfileSource& find);

/// The ids of `heals` and `worsens` that are none of these, with their places and the nearest right
/// one. The reader of a profile knows no catalogue, since people add causes of their own.
[[nodiscard]] std::optional<Error> unknown_causes(const Profile& profile,
                                                  std::span<const std::string_view> known);

/// Whether a word can be a profile's name: letters, digits, '-', '_' and '.', not a dot first.
[[nodiscard]] bool is_profile_name(std::string_view word);

}  // namespace safelaunch::profile
