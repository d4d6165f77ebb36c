// The mixed lab with GPUs, for jobs of tests on emulated and on real ones.
#pragma once

#include <string>

#include "tests/cli/lab.hpp"

namespace tandem::testing {

/// The path of a platform file in the folder of `line` in which each worker's host has GPU 0 of its machine,
/// and with `servers_too` the server's host as well.
inline std::string gpu_lab(const CommandLine& line, bool servers_too) {
  return edited_lab(line, {property_of(servers_too ? "[^\"]*" : "node[^\"]*", "tandem:gpu", "0")});
}

}  // namespace tandem::testing
