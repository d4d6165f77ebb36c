// The versions of this program and of the libraries that its results depend on.
#pragma once

#include <string>

namespace tandem::cli {

/// One line each: tandem, its build (a digest of the program), SimGrid, MPI, libtorch, CUDA. The last three
/// are those of tandem-rank, which is asked for them; without it, a line says so.
std::string versions_text();

}  // namespace tandem::cli
