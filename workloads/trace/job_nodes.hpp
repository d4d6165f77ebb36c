// A simulated job as Chakra execution traces, one file per rank: computation with its time, messages and
// all-reduces with their sizes, and what each of them waits for. Other simulators, as ASTRA-sim, read them.
#pragma once

#include <string>
#include <vector>

#include "workloads/job/plan/job.hpp"
#include "workloads/records/records.hpp"
#include "workloads/trace/chakra_file.hpp"

namespace tandem::trace {

/// Errors: ConfigError for jobs with other ranks than workers and servers, that read samples from storage or
/// whose machines depart; for sums that are all-gathers; for files that exist, without `force`.
void check_chakra(const Job& job, const std::string& directory, bool force);

/// The nodes of each rank, in the order in which it started them. `journal`: with all operations. Errors:
/// ConfigError for sums of a part of the workers.
std::vector<std::vector<ChakraNode>> chakra_nodes(const Job& job, const Journal& journal);

/// Writes the files DIRECTORY/NAME.RANK.et of all ranks. Errors: as chakra_nodes; WorldError.
void write_chakra(const std::string& directory, const Job& job, const Journal& journal);

}  // namespace tandem::trace
