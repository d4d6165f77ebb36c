// What makes a process a good rank: it ends when mpirun does, and says who failed and why before it takes the
// job down with it.
#pragma once

#include <mpi.h>

#include <string>

namespace tandem {

/// Has the kernel kill this process when the one that started it ends. Call first thing in main.
void end_with_parent();

/// Prints `message` with rank and host as the launcher reads it and ends every rank of the job with
/// `exit_code`.
[[noreturn]] void end_job(MPI_Comm communicator, int exit_code, const std::string& message);

/// Prints what the user should know of a job that goes on all the same.
void print_note(const std::string& note);

/// Prints how far the job is as the launcher reads it, unless that moved by less than a thousandth since
/// `last`.
void print_progress(double fraction, double& last);

}  // namespace tandem
