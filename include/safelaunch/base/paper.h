#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "safelaunch/base/environment.h"

/// How our own texts look where they are shown. Whoever writes a text inks its words; whoever shows
/// it lays it out on a paper, which wraps long lines and takes the ink or leaves it.
namespace safelaunch {

enum class Ink {
  bold,
  dim,      ///< what need not be read: the prefix, quoted lines
  fault,    ///< the verdict on a job that hung or failed
  good,     ///< what works, what healed
  warning,  ///< what may cost something
  help,     ///< the way out
};

/// The text in that ink: an SGR sequence of ISO 6429 before it, and the one that ends it behind.
[[nodiscard]] std::string inked(Ink ink, std::string_view text);

/// "safelaunch: TEXT", with ink for a first word that says how bad it is: "warning: …".
[[nodiscard]] std::string from_us(std::string_view text);

/// A stream on which a text is shown.
struct Paper {
  int columns = 0;      ///< lines are wrapped at this width; 0: never, as in a file
  bool colour = false;  ///< whether it takes ink
};

/// `--color WHEN`.
enum class ColourWish { automatic, always, never };

/// Whether a stream takes ink: the wish decides; without one NO_COLOR (no-color.org), then
/// CLICOLOR_FORCE and FORCE_COLOR, then whether it is a terminal that can (TERM is not "dumb").
[[nodiscard]] bool takes_ink(ColourWish wish, bool is_terminal, const Environment& environment);

/// How many columns of a terminal a text takes: two for a wide character of East Asia, as fmt's
/// widths ({:<8}) count it, too; none for ink.
[[nodiscard]] std::size_t columns(std::string_view text);

/// The text from a column on, in lines that are no longer than `width`; those that follow begin at
/// that column, too. A word that is longer stands alone, but Chinese goes on in the next line
/// behind any character, if no mark such as 。 would stand first in it.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t column,
                                  std::size_t width = 80);

/// The text for that paper. A line that is too long goes on below its last column (what two blanks
/// set off), else below its own indent and two more. Lines that quote ("| …") stay whole, since
/// people copy them.
[[nodiscard]] std::string laid_out(std::string_view text, const Paper& paper);

}  // namespace safelaunch
