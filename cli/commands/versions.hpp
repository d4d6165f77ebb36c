// The versions of this program and of the libraries that affect its results.
#pragma once

#include <string>

namespace tandem::cli {

/// One line each: tandem, its build (a digest of the program), SimGrid, MPI, libtorch, CUDA. tandem-rank
/// prints the last three; if it is missing, a line says so.
std::string versions_text();

}  // namespace tandem::cli
