#pragma once

#include <nlohmann/json.hpp>

#include "safelaunch/base/json_fields.h"
#include "safelaunch/redact/redactor.h"

namespace safelaunch::report {

using Json = nlohmann::ordered_json;

/// Learns the secrets of a document: by the names of its members, and from its texts.
void learn_from(const Json& json, redact::Redactor& redactor);

/// Takes the secrets out of a document; JSON stays JSON.
void redact(Json& json, const redact::Redactor& redactor);

}  // namespace safelaunch::report
