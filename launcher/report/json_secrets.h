#pragma once

#include "json_fields.h"
#include "safelaunch/base/redact.h"

/// Secrets in JSON, where the names of members and the words of a command line are known as such.
namespace safelaunch::report {

/// Remembers what the values show.
void learn_from(const Json& json, Redactor& redactor);

/// Takes secrets out; JSON stays JSON.
void redact(Json& json, const Redactor& redactor);

}  // namespace safelaunch::report
