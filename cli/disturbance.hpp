// When what was measured is worth measuring again.
#pragma once

namespace tandem::cli {

/// Other programs' share of the cores beyond which it is. A machine of its own is at 0.01; a virtual one
/// among busy neighbours stays at 0.05, which measuring again does not help.
inline constexpr double disturbing_load = 0.1;

}  // namespace tandem::cli
