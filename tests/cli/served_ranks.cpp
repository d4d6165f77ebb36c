// For programs whose real runs get forked ranks (rank_server.cpp).
#include "tests/cli/command.hpp"

bool tandem::testing::ranks_are_served() { return true; }
