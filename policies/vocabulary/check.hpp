// Errors and checks. A programmer's error stops the program and prints the values; bad input and errors of
// the environment are exceptions that the command turns into exit codes 2 and 70.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace tandem {

/// Bad input. The message says where, what was expected and what was found. The command exits with 2.
class ConfigError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An error of the environment (MPI, CUDA, file system, SimGrid). The command exits with 70.
class WorldError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Prints the failed condition with `details` on standard error and aborts.
[[noreturn]] void fail_check(const char* condition, const char* file, int line, const std::string& details);

namespace detail {
template <class... Values>
std::string join_values(const Values&... values) {
  std::ostringstream text;
  ((text << values << ' '), ...);
  return text.str();
}
}  // namespace detail

}  // namespace tandem

/// Always on, also in release builds. `TANDEM_CHECK(a < b, "a", a, "b", b)` prints the values when it fails.
#define TANDEM_CHECK(condition, ...)                                                                    \
  do {                                                                                                  \
    if (!(condition)) [[unlikely]]                                                                      \
      ::tandem::fail_check(#condition, __FILE__, __LINE__, ::tandem::detail::join_values(__VA_ARGS__)); \
  } while (false)
