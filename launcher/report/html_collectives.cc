#include <algorithm>
#include <set>

#include "html_page.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/base/strings.h"

// An answer of a rank is a sentence that is taken apart at fixed words; a piece that does not fit
// is passed over. Columns are the places that any rank named, the last sixteen of them; ranks that
// answered alike share a row. The matrix is drawn only where somebody found the ranks to disagree.
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

constexpr std::size_t kMostMatrixRows = 64;

void write_cell(const CalledMatrix::Row& row, const CollectivePlace& place, HtmlWriter& to) {
  const auto called = row.called.find(place);
  // A row holds the last collectives of each group alone.
  const bool is_earlier = std::ranges::any_of(row.called, [&](const auto& one) {
    return one.first.group == place.group && one.first.number > place.number;
  });
  if (called == row.called.end() && is_earlier) {
    to.markup("<td class=\"dim\">").text(tr("earlier")).markup("</td>");
    return;
  }
  if (called == row.called.end()) {
    to.markup("<td class=\"not\">").text(tr("not called")).markup("</td>");
    return;
  }
  const bool finished = called->second.state == "finished";
  finished ? to.markup("<td class=\"done\">") : to.markup("<td class=\"open\">");
  to.text(called->second.operation, kLongestText).markup("<small>");
  to.text(tr(called->second.state), kLongestText).markup("</small></td>");
}

void write_row(const CalledMatrix::Row& row, const CalledMatrix& matrix, HtmlWriter& to) {
  to.markup("<tr><th>").text(tr(rank_list(row.ranks))).markup("</th>");
  for (const CollectivePlace& place : matrix.places) write_cell(row, place, to);
  to.markup("<td class=\"dim\">");
  for (const std::string& wait : row.waits) to.text(wait, kLongestText).markup(" ");
  to.markup("</td></tr>\n");
}

void write_matrix(const CalledMatrix& matrix, HtmlWriter& to) {
  to.markup("<div class=\"wide last\"><table class=\"called\"><tr><th></th>");
  for (const CollectivePlace& place : matrix.places)
    to.markup("<th>")
        .text(std::to_string(place.number))
        .markup("<small>")
        .text(tr("group {}", place.group), kLongestText)
        .markup("</small></th>");
  to.markup("<th></th></tr>\n");
  for (std::size_t i = 0; i < std::min(kMostMatrixRows, matrix.rows.size()); ++i)
    write_row(matrix.rows[i], matrix, to);
  to.markup("</table></div>\n");
  if (matrix.rows.size() > kMostMatrixRows)
    to.note(tr("and {} rows more", matrix.rows.size() - kMostMatrixRows));
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

void write_collectives(const AttemptHistory& attempt, HtmlWriter& to) {
  if (!attempt.collectives) return;
  const record::Collectives& told = *attempt.collectives;
  const CalledMatrix matrix = read_called(told.ranks);
  if (matrix.places.empty() || (told.contradiction.empty() && told.behind.empty())) return;
  to.markup("<h3>").text(tr("Which rank called which collective")).markup("</h3>\n");
  for (const std::string& text : {told.contradiction, told.behind})
    if (!text.empty()) to.markup("<p>").text(tr(text), kLongestText).markup("</p>\n");
  write_matrix(matrix, to);
}

}  // namespace safelaunch::report
