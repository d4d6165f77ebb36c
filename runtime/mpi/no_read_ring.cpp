// For builds without liburing, and for SMPI: there is no queue of reads.
#include "runtime/mpi/read_ring.hpp"

namespace tandem {

std::unique_ptr<ReadRing> make_read_ring() { return nullptr; }
bool has_read_ring() { return false; }

}  // namespace tandem
