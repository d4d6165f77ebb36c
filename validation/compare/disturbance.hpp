// When other programs have disturbed a measurement, so that it is repeated, or leaves a verdict open.
#pragma once

namespace tandem::validation {

/// A measurement is repeated if other programs used more than this share of the cores. A dedicated machine
/// has 0.01. A virtual machine on a busy host has about 0.05 all the time, so repeating would not help.
inline constexpr double disturbing_load = 0.1;

}  // namespace tandem::validation
