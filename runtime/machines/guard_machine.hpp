// The process on a machine of a running job that `tandem` asks. It notices how ranks end, which files are
// finished, and which machines cannot be reached in the network of the messages. It ends the ranks of its
// machine when no question comes any more. It kills a rank on request.
#pragma once

#include <string>

namespace tandem::machines {

/// `request`: text of a GuardRequest. Answers each line of standard input, the text of a GuardOrder, with a
/// line. When none comes for the limit, or at the end of the input, it kills all
/// processes with the mark and the daemons that started them, and returns.
void guard_machine(const std::string& request);

}  // namespace tandem::machines
