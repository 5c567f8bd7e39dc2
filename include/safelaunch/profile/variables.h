#pragma once

#include <span>

#include "safelaunch/profile/shared_keys.h"

namespace safelaunch::profile {

/// A variable that NCCL reads and that needs no explaining here: it is in the list so that a right
/// name is never taken for a misspelt one.
struct NcclVariable {
  std::string_view name;
  std::string_view since;  ///< NCCL's version; empty: 2.3 or before
  std::string_view until;  ///< the first version without it; empty: still there in 2.30
};

/// All of them, from the sources of NCCL 2.3 to 2.30, sorted by name.
[[nodiscard]] std::span<const NcclVariable> nccl_variables();

/// The reasons against setting a variable at all.
enum class Standing {
  read,        ///< its reader reads it
  inert,       ///< nobody reads it, whatever pages on the web say
  deprecated,  ///< an old name that still works
  gone,        ///< read by old versions only
};

/// The truth about an environment variable, read out of the sources of the program that is said to
/// read it.
struct Variable {
  std::string_view name;
  std::string_view reader;  ///< "NCCL", "torch", …; "nobody"
  std::string_view since;   ///< the reader's first version with it; empty: as far back as we looked
  std::string_view until;   ///< the first version without it; empty: still there
  Standing standing = Standing::read;
  std::string_view truth;  ///< its effect, and the effects that people expect in vain; may be empty
  std::string_view instead;  ///< the thing to use in its place; may be empty
};

/// All that is known of a variable, or nullopt where we know none of that name.
[[nodiscard]] std::optional<Variable> truth_about(std::string_view name);

/// Those with a truth to tell, for documentation and tests.
[[nodiscard]] std::span<const Variable> explained_variables();

/// The known variable that a misspelt name most likely means, or an empty view. Only for families
/// whose members we know (NCCL_, TORCH_NCCL_, GLOO_, and the few in the table).
[[nodiscard]] std::string_view nearest_variable(std::string_view name);

/// Why a person who sets this variable to this value will not get what they want, and what to do
/// instead; nullopt where nothing speaks against it.
[[nodiscard]] std::optional<std::string> warning_for(std::string_view name, std::string_view value);

/// The warnings for the variables of a profile or a config file, with their places.
[[nodiscard]] std::vector<std::string> warnings_for(const VariableSettings& env);

/// A variable as text for a person: its reader, since when, its effect, and what to use instead. A
/// name that we do not know gets the nearest known one.
[[nodiscard]] std::string explain_variable(std::string_view name);

/// The same as JSON: {"variable": "NCCL_TIMEOUT", "known": true, …}. Texts are English.
[[nodiscard]] std::string variable_json(std::string_view name);

}  // namespace safelaunch::profile
