#include "safelaunch/base/source_place.h"

#include <algorithm>

#include "safelaunch/base/strings.h"

namespace safelaunch {
namespace {

// Whether ":DIGITS" stands at the end of a text.
bool ends_in_line(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  return colon != std::string_view::npos && to_number(text.substr(colon + 1)).value_or(-1) >= 0;
}

}  // namespace

// The call behind an arrow may stand in a source of its own.
std::string_view source_place(std::string_view where) {
  const std::string_view place = where.substr(0, where.find(" → "));
  if (ends_in_line(place)) return place;
  for (std::size_t blank = place.rfind(' '); blank != std::string_view::npos && blank > 0;
       blank = place.rfind(' ', blank - 1))
    if (ends_in_line(place.substr(0, blank))) return place.substr(0, blank);
  return place.substr(0, place.find(' '));
}

}  // namespace safelaunch
