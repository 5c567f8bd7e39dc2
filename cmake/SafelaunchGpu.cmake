# safelaunch_gpu_headers: cuda.h, nccl.h and nvml.h, for the parts that talk to a GPU. It has headers alone: the
# libraries are opened at run time, so that one binary works with every NCCL, and on a machine without any.
#
# The headers come from the CUDA toolkit, or from PyPI's nvidia-cuda-runtime (with nvidia-cuda-crt and
# nvidia-cuda-cccl), nvidia-nccl-cu13 and nvidia-nvml-dev in the test Python. If any of the three is missing,
# the GPU parts are left out, and CMake says so.
set(SAFELAUNCH_PYTHON_PACKAGES "" CACHE PATH "A site-packages folder that may hold NVIDIA's headers")
if(NOT SAFELAUNCH_PYTHON_PACKAGES AND SAFELAUNCH_TEST_PYTHON)
  execute_process(COMMAND ${SAFELAUNCH_TEST_PYTHON} -c "import sysconfig; print(sysconfig.get_path('purelib'))"
                  OUTPUT_VARIABLE SAFELAUNCH_PYTHON_PACKAGES OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()

find_package(CUDAToolkit QUIET)
set(places ${CUDAToolkit_INCLUDE_DIRS} ${SAFELAUNCH_PYTHON_PACKAGES}/nvidia/cu13/include
    ${SAFELAUNCH_PYTHON_PACKAGES}/nvidia/nccl/include)
find_path(SAFELAUNCH_CUDA_INCLUDE cuda.h HINTS ${places})
find_path(SAFELAUNCH_NVML_INCLUDE nvml.h HINTS ${places})
find_path(SAFELAUNCH_NCCL_INCLUDE nccl.h HINTS ${places})

set(missing)
if(SAFELAUNCH_CUDA_INCLUDE AND SAFELAUNCH_NCCL_INCLUDE)
  include(CheckIncludeFileCXX)
  set(CMAKE_REQUIRED_INCLUDES ${SAFELAUNCH_CUDA_INCLUDE} ${SAFELAUNCH_NCCL_INCLUDE})
  check_include_file_cxx(nccl.h SAFELAUNCH_NCCL_COMPILES)
  unset(CMAKE_REQUIRED_INCLUDES)
  if(NOT SAFELAUNCH_NCCL_COMPILES)
    list(APPEND missing "what nccl.h includes (PyPI's nvidia-cuda-crt and nvidia-cuda-cccl have it)")
  endif()
endif()
foreach(library CUDA NVML NCCL)
  if(NOT SAFELAUNCH_${library}_INCLUDE)
    string(TOLOWER ${library}.h header)
    list(APPEND missing ${header})
  endif()
endforeach()
if(missing)
  list(JOIN missing ", " missing)
  message(STATUS "Not found: ${missing}. Left out: safelaunch-probe (all_reduce probe, GPU facts)")
  set(SAFELAUNCH_GPU OFF)
else()
  set(SAFELAUNCH_GPU ON)
  add_library(safelaunch_gpu_headers INTERFACE)
  target_include_directories(safelaunch_gpu_headers SYSTEM INTERFACE
    ${SAFELAUNCH_CUDA_INCLUDE} ${SAFELAUNCH_NVML_INCLUDE} ${SAFELAUNCH_NCCL_INCLUDE})
  target_link_libraries(safelaunch_gpu_headers INTERFACE ${CMAKE_DL_LIBS})
endif()
