// Describes a machine before a job starts there, without MPI.
#pragma once

namespace tandem {

/// Answers lines of standard input on standard output until it ends. "clock": the seconds since 1970 by this
/// machine's clock. "describe FILE": one line of JSON with this machine, this program, and whether FILE
/// exists and a file could be written in its folder. "files [PATH, ...]": one line of JSON with the size and
/// the digest of each file, null for one that cannot be read.
void describe_machine();

}  // namespace tandem
