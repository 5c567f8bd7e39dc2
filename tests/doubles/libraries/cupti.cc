// CUPTI: it tells its version and what its answer means. It watches nothing.
extern "C" {

int cuptiGetVersion(unsigned* version) {
  *version = 130000;
  return 0;
}

int cuptiGetResultString(int, const char** text) {
  *text = "CUPTI_ERROR_NOT_SUPPORTED";
  return 0;
}
}
