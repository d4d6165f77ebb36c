// When a measurement is repeated because other programs disturbed it.
#pragma once

namespace tandem::cli {

/// A measurement is repeated if other programs used more than this share of the cores. A dedicated machine
/// has 0.01. A virtual machine on a busy host has about 0.05 all the time, so repeating would not help.
inline constexpr double disturbing_load = 0.1;

}  // namespace tandem::cli
