# SAFELAUNCH_NVIDIA_HEADERS: the folders of NVIDIA's own cuda.h, nccl.h and nvml.h, for the tests alone: nothing of
# safelaunch needs them (include/safelaunch/gpu/*_api.h declares what it uses). Empty where one of them is missing, or
# is older than CUDA 13, whose names we have.
#
# The headers come from the CUDA toolkit, or from PyPI's nvidia-cuda-runtime (with nvidia-cuda-crt and
# nvidia-cuda-cccl), nvidia-nccl-cu13 and nvidia-nvml-dev in the test Python.
set(SAFELAUNCH_PYTHON_PACKAGES "" CACHE PATH "A site-packages folder that may hold NVIDIA's headers")
if(NOT SAFELAUNCH_PYTHON_PACKAGES AND SAFELAUNCH_TEST_PYTHON)
  execute_process(COMMAND ${SAFELAUNCH_TEST_PYTHON} -c "import sysconfig; print(sysconfig.get_path('purelib'))"
                  OUTPUT_VARIABLE SAFELAUNCH_PYTHON_PACKAGES OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()

find_package(CUDAToolkit QUIET)
set(places ${SAFELAUNCH_PYTHON_PACKAGES}/nvidia/cu13/include ${SAFELAUNCH_PYTHON_PACKAGES}/nvidia/nccl/include
    ${CUDAToolkit_INCLUDE_DIRS})
foreach(library CUDA NVML NCCL)
  string(TOLOWER ${library}.h header)
  # The Python that had it for an earlier call may be gone, or be another one.
  if(SAFELAUNCH_${library}_INCLUDE AND NOT EXISTS ${SAFELAUNCH_${library}_INCLUDE}/${header})
    unset(SAFELAUNCH_${library}_INCLUDE CACHE)
    unset(SAFELAUNCH_NVIDIA_HEADERS_COMPILE CACHE)
  endif()
  find_path(SAFELAUNCH_${library}_INCLUDE ${header} HINTS ${places})
endforeach()

# One source that includes all three as the tests do tells whether they can be used.
set(SAFELAUNCH_NVIDIA_HEADERS)
if(SAFELAUNCH_CUDA_INCLUDE AND SAFELAUNCH_NVML_INCLUDE AND SAFELAUNCH_NCCL_INCLUDE)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_INCLUDES ${SAFELAUNCH_CUDA_INCLUDE} ${SAFELAUNCH_NVML_INCLUDE} ${SAFELAUNCH_NCCL_INCLUDE})
  check_cxx_source_compiles("
    #include <nccl.h>
    #include <cuda.h>
    #include <nvml.h>
    static_assert(CUDA_VERSION >= 13000 && NVML_API_VERSION >= 13);
    int main() {}" SAFELAUNCH_NVIDIA_HEADERS_COMPILE)
  if(SAFELAUNCH_NVIDIA_HEADERS_COMPILE)
    set(SAFELAUNCH_NVIDIA_HEADERS ${CMAKE_REQUIRED_INCLUDES})
  endif()
  unset(CMAKE_REQUIRED_INCLUDES)
endif()
if(NOT SAFELAUNCH_NVIDIA_HEADERS)
  message(STATUS "NVIDIA's headers of CUDA 13 are not here: what we declare of them is not compared with them")
endif()
