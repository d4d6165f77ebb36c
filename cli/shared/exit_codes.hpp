// The exit codes of the command `tandem`.
#pragma once

namespace tandem::cli {

inline constexpr int exit_success = 0;
inline constexpr int exit_beyond_tolerance = 1;
inline constexpr int exit_bad_input = 2;
inline constexpr int exit_goal_missed = 3;  ///< plan: no way to rent machines meets deadline and budget
inline constexpr int exit_environment_error = 70;
inline constexpr int exit_of_signal = 128;  ///< plus the number of the signal that ended the program

}  // namespace tandem::cli
