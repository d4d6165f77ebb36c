// The `tandem` command. Links SimGrid and therefore never MPI; `tandem run` starts `tandem-rank` for that.
#pragma once

namespace tandem {

/// Runs the command line and returns its exit code. Prints errors.
int tandem_main(int argc, char** argv);

}  // namespace tandem
