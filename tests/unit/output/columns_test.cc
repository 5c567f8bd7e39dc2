#include "launcher/output/screen.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::output;

TEST_CASE("a line is cut at the terminal's width", "[columns]") {
  CHECK(fit_to_columns("waiting for rank 3", 80) == "waiting for rank 3");
  CHECK(fit_to_columns("waiting for rank 3", 7) == "waiting");
  CHECK(fit_to_columns("waiting", 0).empty());
}

TEST_CASE("characters count by the columns they fill", "[columns]") {
  CHECK(fit_to_columns("50%|███  |", 6) == "50%|██");
  CHECK(fit_to_columns("日本語", 5) == "日本");
  CHECK(fit_to_columns("🚀go", 3) == "🚀g");
}

TEST_CASE("colours take no column and end with the line", "[columns]") {
  CHECK(fit_to_columns("\x1b[31mred alert\x1b[0m", 3) == "\x1b[31mred\x1b[0m");
}

TEST_CASE("nothing that moves the cursor or means anything else is left", "[columns]") {
  CHECK(fit_to_columns("a\x1b[Kb\x1b[3Gc\td\re\xff\x1b", 80) == "abcde");
}

TEST_CASE("a status line that is too long keeps the rank that is waited for, and its clock") {
  const std::string line = "import 2/2 · group 1/2 · waiting for rank 1 (idling) 12s/180s";
  CHECK(fit_status(line, 80) == line);
  CHECK(fit_status(line, 55) == "… group 1/2 · waiting for rank 1 (idling) 12s/180s");
  CHECK(fit_status(line, 45) == "… waiting for rank 1 (idling) 12s/180s");
  CHECK(fit_status(line, 30) == "… waiting for rank 1… 12s/180s");
  CHECK(fit_status(line, 8) == "… waitin");
  CHECK(fit_status("日本語日本語 9s", 10) == "日本語… 9s");
  CHECK(fit_status("oneword", 3) == "one");
}

TEST_CASE("a wide character that does not fit whole is left out, and all behind it", "[columns]") {
  CHECK(fit_to_columns("日", 1).empty());
  CHECK(fit_to_columns("a日b", 2) == "a");
  CHECK(fit_to_columns("a日b", 3) == "a日");
}

TEST_CASE("each block of wide characters takes two columns, its neighbours one", "[columns]") {
  const std::pair<const char*, const char*> wide_and_narrow[] = {
      {"\u1100", "\u10ff"},         {"\u3041", "\u303f"},        {"\uac00", "\uabff"},
      {"\uff00", "\ufeff"},         {"\uffe6", "\uffe7"},        {"\U0001f300", "\U0001f2ff"},
      {"\U0001f680", "\U0001f650"}, {"\U0003fffd", "\U0003fffe"}};
  for (const auto& [wide, narrow] : wide_and_narrow) {
    INFO(wide << " and " << narrow);
    CHECK(fit_to_columns(std::string(wide) + "x", 2) == wide);
    CHECK(fit_to_columns(std::string(narrow) + "x", 2) == std::string(narrow) + "x");
  }
}

TEST_CASE("a terminal of no columns shows nothing, and no colour is left on", "[columns]") {
  for (const int columns : {0, -1}) {
    CHECK(fit_to_columns("text", columns).empty());
    CHECK(fit_to_columns("\x1b[31mtext", columns) == "\x1b[31m\x1b[0m");
  }
}

TEST_CASE("a colour that is cut in its middle ends the line", "[columns]") {
  CHECK(fit_to_columns("ab\x1b[3", 80) == "ab");
  CHECK(fit_to_columns("\x1b[31mab\x1b[", 80) == "\x1b[31mab\x1b[0m");
}

TEST_CASE("control characters of both sets take no column", "[columns]") {
  CHECK(fit_to_columns(std::string_view("a\0b\x7f", 4), 2) == "ab");
  CHECK(fit_to_columns("a\u0085b", 2) == "ab");
  CHECK(fit_to_columns("a\u00a0b", 3) == "a\u00a0b");
}

TEST_CASE("a status line that fits in its last column is left whole", "[columns]") {
  CHECK(fit_status("ab · cd", 7) == "ab · cd");
  CHECK(fit_status("ab · cd", 6) == "… cd");
  CHECK(fit_status("", 80).empty());
  CHECK(fit_status("ab · cd", 0).empty());
  CHECK(fit_status("waiting 9s", 4) == "… 9s");
}
