#include "policies/vocabulary/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace tandem {

void fail_check(const char* condition, const char* file, int line, const std::string& details) {
  std::fprintf(stderr, "tandem: internal check failed: %s\n  at %s:%d\n  with %s\n", condition, file, line,
               details.c_str());
  std::abort();
}

}  // namespace tandem
