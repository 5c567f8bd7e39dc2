#pragma once

#include <string>
#include <string_view>

#include "safelaunch/base/result.h"
#include "safelaunch/ranks/rank_questions.h"

namespace safelaunch::ranks {

/// The answers of a node's ranks, as its agent publishes them when the leader asks: where they
/// stand, which collectives they have called, and who is silent. Within `longest` bytes: of a text
/// that would be longer the collectives are left out.
[[nodiscard]] std::string to_text(const RankAnswers& answers, std::size_t longest);
/// An agent of another version, or somebody hostile, may have written it.
[[nodiscard]] Result<RankAnswers> answers_from(std::string_view text);

}  // namespace safelaunch::ranks
