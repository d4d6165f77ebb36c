// What `tandem-rank --version` prints.
#pragma once

#include <string>

namespace tandem {

/// One line each: MPI (of the library that is loaded), libtorch and CUDA (with which this program was built).
/// May be called before MPI_Init.
std::string rank_versions();

}  // namespace tandem
