// Where the files lie that are built and installed together with a program.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include "policies/vocabulary/check.hpp"

namespace tandem {

/// Path of `name` in the folder of the running program, whether it is there or not. Errors: WorldError when
/// the system does not tell where that is.
inline std::filesystem::path path_beside_program(const std::string& name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw WorldError("where " + name + " is cannot be told: /proc/self/exe: " + error.message());
  return self.parent_path() / name;
}

}  // namespace tandem
