// tandem-rank: one rank of a job, as mpirun starts it.
#include "runtime/rank/rank_program.hpp"

int main(int argc, char** argv) { tandem::rank_program(argc, argv); }
