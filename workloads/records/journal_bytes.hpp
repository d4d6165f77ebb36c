// Journals as bytes: to send those of all ranks to rank 0, and to keep their parts in files while a job
// runs. For one job on machines of one kind.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "workloads/records/records.hpp"

namespace tandem {

std::vector<std::byte> to_bytes(const Journal& journal);
/// Errors: WorldError when the bytes are not those of one journal.
Journal journal_from_bytes(std::span<const std::byte> bytes);

}  // namespace tandem
