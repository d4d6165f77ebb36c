#include "runtime/process/running_program.hpp"

#include "policies/vocabulary/check.hpp"

namespace tandem {

std::filesystem::path running_program() {
  std::error_code error;
  auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw WorldError("cannot find this program: /proc/self/exe: " + error.message());
  return path;
}

}  // namespace tandem
