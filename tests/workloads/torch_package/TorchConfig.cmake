# What PyTorch's own package does to its user: flags of CUDA, a library that newer toolkits lack, and the C++ ABI.
set(CMAKE_CUDA_ARCHITECTURES OFF)
string(APPEND CMAKE_CUDA_FLAGS " -gencode arch=compute_50,code=sm_50")
add_library(torch::nvtoolsext INTERFACE IMPORTED)
set_property(TARGET torch::nvtoolsext PROPERTY INTERFACE_LINK_LIBRARIES CUDA::nvToolsExt)
if(NOT TARGET CUDA::nvToolsExt)
  message(FATAL_ERROR "CUDA::nvToolsExt was not found")
endif()
set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI=${CXX_ABI}")
