// A rank ends when mpirun does, and reports its failure before it ends the whole job.
#pragma once

#include <mpi.h>

#include <string>

namespace tandem {

/// False when srun started this process and others without the PMIx by which Open MPI finds them.
bool has_ranks_of_one_world();

/// Makes the kernel kill this process when its parent ends. Call it first in main.
void end_with_parent();

/// Keeps freed vectors of a step in this process (up to 32 MiB each, 512 MiB together). The next step writes
/// to them without page faults, which take longer than a sum. Call it first in main.
void keep_freed_memory();

/// Prints `message` with rank and host in the form that the launcher reads, and ends every rank of the job
/// with `exit_code`.
[[noreturn]] void end_job(MPI_Comm communicator, int exit_code, const std::string& message);

/// Prints a note for the user; the job continues.
void print_note(const std::string& note);

/// Prints what the ranks do before their job begins, if a launcher reads it.
void print_status(const std::string& text);

/// Prints the progress if a launcher reads it and it grew by at least a thousandth since `last`.
void print_progress(double fraction, double& last);

}  // namespace tandem
