// Session directories that Open MPI's programs leave behind when they are killed.
#pragma once

#include <filesystem>
#include <vector>

namespace tandem {

/// Session directories of this user below `folder` (ompi.HOST.USER/pid.NUMBER of mpirun,
/// ompi.HOST.USER/jf.JOB of its daemons) whose programs have ended, sorted. Only those that name the process
/// that made them.
std::vector<std::filesystem::path> abandoned_mpi_sessions(
    const std::filesystem::path& folder = std::filesystem::temp_directory_path());

/// Removes the session directory, and that of its host if nothing else is in it. Errors:
/// std::filesystem::filesystem_error.
void remove_mpi_session(const std::filesystem::path& session);

}  // namespace tandem
