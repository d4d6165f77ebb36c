// The list of all-reduce schedules, in the order in which `tandem list collective` prints them. Each entry
// names a function of shapes.hpp.
#include "policies/collectives/shapes.hpp"

namespace tandem::collectives {

const Catalog<MakeSchedule>& catalog() {
  static const Catalog<MakeSchedule> table(
      "collective",
      {{"ring",
        "reduce-scatter, then all-gather, around a ring: minimal traffic, 2 (p - 1) rounds for p ranks",
        "Patarasuk, Yuan: Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations. "
        "J. Parallel Distrib. Comput. 69(2), 2009",
        {},
        ring},
       {"pipelined-ring",
        "a ring that sums the first chunk of a piece while the next one arrives: for devices that sum slowly",
        "Patarasuk, Yuan: Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations. "
        "J. Parallel Distrib. Comput. 69(2), 2009; chunks as in NCCL",
        {},
        pipelined_ring},
       {"halving-doubling",
        "recursive halving, then recursive doubling: minimal traffic, 2 log2 p rounds",
        "Rabenseifner: Optimization of Collective Reduction Operations. ICCS 2004",
        {},
        halving_doubling},
       {"binary-blocks",
        "halving and doubling in blocks of powers of two: minimal traffic for any number of ranks",
        "Rabenseifner, Träff: More Efficient Reduction Algorithms for Non-Power-of-Two Number of "
        "Processors in Message-Passing Parallel Systems. EuroPVM/MPI 2004",
        {},
        binary_blocks},
       {"recursive-doubling",
        "exchanges the whole vector in log2 p rounds: for small vectors; maximal traffic",
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. "
        "Int. J. High Perform. Comput. Appl. 19(1), 2005",
        {},
        recursive_doubling},
       {"tree",
        "binomial reduction to one rank, then binomial broadcast: the baseline, 2 log2 p rounds",
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. "
        "Int. J. High Perform. Comput. Appl. 19(1), 2005",
        {},
        tree},
       {"double-tree",
        "two binary trees, each for half of the vector, in chunks: minimal traffic, few rounds of latency",
        "Sanders, Speck, Träff: Two-Tree Algorithms for Full Bandwidth Broadcast, Reduction and Scan. "
        "Parallel Computing 35(12), 2009",
        {},
        {double_tree, double_trees}},
       {"hierarchical",
        "rings inside hosts or racks, then across them: few rounds; minimal traffic if groups have equal "
        "sizes",
        "Mikami et al.: Massively Distributed SGD: ImageNet/ResNet-50 Training in a Flash. "
        "arXiv:1811.05233, 2018",
        {},
        hierarchical}});
  return table;
}

bool takes_groups(const MakeSchedule& make) { return make == MakeSchedule(hierarchical); }

}  // namespace tandem::collectives
