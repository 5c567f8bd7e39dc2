#include "called.h"
#include "html_page.h"
#include "safelaunch/base/rank_list.h"

namespace safelaunch::report {
namespace {

constexpr std::size_t kMostMatrixRows = 64;

void write_cell(const CalledMatrix::Row& row, const CollectivePlace& place, HtmlWriter& to) {
  const auto called = row.called.find(place);
  if (called == row.called.end()) {
    to.markup("<td class=\"not\">not called</td>");
    return;
  }
  const bool finished = called->second.state == "finished";
  finished ? to.markup("<td class=\"done\">") : to.markup("<td class=\"open\">");
  to.text(called->second.operation, kLongestText).markup("<small>");
  to.text(called->second.state, kLongestText).markup("</small></td>");
}

void write_row(const CalledMatrix::Row& row, const CalledMatrix& matrix, HtmlWriter& to) {
  to.markup("<tr><th>").text(rank_list(row.ranks)).markup("</th>");
  for (const CollectivePlace& place : matrix.places) write_cell(row, place, to);
  to.markup("<td class=\"dim\">");
  for (const std::string& wait : row.waits) to.text(wait, kLongestText).markup(" ");
  to.markup("</td></tr>\n");
}

void write_matrix(const CalledMatrix& matrix, HtmlWriter& to) {
  to.markup("<div class=\"wide\"><table class=\"called\"><tr><th></th>");
  for (const CollectivePlace& place : matrix.places)
    to.markup("<th>")
        .text(std::to_string(place.number))
        .markup("<small>group ")
        .text(place.group, kLongestText)
        .markup("</small></th>");
  to.markup("<th></th></tr>\n");
  for (std::size_t i = 0; i < std::min(kMostMatrixRows, matrix.rows.size()); ++i)
    write_row(matrix.rows[i], matrix, to);
  to.markup("</table></div>\n");
  if (matrix.rows.size() > kMostMatrixRows)
    to.markup("<p class=\"dim\">and ")
        .text(std::to_string(matrix.rows.size() - kMostMatrixRows))
        .markup(" rows more</p>\n");
}

}  // namespace

void write_collectives(const AttemptHistory& attempt, HtmlWriter& to) {
  if (!attempt.collectives) return;
  const record::Collectives& told = *attempt.collectives;
  const CalledMatrix matrix = read_called(told.ranks);
  if (matrix.places.empty() || (told.contradiction.empty() && told.behind.empty())) return;
  to.markup("<h3>Which rank called which collective</h3>\n");
  for (const std::string& text : {told.contradiction, told.behind})
    if (!text.empty()) to.markup("<p>").text(text, kLongestText).markup("</p>\n");
  write_matrix(matrix, to);
}

}  // namespace safelaunch::report
