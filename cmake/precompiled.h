// What nearly every source includes, compiled once (SAFELAUNCH_PRECOMPILE). A source includes what it
// needs all the same: the release preset builds without this file.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "safelaunch/base/format.h"
#include "safelaunch/base/result.h"
