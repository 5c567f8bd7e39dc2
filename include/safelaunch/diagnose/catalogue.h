#pragma once

#include <memory>
#include <span>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/event.h"
#include "safelaunch/base/installed_files.h"
#include "safelaunch/base/result.h"
#include "safelaunch/base/time.h"

namespace safelaunch::diagnose {

class PatternSet;

/// The kind of thing that a row of the catalogue names.
enum class Kind {
  cause,     ///< the reason of a failure
  symptom,   ///< a failure and its place; a cause on any rank explains it
  victim,    ///< another rank's death, as a surviving rank reports it
  harmless,  ///< a line that looks like a failure and is none
};

/// The lines in which the patterns of a cause count.
enum class Scope {
  any,        ///< all but NCCL's INFO lines, where the same words are harmless
  nccl_warn,  ///< NCCL's WARN and ATTN lines, and torch's copies of them
  python,     ///< the line of a Python exception: "SomeError: text"
  exception,  ///< the same, but programs catch and print it: where hooks tell, only as a rank's end
};

/// Whether a new attempt can end better than the failed one.
enum class Retry {
  never,             ///< no: every profile would fail alike, or only the user can mend it
  fallback,          ///< yes, with another profile
  passes_by_itself,  ///< yes, with the same profile, a moment later
};

/// The words of the catalogue's file.
[[nodiscard]] std::string_view name(Kind kind);
[[nodiscard]] std::string_view name(Retry retry);

/// One row of the catalogue of causes (docs/causes.md).
struct Cause {
  std::string id;     ///< "shm-small"; the `heals` of a profile name causes by it
  std::string ref;    ///< "F04": its row in the collection of failures
  std::string title;  ///< for the screen, in plain words
  Kind kind = Kind::cause;
  Scope scope = Scope::any;
  std::vector<std::string> patterns;  ///< RE2; a line that matches one shows this cause
  std::vector<std::string> hints;     ///< RE2; likely if all ranks came and yet hang
  std::vector<std::string> absence;   ///< RE2; likely for a rank that did not come
  std::vector<Stage> stages;          ///< stages in which it can be the cause; empty: any
  Retry retry = Retry::never;
  Duration backoff{0};             ///< pause before the same profile is tried again
  std::vector<std::string> beats;  ///< ids of causes that are less specific than this one
  std::string remedy;
  std::vector<std::string> commands;  ///< commands that show more, or cure it
  std::vector<std::string> links;     ///< "owner/repository#number" on GitHub
};

/// How much a matching pattern proves.
enum class Strength {
  proof,    ///< the line reports a failure
  warning,  ///< the same words in a line that calls itself a warning; may be harmless
  hint,     ///< the cause is likely if all ranks came and yet hang
  absence,  ///< the cause is likely for a rank that did not come
};

/// A cause, one of whose patterns matches a line.
struct Match {
  const Cause* cause = nullptr;  ///< lives as long as the catalogue
  Strength strength = Strength::proof;
};

/// One file of causes.
struct CatalogueText {
  std::string file;  ///< its path, for error messages
  std::string yaml;
};

/// The catalogue that is compiled in: one file, catalogue.yaml.
[[nodiscard]] std::span<const EmbeddedFile> embedded_catalogue();

/// The causes as data, and the search for them in text. To make a catalogue takes milliseconds,
/// since it compiles all patterns; a healthy run makes none.
class Catalogue {
 public:
  /// Reads the rows of several files into one catalogue. A row replaces the row of an earlier file
  /// that has the same id. Errors name the file and the line.
  [[nodiscard]] static Result<Catalogue> parse(std::span<const CatalogueText> texts);

  /// The YAML that is compiled into safelaunch.
  [[nodiscard]] static CatalogueText builtin_text();

  /// The catalogue that is compiled into safelaunch, parsed at the first call.
  [[nodiscard]] static const Catalogue& builtin();

  Catalogue(Catalogue&&) noexcept;
  Catalogue& operator=(Catalogue&&) noexcept;
  ~Catalogue();

  [[nodiscard]] std::span<const Cause> causes() const { return causes_; }

  /// Finds a cause by its id or its ref ("F04": the first row that has it), without regard to case;
  /// nullptr if there is none.
  [[nodiscard]] const Cause* find(std::string_view word) const;

  /// Finds a cause that the code itself relies on; aborts if the catalogue lacks it.
  [[nodiscard]] const Cause& at(std::string_view id) const;

  /// All causes with a pattern that matches the line, whatever their scope: only the caller knows
  /// the kind of the line. Takes time linear in its length.
  [[nodiscard]] std::vector<Match> match(std::string_view line) const;

 private:
  Catalogue(std::vector<Cause> causes, std::unique_ptr<PatternSet> patterns,
            std::vector<std::pair<std::size_t, Strength>> owners);

  std::vector<Cause> causes_;
  std::unique_ptr<PatternSet> patterns_;
  std::vector<std::pair<std::size_t, Strength>> owners_;  ///< pattern number → its cause
};

/// Whether `a` is the more specific of the two.
[[nodiscard]] bool beats(const Cause& a, const Cause& b);

/// The files in which people add causes of their own: /etc/safelaunch/causes.yaml, then causes.yaml
/// in the user's configuration folder. A later row replaces an earlier one, and any built-in one.
[[nodiscard]] std::vector<std::string> own_cause_files(const Environment& environment);

/// The built-in catalogue with the rows of those files that exist. Fails on a mistake, naming file
/// and line, and on a file that others can write to.
[[nodiscard]] Result<Catalogue> load_catalogue(const std::vector<std::string>& files);

/// The catalogue of this process, read at the first call. A mistake in a file of causes only costs
/// a warning, and then the built-in rows alone count: the job must not lose its diagnosis.
[[nodiscard]] const Catalogue& catalogue();

}  // namespace safelaunch::diagnose
