// Copies the rank program to machines that do not have it, through the remote shell.
#pragma once

#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "runtime/machines/remote_shell.hpp"

namespace tandem::machines {

struct StageSetting {
  std::vector<std::string> machines;
  RemoteShell shell;
  std::string program;  ///< path of tandem-rank here; libtandem_torch.so next to it is copied, too
  std::string build;    ///< distinguishes builds
  std::string folder;   ///< absolute; made on each machine
  Seconds limit{600.0};
};

/// Copies the program to FOLDER/BUILD on every machine that does not have it there, and the libraries that
/// the machine lacks. Returns the path to start, the same on all machines. Errors: WorldError with the
/// machine; ConfigError for a library that this machine lacks, too.
std::string stage_program(const StageSetting& setting);

/// "libx.so.1" for each line "libx.so.1 => not found" that ldd prints, each once.
std::vector<std::string> missing_libraries(const std::string& ldd_output);
/// The path in ldd's line "NAME => PATH (0x...)"; empty: none.
std::string library_path(const std::string& ldd_output, const std::string& name);

}  // namespace tandem::machines
