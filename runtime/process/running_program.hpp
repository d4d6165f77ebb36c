// The path of the running program.
#pragma once

#include <filesystem>

namespace tandem {

/// Absolute path of this program. Errors: WorldError when the system does not report it.
std::filesystem::path running_program();

}  // namespace tandem
