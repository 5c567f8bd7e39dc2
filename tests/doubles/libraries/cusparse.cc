extern "C" const char* cusparseGetErrorString(int) {
  return "operation not supported";
}
