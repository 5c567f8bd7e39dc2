#pragma once

// fmt's light header: enough to format numbers, strings and what has a format_as. Compiled once in
// launcher/base/third_party.cc.
#include <fmt/core.h>
