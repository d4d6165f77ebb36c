// The program tandem-rank: one rank of a job, as mpirun starts it.
#pragma once

namespace tandem {

/// Runs the command line (rank_options.hpp) and ends the process. SIGINT and SIGTERM keep their default: the
/// rank ends and mpirun ends the others.
[[noreturn]] void rank_program(int argc, char** argv);

}  // namespace tandem
