# What PyTorch's own package does to its user: flags of CUDA, libraries of the toolkit, of which newer ones lack
# one, and the C++ ABI.
set(CMAKE_CUDA_ARCHITECTURES OFF)
string(APPEND CMAKE_CUDA_FLAGS " -gencode arch=compute_50,code=sm_50")
add_library(torch::nvtoolsext INTERFACE IMPORTED)
set_property(TARGET torch::nvtoolsext PROPERTY INTERFACE_LINK_LIBRARIES CUDA::nvToolsExt)
if(NOT TARGET CUDA::nvToolsExt)
  message(FATAL_ERROR "CUDA::nvToolsExt was not found")
endif()
add_library(torch::cudart INTERFACE IMPORTED)
set_property(TARGET torch::cudart PROPERTY INTERFACE_LINK_LIBRARIES CUDA::cudart)
set(CUDA_NVRTC_LIB /toolkit/libnvrtc.so)
set(TORCH_LIBRARIES torch /torch/libc10.so /toolkit/libnvrtc.so torch::nvtoolsext /torch/libc10_cuda.so)
set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI=${CXX_ABI}")
