// The process that watches one machine of a running job and answers questions of `tandem`. It notices how
// ranks end, which files are finished, and which machines cannot be reached in the network of the messages.
// It ends the ranks of its machine when no question arrives any more. It kills a rank on request.
#pragma once

#include <string>

namespace tandem::machines {

/// `request`: text of a GuardRequest. Each line of standard input is the text of a GuardOrder; the answer is
/// one line. When no line arrives within the limit, or at the end of the input, it kills all processes with
/// the mark and the daemons that started them, and returns.
void guard_machine(const std::string& request);

}  // namespace tandem::machines
