// Counts heap allocations of the whole test program. Link allocations.cpp, which replaces operator new.
#pragma once

namespace tandem::testing {

/// Calls of operator new so far, by all threads.
long allocations();
/// Bytes asked of operator new so far, by all threads.
long allocated_bytes();

}  // namespace tandem::testing
