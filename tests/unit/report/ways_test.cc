#include <string>

#include "catch.h"
#include "safelaunch/report/report.h"
#include "safelaunch/report/run_record.h"

using namespace safelaunch;
using namespace safelaunch::report;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr const char* kThreeNodes =
    R"({"t":1,"e":"ways","hosts":["gpu-0","gpu-1","<b>"],"from":[0,0,1,1,2],"to":[1,1,0,0,1],)"
    R"("interface":["eth0","ib0","eth0","ib0","\"x"],"end":["reached","reached","reached",)"
    R"("no answer","no route"],"round_trip_us":[210,90,0,0,0],"left_out":0})";

RunRecord run_with(const std::string& event) {
  RunFiles files;
  files.files.push_back({.name = "events.jsonl", .text = event + "\n"});
  return parse_run(files);
}

}  // namespace

TEST_CASE("the page shows who reaches whom", "[html]") {
  const std::string page = html_report(run_with(kThreeNodes));
  CHECK_THAT(page, ContainsSubstring("The ways between the nodes") &&
                       ContainsSubstring("<th>1 gpu-1</th>"));
  CHECK_THAT(page, ContainsSubstring("title=\"eth0: reached, ib0: reached\">0.09</td>"));
  CHECK_THAT(page,
             ContainsSubstring("<td class=\"open\" title=\"eth0: reached, ib0: no answer\">1/2"));
  CHECK_THAT(page, ContainsSubstring("<td class=\"not\" title=\"&quot;x: no route\">0/1"));
  CHECK_THAT(page, !ContainsSubstring("<b>"));
}

TEST_CASE("a run of one node has no matrix of ways", "[html]") {
  CHECK_THAT(html_report(run_with(R"({"t":1,"e":"training"})")),
             !ContainsSubstring("ways between"));
}

TEST_CASE(
    "ways whose lists contradict each other, or that name nodes that are not there, harm nobody",
    "[html]") {
  const std::string torn =
      R"({"t":1,"e":"ways","hosts":["a","b"],"from":[0],"to":[],"interface":["x"],"end":["reached"]})";
  CHECK_FALSE(run_with(torn).ways);
  const std::string beyond =
      R"({"t":1,"e":"ways","hosts":["a"],"from":[-1,7],"to":[2000000000,-7],"interface":["x","y"],)"
      R"("end":["reached","odd"],"round_trip_us":[-5,2147483647],"left_out":-3})";
  CHECK_THAT(html_report(run_with(beyond)), ContainsSubstring("The ways between the nodes"));
}
