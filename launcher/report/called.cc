#include "called.h"

#include <algorithm>
#include <optional>
#include <set>

#include "safelaunch/base/strings.h"

namespace safelaunch::report {
namespace {

constexpr std::size_t kMostColumns = 16;

// Takes the text up to `end`, and that; nullopt where it is not there.
std::optional<std::string_view> take_until(std::string_view& text, std::string_view end) {
  const std::size_t at = text.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at + end.size());
  return taken;
}

// "all_reduce, collective 1 of group 0: finished"
void take_piece(std::string_view piece, CalledMatrix::Row& row) {
  if (piece.starts_with("waits in ")) return row.waits.emplace_back(piece), void();
  const auto operation = take_until(piece, ", collective ");
  const auto number = operation ? take_until(piece, " of group ") : std::nullopt;
  const auto group = number ? take_until(piece, ": ") : std::nullopt;
  const auto value = group ? to_number<long>(*number) : std::nullopt;
  if (value)
    row.called[{std::string(*group), *value}] = {std::string(*operation), std::string(piece)};
}

std::optional<CalledMatrix::Row> row_of(std::string_view answer) {
  constexpr std::string_view kRank = "rank ";
  if (!answer.starts_with(kRank)) return std::nullopt;
  answer.remove_prefix(kRank.size());
  const auto rank = take_until(answer, ": ");
  const auto number = rank ? to_number(*rank) : std::nullopt;
  if (!number) return std::nullopt;
  CalledMatrix::Row row{{Rank{*number}}, {}, {}};
  while (!answer.empty()) {
    const auto piece = take_until(answer, "; ");
    take_piece(piece.value_or(answer), row);
    if (!piece) break;
  }
  return row;
}

void add_row(CalledMatrix::Row row, CalledMatrix& matrix) {
  const auto alike = std::ranges::find_if(matrix.rows, [&](const CalledMatrix::Row& one) {
    return one.called == row.called && one.waits == row.waits;
  });
  if (alike == matrix.rows.end()) return matrix.rows.push_back(std::move(row));
  alike->ranks.push_back(row.ranks.front());
}

}  // namespace

CalledMatrix read_called(const std::vector<std::string>& answers) {
  CalledMatrix matrix;
  std::set<CollectivePlace> places;
  for (const std::string& answer : answers)
    if (auto row = row_of(answer)) {
      for (const auto& [place, called] : row->called) places.insert(place);
      add_row(std::move(*row), matrix);
    }
  const std::size_t left_out = places.size() - std::min(places.size(), kMostColumns);
  matrix.places.assign(std::next(places.begin(), static_cast<std::ptrdiff_t>(left_out)),
                       places.end());
  return matrix;
}

}  // namespace safelaunch::report
