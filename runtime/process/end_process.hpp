// How a program that has loaded libtorch ends.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace tandem {

/// Ends the process without the destructors of static objects. Those of libtorch take about as long as a
/// small job, and free nothing that the system does not free. Files of the C library are flushed first. A
/// program built by GCC with AddressSanitizer ends as usual, because it looks for leaks at the end.
[[noreturn]] inline void end_process(int exit_code) {
#ifdef __SANITIZE_ADDRESS__
  std::exit(exit_code);
#else
  std::fflush(nullptr);
  std::_Exit(exit_code);
#endif
}

}  // namespace tandem
