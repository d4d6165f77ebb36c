// For programs whose real runs start tandem-rank: they measure times, or look at all processes.
#include "tests/cli/command.hpp"

bool tandem::testing::ranks_are_served() { return false; }
