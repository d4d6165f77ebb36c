// Combines the records of each message, and of each library all-reduce. Pure.
#pragma once

#include <vector>

#include "workloads/records/records.hpp"

namespace tandem {

/// One message, as its sender and its receiver recorded it.
struct MessageRecords {
  const OperationRecord* send;
  const OperationRecord* receive;
};

/// In the order in which the receives were recorded. Messages of one channel between two ranks arrive in the
/// order in which they were sent. A message that only one side recorded is left out. The pointers are into
/// `journal`.
std::vector<MessageRecords> messages_of(const Journal& journal);

/// One rank's part in an all-reduce.
struct AllReduceRecord {
  const OperationRecord* own;
  Seconds met;  ///< when the last of its ranks in the records had started it
};

/// In the order in which they were recorded: all-reduces of the same ranks on one channel follow each other.
std::vector<AllReduceRecord> all_reduces_of(const Journal& journal);

}  // namespace tandem
