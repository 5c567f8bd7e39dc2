// cuBLAS: the calls that give something back. All others succeed and compute nothing.
namespace {

struct Handle {
  int math_mode = 0;
  int pointer_mode = 0;
};

}  // namespace

extern "C" {

int cublasCreate_v2(Handle** handle) {
  *handle = new Handle;
  return 0;
}

int cublasDestroy_v2(Handle* handle) {
  delete handle;
  return 0;
}

int cublasSetMathMode(Handle* handle, int mode) {
  handle->math_mode = mode;
  return 0;
}

int cublasGetMathMode(Handle* handle, int* mode) {
  *mode = handle->math_mode;
  return 0;
}

int cublasSetPointerMode_v2(Handle* handle, int mode) {
  handle->pointer_mode = mode;
  return 0;
}

int cublasGetPointerMode_v2(Handle* handle, int* mode) {
  *mode = handle->pointer_mode;
  return 0;
}
}
