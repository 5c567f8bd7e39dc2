#pragma once

#include <filesystem>
#include <span>
#include <variant>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/installed_files.h"
#include "safelaunch/base/result.h"
#include "safelaunch/base/time.h"
#include "safelaunch/trial/tried.h"

namespace safelaunch::trial {

/// The Python program of a rank, as it was compiled in.
[[nodiscard]] std::span<const EmbeddedFile> worker_files();

/// A folder of this trial alone, for the ranks' program and their steps; removed with the object.
class Folder {
 public:
  [[nodiscard]] static Result<Folder> make();
  Folder(Folder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  Folder& operator=(Folder&&) = delete;
  ~Folder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string worker() const;

 private:
  explicit Folder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

/// All that the scenes of a trial share.
struct Setup {
  std::string python;                  ///< a word that exec understands
  Environment environment;             ///< the user's
  std::vector<std::string> devices{};  ///< those that ranks on GPUs take; empty: as they come
  Duration init_timeout{60'000};
  Duration collective_timeout{60'000};
  Duration start_timeout{300'000};
};

/// The words of the run that plays a scene. Nothing of a cluster is taken from the environment: a
/// trial is of this host alone.
[[nodiscard]] std::vector<std::string> words_for(const Scene& scene, const Setup& setup,
                                                 const std::filesystem::path& safelaunch,
                                                 const std::filesystem::path& worker,
                                                 const std::filesystem::path& traces);

/// Asks the Python what it has; half a minute at most, since its folders may be on a slow server.
/// Errors: not_found, not_executable, peer_lost where it gives no answer.
[[nodiscard]] Result<Survey> survey(const Setup& setup, const Folder& folder);

/// A signal that ended the trial.
struct Interrupted {
  int signal = 0;
};

/// Plays one scene to its end: the run has its own deadlines. INT, TERM or HUP end it at once.
/// Error: os, where safelaunch cannot start itself.
[[nodiscard]] Result<std::variant<Tried, Interrupted>> play(const Scene& scene, const Setup& setup,
                                                            const Folder& folder);

}  // namespace safelaunch::trial
