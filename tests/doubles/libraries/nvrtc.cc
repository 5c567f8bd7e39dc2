// NVRTC: it tells its version and compiles nothing.
extern "C" {

int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return 0;
}

const char* nvrtcGetErrorString(int) {
  return "NVRTC_ERROR_COMPILATION";
}
}
