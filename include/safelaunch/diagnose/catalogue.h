#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/embedded.h"
#include "safelaunch/base/environment.h"
#include "safelaunch/base/event.h"
#include "safelaunch/base/result.h"
#include "safelaunch/base/time.h"

namespace safelaunch::diagnose {

class PatternSet;

/// How much a line of a cause says.
enum class Kind {
  cause,     ///< why it failed
  symptom,   ///< that it failed, and where; a cause on any rank explains it
  victim,    ///< another rank's death, reported by one that outlived it
  harmless,  ///< nothing, although it looks like a failure
};

/// In which lines a cause's patterns count.
enum class Scope {
  any,        ///< all but NCCL's INFO lines: the same words are harmless there
  nccl_warn,  ///< NCCL's WARN and ATTN lines, and where torch repeats them
  python,     ///< the line of a Python exception: "SomeError: text"
};

/// What a new attempt may hope for.
enum class Retry {
  never,             ///< every profile would fail alike, or the failure is the user's to mend
  fallback,          ///< another profile may go round it
  passes_by_itself,  ///< the same profile may do, a moment later
};

/// One row of the catalogue of causes (docs/causes.md).
struct Cause {
  std::string id;     ///< "shm-small"; profiles name what they heal by it
  std::string ref;    ///< "F04", the row of the collection that it comes from
  std::string title;  ///< for the screen, in plain words
  Kind kind = Kind::cause;
  Scope scope = Scope::any;
  std::vector<std::string> patterns;  ///< a line with one of them shows this cause
  std::vector<std::string> hints;     ///< make it likely where all ranks came and yet hang
  std::vector<std::string> absence;   ///< make it likely for the rank that did not come
  std::vector<Stage> stages;          ///< where it can be the cause; empty: anywhere
  Retry retry = Retry::never;
  Duration backoff{0};             ///< before the same profile is tried again
  std::vector<std::string> beats;  ///< causes that are less specific than this one
  std::string remedy;
  std::vector<std::string> commands;  ///< that show more, or cure it
  std::vector<std::string> links;     ///< "owner/repository#number" on GitHub
};

/// What a pattern that was found says of its cause.
enum class Strength {
  proof,    ///< a failure was written down
  warning,  ///< the same, in a line whose writer calls it a warning: it may be harmless
  hint,     ///< likely where all ranks came and yet hang
  absence,  ///< likely for a rank that did not come
};

/// A cause whose pattern stands in a line.
struct Match {
  const Cause* cause = nullptr;  ///< lives as long as the catalogue
  Strength strength = Strength::proof;
};

/// A file of the catalogue's.
struct CatalogueText {
  std::string file;  ///< for errors
  std::string yaml;
};

/// The catalogue that is compiled in: one file, catalogue.yaml.
[[nodiscard]] std::span<const EmbeddedFile> embedded_catalogue();

/// The causes as data, and the search for them. Making one compiles all patterns (milliseconds), so
/// a healthy run makes none.
class Catalogue {
 public:
  /// Reads the rows of the files into one catalogue. A row with the id of an earlier file's takes
  /// its place. Errors name the file and the line.
  [[nodiscard]] static Result<Catalogue> parse(std::span<const CatalogueText> texts);

  /// The text that is compiled in.
  [[nodiscard]] static CatalogueText builtin_text();

  /// The catalogue that is compiled in; parsed at the first call.
  [[nodiscard]] static const Catalogue& builtin();

  Catalogue(Catalogue&&) noexcept;
  Catalogue& operator=(Catalogue&&) noexcept;
  ~Catalogue();

  [[nodiscard]] std::span<const Cause> causes() const { return causes_; }

  /// By id or by ref ("F04": the first row that has it), without regard to case; nullptr if none.
  [[nodiscard]] const Cause* find(std::string_view word) const;

  /// Like `find`, for an id that the code itself relies on: aborts if there is none.
  [[nodiscard]] const Cause& at(std::string_view id) const;

  /// All causes of which a pattern stands in the text, in whatever scope: the caller knows what
  /// kind of line it is. Time is linear in the length.
  [[nodiscard]] std::vector<Match> match(std::string_view line) const;

 private:
  Catalogue(std::vector<Cause> causes, std::unique_ptr<PatternSet> patterns,
            std::vector<std::pair<std::size_t, Strength>> owners);

  std::vector<Cause> causes_;
  std::unique_ptr<PatternSet> patterns_;
  std::vector<std::pair<std::size_t, Strength>> owners_;  ///< number of a pattern → cause
};

/// Whether `a` is the more specific of the two.
[[nodiscard]] bool beats(const Cause& a, const Cause& b);

/// Where they may stand: /etc/safelaunch/causes.yaml, then causes.yaml in the user's configuration
/// folder. A row of the later one takes the place of the earlier one's, and both those of ours.
[[nodiscard]] std::vector<std::string> own_cause_files(const Environment& environment);

/// The built-in catalogue with the rows of those files that exist. Errors: a mistake, by file and
/// line; a file that others can write to.
[[nodiscard]] Result<Catalogue> load_catalogue(const std::vector<std::string>& files);

/// The catalogue of this process, read at the first call. A job's diagnosis is not lost to a
/// mistake in a file: that is told as a warning, and the built-in rows count alone.
[[nodiscard]] const Catalogue& catalogue();

}  // namespace safelaunch::diagnose
