// A rank ends when mpirun does, and reports its failure before it ends the whole job.
#pragma once

#include <mpi.h>

#include <string>

namespace tandem {

/// False when srun started this process among others without the PMIx by which Open MPI would find them.
bool has_ranks_of_one_world();

/// The kernel kills this process when its parent ends. To be called first in main.
void end_with_parent();

/// Vectors of a step that are freed stay with this process (up to 32 MiB each, 512 MiB together), so that the
/// next step writes to them without page faults, which take longer than a sum. To be called first in main.
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
