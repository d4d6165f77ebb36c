# Finds libtorch: sets Torch_FOUND and TORCH_LIBRARIES. What PyTorch's package does to this project's own CUDA sources
# is undone.

# The package turns CMAKE_CUDA_ARCHITECTURES off and adds architectures of its own to the flags: where there is no GPU
# all that it knows, which is more than a new nvcc compiles for.
set(tandem_cuda_architectures ${CMAKE_CUDA_ARCHITECTURES})
set(tandem_cuda_flags "${CMAKE_CUDA_FLAGS}")
# PyTorch before 2.8 links a library for marks in profiles, which CUDA has no more from 12.9 on. Nothing here uses it.
if(NOT TARGET CUDA::nvToolsExt)
  add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
endif()
find_package(Torch QUIET)
set(CMAKE_CUDA_ARCHITECTURES ${tandem_cuda_architectures})
set(CMAKE_CUDA_FLAGS "${tandem_cuda_flags}")

# The package also links this toolkit's libraries, which are of other versions than libtorch's own, or are not found where
# those are: a program that names them would not start. Only the headers are used, and libtorch loads its own libraries.
if(TARGET torch::cudart)
  set_property(TARGET torch::cudart PROPERTY INTERFACE_LINK_LIBRARIES CUDA::toolkit)
endif()
if(TARGET torch::nvtoolsext)
  set_property(TARGET torch::nvtoolsext PROPERTY INTERFACE_LINK_LIBRARIES "")
endif()
list(REMOVE_ITEM TORCH_LIBRARIES "${CUDA_NVRTC_LIB}" torch::nvtoolsext)

if("${TORCH_CXX_FLAGS}" MATCHES "_GLIBCXX_USE_CXX11_ABI=0")
  message(FATAL_ERROR "Tandem: this libtorch (${TORCH_INSTALL_PREFIX}) has the C++ ABI of before 2011; take PyTorch 2.7 "
    "or newer, PyTorch 2.6 for CUDA 12.6, or libtorch's cxx11-abi download")
endif()
