// The only source that is compiled with absolute paths, so that a compiler cache serves every other one in
// any clone.
#include "tests/support/paths.hpp"

namespace tandem::testing {

const std::string& source_folder() {
  static const std::string folder = TANDEM_SOURCE_DIR;
  return folder;
}

const std::string& build_folder() {
  static const std::string folder = TANDEM_BUILD_DIR;
  return folder;
}

}  // namespace tandem::testing
