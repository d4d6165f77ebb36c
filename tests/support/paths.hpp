// Where this build's sources, programs and libraries are.
#pragma once

#include <string>

namespace tandem::testing {

/// The top folder of the sources, absolute, without a slash at its end.
const std::string& source_folder();
/// The build folder, likewise. Programs are in its bin/.
const std::string& build_folder();

}  // namespace tandem::testing
