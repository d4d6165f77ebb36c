// The `tandem` command. It links SimGrid and therefore never MPI; `tandem run` starts `tandem-rank`, which
// uses MPI.
#pragma once

namespace tandem {

/// Runs the command line and returns its exit code. Prints errors.
int tandem_main(int argc, char** argv);

}  // namespace tandem
